#!/usr/bin/env bash
# Finds the face in a photograph with the YuNet detector and draws it: build/demo/faces.png.
set -euo pipefail
cd "$(dirname "$0")/.."

build=build/release
model=tests/models/onnx/yunet_n_dynamic/model.onnx
photo=tests/models/media/grace_hopper.jpg
out=build/demo/faces.png

cmake --build $build --target faces > build/demo-build.log || { cat build/demo-build.log; exit 1; }
mkdir -p "$(dirname $out)"
$build/examples/faces $model $photo $out

cat <<TEXT

The same model through the command:
  \$ $build/treadle run $model --input $photo --image-size 512x608 --image-order bgr
TEXT
$build/treadle run $model --input $photo --image-size 512x608 --image-order bgr
