"""Writes the ONNX backend tests of the installed package onnx to a folder.

Usage: generate.py FOLDER. Node and model tests are computed by the package; the others, pytorch-*,
lie in it as files. Packages of some releases leave node tests out of generate-data: not here.
"""
import argparse
import pathlib
import shutil
import sys

import onnx.backend.test.case.model as model_cases
import onnx.backend.test.case.node as node_cases
import onnx.backend.test.cmd_tools as tools

COPIED = ("pytorch-converted", "pytorch-operator")


def main():
    folder = pathlib.Path(sys.argv[1])
    models = model_cases.collect_testcases
    # The real models are no files of the package but downloads.
    model_cases.collect_testcases = lambda: [
        c for c in models() + node_cases.collect_testcases(None) if c.kind != "real"]
    tools.generate_data(argparse.Namespace(output=str(folder)))
    for kind in COPIED:
        shutil.copytree(pathlib.Path(tools.DATA_DIR) / kind, folder / kind, dirs_exist_ok=True)


if __name__ == "__main__":
    main()
