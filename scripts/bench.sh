#!/usr/bin/env bash
# make bench: load time over graph size, then treadle beside ONNX Runtime on the models at hand.
set -euo pipefail
cd "$(dirname "$0")/.."
.venv/bin/python scripts/bench_load.py build/release/treadle build/bench
.venv/bin/python scripts/bench_peers.py --engines treadle,onnxruntime --rounds "${ROUNDS:-2}" "$@"
