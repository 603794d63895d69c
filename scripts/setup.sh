#!/usr/bin/env bash
# Installs what building and testing need: Debian packages, the Python test environment in .venv and,
# where the machine has no nvcc, the CUDA compiler from its Python packages in .venv.
# Safe to run again: does nothing when all is there.
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(
  build-essential cmake ninja-build ccache git pkg-config
  libfmt-dev libprotozero-dev libcli11-dev nlohmann-json3-dev libtomlplusplus-dev
  zlib1g-dev libre2-dev libpng-dev libjpeg-dev
  libgtest-dev libbenchmark-dev clang-14 gobjc++ libgnustep-base-dev valgrind
  chromium-headless-shell
  python3 python3-venv xz-utils
)

missing=()
for p in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$p" 2>/dev/null | grep -q 'install ok installed' || missing+=("$p")
done
if ((${#missing[@]})); then
  echo "installing: ${missing[*]}"
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq
  apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi

if [[ ! -x .venv/bin/python ]]; then
  python3 -m venv .venv
fi
# has_all FILE: whether .venv holds the versions that the file pins.
has_all() {
  .venv/bin/python - "$1" <<'PY' 2>/dev/null
import importlib.metadata as m, pathlib, sys
for line in pathlib.Path(sys.argv[1]).read_text().splitlines():
    if line and not line.startswith("#"):
        name, version = line.split("==")
        assert m.version(name) == version
PY
}
requirements=(scripts/requirements.txt)
if ! command -v nvcc >/dev/null && [[ ! -x /usr/local/cuda/bin/nvcc ]]; then
  requirements+=(scripts/requirements-cuda.txt)
fi
for file in "${requirements[@]}"; do
  has_all "$file" || .venv/bin/pip install -q --disable-pip-version-check -r "$file"
done
echo "setup: ready"
