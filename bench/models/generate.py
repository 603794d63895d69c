#!/usr/bin/env python3
"""Makes the models of bench/suites/nightly.toml that cannot be shipped: published architectures and sizes
with seeded weights, the same bytes each time. `make bench-models` runs it.

  bench/models/generate.py [--out build/bench/models] [--check TREADLE] [NAME …]

--check also compares treadle's outputs with those of ONNX Runtime and TensorFlow; what is not installed
is skipped with a message."""
import argparse
import pathlib
import sys

import check
import quantised_vision
import speech_models
import tensorflow_models
import transformer

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODELS = {
    "kws_cnn_m.pb": tensorflow_models.kws_cnn_m,
    "kws_ds_cnn_m.pb": tensorflow_models.kws_ds_cnn_m,
    "voice_command.pb": tensorflow_models.voice_command,
    "voice_command_fq.pb": tensorflow_models.voice_command_fq,
    "mobilenet_v1.pb": tensorflow_models.mobilenet_v1,
    "wakeword_40.onnx": speech_models.wakeword_40,
    "wakeword_20.onnx": speech_models.wakeword_20,
    "tdnn_8m.onnx": speech_models.tdnn_8m,
    "tdnn_15m.onnx": speech_models.tdnn_15m,
    "tdnn_lstm_8m.onnx": speech_models.tdnn_lstm_8m,
    "tdnn_lstm_15m.onnx": speech_models.tdnn_lstm_15m,
    "transducer_decoder.onnx": speech_models.transducer_decoder,
    "transducer_joint.onnx": speech_models.transducer_joint,
    "transformer.onnx": transformer.transformer,
    "inception_v1_quant.onnx": quantised_vision.inception_v1_quant,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="only models whose name begins so")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build/bench/models")
    parser.add_argument("--check", metavar="TREADLE", help="compare the outputs of this build")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    chosen = [n for n in MODELS if not args.names or n.startswith(tuple(args.names))]
    if not chosen:
        parser.error(f"no model begins with {' or '.join(args.names)}; there are {', '.join(MODELS)}")
    failed = 0
    for name in chosen:
        path = args.out / name
        part = path.with_name(name + ".part")
        part.write_bytes(MODELS[name]())
        part.replace(path)  # an interrupted run leaves no half of a model
        text = f"{name}: {path.stat().st_size / 2**20:.1f} MB"
        if args.check:
            right, said = check.compare(args.check, path)
            failed += right is False
            text += ", " + said
        print(text, flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
