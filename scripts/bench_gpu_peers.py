#!/usr/bin/env python3
"""treadle beside PyTorch eager on an NVIDIA GPU, end to end: input and output in host memory, batch 1,
strict f32. Each model is made by PyTorch with seeded weights, exported to ONNX, and run by both in
alternate rounds; both outputs are compared with the model's in f64 on the CPU. Needs torch, torchvision and onnx, which the product does not.

  scripts/bench_gpu_peers.py [--rounds 3] [--runs 200] [MODEL …]

PyTorch: channels-last, TF32 off, cuDNN benchmark on, batch norms as trained. Prints a Markdown table."""
import argparse
import copy
import json
import pathlib
import statistics
import subprocess
import tempfile
import time

import numpy as np
import torch
import torch.nn.functional as F
import torchvision
from torch import nn

ROOT = pathlib.Path(__file__).resolve().parent.parent
TREADLE = ROOT / "build/release/treadle"


def conv_relu(inputs, outputs, dilation=1):
    return nn.Sequential(nn.Conv2d(inputs, outputs, 3, padding=dilation, dilation=dilation), nn.BatchNorm2d(outputs),
                         nn.ReLU(inplace=True))


def resized(x, like):
    return F.interpolate(x, size=like.shape[2:], mode="bilinear", align_corners=False)


class ResidualU(nn.Module):
    """A U of convolutions around which the first one passes. Levels pool between them, or dilate."""

    def __init__(self, depth, inputs, middle, outputs, dilated=False):
        super().__init__()
        rates = [2 ** k if dilated else 1 for k in range(depth - 1)]
        self.pooled = not dilated
        self.first = conv_relu(inputs, outputs)
        self.down = nn.ModuleList(conv_relu(middle if k else outputs, middle, r) for k, r in enumerate(rates))
        self.bottom = conv_relu(middle, middle, 2 ** (depth - 1) if dilated else 2)
        self.up = nn.ModuleList(conv_relu(2 * middle, middle if k else outputs, r) for k, r in enumerate(rates))

    def forward(self, x):
        x = h = self.first(x)
        levels = []
        for k, layer in enumerate(self.down):
            if k and self.pooled:
                h = F.max_pool2d(h, 2, 2, ceil_mode=True)
            h = layer(h)
            levels.append(h)
        h = self.bottom(h)
        for layer, skip in zip(reversed(self.up), reversed(levels)):
            h = layer(torch.cat([resized(h, skip) if h.shape != skip.shape else h, skip], 1))
        return h + x


class U2NetSmall(nn.Module):
    """U²-Net small (Qin et al., 2020): six encoders, five decoders, a side output of each, and their fusion."""

    def __init__(self):
        super().__init__()

        def block(k, inputs):
            return ResidualU(7 - k, inputs, 16, 64) if k < 4 else ResidualU(4, inputs, 16, 64, dilated=True)

        self.encoders = nn.ModuleList(block(k, 64 if k else 3) for k in range(6))
        self.decoders = nn.ModuleList(block(k, 128) for k in range(5))
        self.sides = nn.ModuleList(nn.Conv2d(64, 1, 3, padding=1) for _ in range(6))
        self.fuse = nn.Conv2d(6, 1, 1)

    def forward(self, x):
        levels = []
        for k, encoder in enumerate(self.encoders):
            x = encoder(F.max_pool2d(x, 2, 2, ceil_mode=True) if k else x)
            levels.append(x)
        outputs = [x]
        for decoder, skip in zip(reversed(self.decoders), reversed(levels[:5])):
            x = decoder(torch.cat([resized(x, skip), skip], 1))
            outputs.insert(0, x)
        sides = [side(h) for side, h in zip(self.sides, outputs)]
        sides = sides[:1] + [resized(s, sides[0]) for s in sides[1:]]
        return tuple(torch.sigmoid(t) for t in [self.fuse(torch.cat(sides, 1)), *sides])


MODELS = {
    "inception_v3": (299, lambda: torchvision.models.inception_v3(weights=None, init_weights=False, aux_logits=False)),
    "mobilenet_v2": (224, lambda: torchvision.models.mobilenet_v2(weights=None)),
    "resnet50": (224, lambda: torchvision.models.resnet50(weights=None)),
    "efficientnet_b0": (224, lambda: torchvision.models.efficientnet_b0(weights=None)),
    "u2net_small": (320, U2NetSmall),
}


def made(name):
    """The model in evaluation mode, with statistics of its batch norms that keep activations in range."""
    size, make = MODELS[name]
    torch.manual_seed(1)
    model = make().train()
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
        if isinstance(module, nn.BatchNorm2d):
            module.momentum = None
    with torch.no_grad():
        for _ in range(2):
            model(torch.rand(4, 3, size, size))
    return model.eval(), torch.rand(1, 3, size, size)


def run_eager(model, x, runs):
    samples = []
    with torch.inference_mode():
        for k in range(runs + 20):
            start = time.perf_counter()
            y = model(x.to("cuda", memory_format=torch.channels_last))
            y = [t.cpu() for t in (y if isinstance(y, tuple) else (y,))]
            if k >= 20:
                samples.append((time.perf_counter() - start) * 1e3)
    return samples, y


def run_treadle(path, runs):
    done = subprocess.run([TREADLE, "bench", path, "--target", "cuda", "--runs", str(runs), "--json"],
                          capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])["eval_ms"]


def treadle_outputs(path, x, folder):
    np.save(folder / "x.npy", x.numpy())
    subprocess.run([TREADLE, "run", path, "--target", "cuda", "--input", folder / "x.npy", "--output", folder / "y.npz"],
                   capture_output=True, check=True)
    return np.load(folder / "y.npz")


def exact_outputs(model, x):
    with torch.inference_mode():
        y = copy.deepcopy(model).double()(x.double())
    return y if isinstance(y, tuple) else (y,)


def distance(outputs, exact):
    """The largest difference, of the largest value of its output."""
    return max(float(np.abs(y.astype(np.float64) - e).max() / np.abs(e).max()) for y, e in zip(outputs, exact))


def row(name, rounds, runs, folder):
    model, x = made(name)
    path = folder / f"{name}.onnx"
    exact = [e.numpy() for e in exact_outputs(model, x)]
    names = [f"y{k}" for k in range(len(exact))]
    torch.onnx.export(model, x, str(path), opset_version=17, dynamo=False, input_names=["x"], output_names=names)
    model = model.cuda().to(memory_format=torch.channels_last)
    eager, ours, medians = [], [], []
    for _ in range(rounds):
        samples, want = run_eager(model, x, runs)
        eager += samples
        result = run_treadle(path, runs)
        ours.append(result["min"])
        medians.append(result["median"])
    got = treadle_outputs(path, x, folder)
    print(f"| {name} {x.shape[2]}² | {min(ours):.3f} / {statistics.median(medians):.3f} "
          f"| {min(eager):.3f} / {statistics.median(eager):.3f} | {statistics.median(eager) / statistics.median(medians):.1f} "
          f"| {distance([got[n] for n in names], exact):.1e} | {distance([w.numpy() for w in want], exact):.1e} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("models", nargs="*", default=list(MODELS))
    arguments = parser.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, cuDNN {torch.backends.cudnn.version()}\n")
    print("| model | treadle ms, min / median | PyTorch eager ms, min / median | ratio of medians | treadle to f64 | PyTorch to f64 |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name in arguments.models:
            row(name, arguments.rounds, arguments.runs, pathlib.Path(folder))


if __name__ == "__main__":
    main()
