# treadle: two commands do everything on a fresh Debian 12 machine (as root):
#   make demo   installs, builds, and finds the faces in a photograph
#   make test   installs, builds, and runs the tests
SHELL := /bin/bash
JOBS ?= $(shell nproc)
VENV ?= .venv

.PHONY: all demo test test-sanitizers fuzz-diff fuzz-tf bench bench-models bench-peers models setup format lint clean

all: build/release/treadle

# Debian packages and the Python test environment; a stamp makes the second run free.
setup: build/.setup
build/.setup: scripts/setup.sh scripts/requirements.txt scripts/requirements-cuda.txt
	scripts/setup.sh
	@mkdir -p build && touch $@

.PHONY: build/release/treadle
build/release/treadle: build/.setup
	@pch=; [ -f build/release/build.ninja ] || pch=-DTREADLE_PCH=ON; \
	  cmake --preset release $$pch > build/cmake-release.log || { cat build/cmake-release.log; exit 1; }
	@cmake --build --preset release -j $(JOBS) --target treadle_command

demo: build/release/treadle
	scripts/demo.sh

test: build/.setup
	scripts/test.sh all

# Only the sanitizers: AddressSanitizer and UndefinedBehaviorSanitizer over the suite, ThreadSanitizer
# over threads and simulated kernels.
test-sanitizers: build/.setup
	scripts/test.sh sanitizers

# Random graphs through treadle and ONNX Runtime. Another seed: make fuzz-diff SEED=2
SEED ?= 1
CASES ?= 20000
fuzz-diff: build/release/treadle
	@cmake --build --preset release -j $(JOBS) --target fuzz_diff_runner
	$(VENV)/bin/python tests/fuzz_diff/run.py --runner build/release/tests/fuzz_diff_runner --cases $(CASES) --seed $(SEED) --jobs $(JOBS)

# Random TensorFlow graphs through treadle and TensorFlow.
fuzz-tf: CASES = 3000
fuzz-tf: build/release/treadle .venv-tf/.ready
	@cmake --build --preset release -j $(JOBS) --target fuzz_diff_runner
	.venv-tf/bin/python tests/fuzz_tf/run.py --runner build/release/tests/fuzz_diff_runner --cases $(CASES) --seed $(SEED) --jobs $(JOBS)

.venv-tf/.ready: scripts/requirements-tf.txt
	python3 -m venv .venv-tf
	.venv-tf/bin/pip install -q --disable-pip-version-check -r $<
	@touch $@

bench: build/release/treadle
	scripts/bench.sh

# The models of bench/suites/nightly.toml that are made rather than shipped, in build/bench/models.
bench-models: build/.setup
	$(VENV)/bin/python bench/models/generate.py

# treadle beside ONNX Runtime, OpenVINO, ncnn and tract: build/bench/peers.jsonl and its table. For more
# options: .venv-peers/bin/python scripts/bench_peers.py --help
bench-peers: build/release/treadle .venv-peers/.ready
	.venv-peers/bin/python scripts/bench_peers.py

.venv-peers/.ready: scripts/requirements-peers.txt
	python3 -m venv .venv-peers
	.venv-peers/bin/pip install -q --disable-pip-version-check --no-deps -r $<
	@touch $@

# The table of every model against its reference outputs: docs/models.md.
models: build/release/treadle
	$(VENV)/bin/python scripts/models_report.py

format:
	git ls-files '*.cpp' '*.hpp' | xargs clang-format -i

lint:
	cmake --preset dev > /dev/null
	git ls-files 'src/*.cpp' | xargs -P $(JOBS) -n 8 clang-tidy -p build/dev --quiet

clean:
	rm -rf build
