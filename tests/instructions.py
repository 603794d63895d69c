#!/usr/bin/env python3
"""`treadle bench --instructions` under the valgrind of this machine.

Usage: instructions.py TREADLE
Counts repeat, grow with the work, and nothing stays behind, also not of a process that is killed.
Exits with 77, which ctest counts as skipped, without valgrind or in a build made without its header.
"""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

MODELS = pathlib.Path(__file__).resolve().parent / "models"
MNIST = MODELS / "onnx/mnist/model.onnx"
YUNET = MODELS / "onnx/yunet_n_dynamic/model.onnx"
UNSUPPORTED = 3
BAD_INPUT = 2
SKIPPED = 77


class Machine:
    """Calls the command with a folder of its own for temporary files."""

    def __init__(self, treadle, folder):
        self.treadle = treadle
        self.folder = pathlib.Path(folder)
        self.env = {**os.environ, "TMPDIR": folder}

    def call(self, *arguments, **env):
        command = [self.treadle, "bench", *map(str, arguments), "--instructions"]
        return subprocess.run(command, env={**self.env, **env}, capture_output=True, text=True,
                              timeout=600, check=False)

    def counts(self, *arguments):
        result = self.call(*arguments, "--json")
        assert result.returncode == 0, result.stderr
        return json.loads(result.stdout)


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIPPED)


def check_valgrind(machine):
    if shutil.which("valgrind") is None:
        skip("no valgrind in PATH")
    result = machine.call(MNIST)
    if result.returncode == UNSUPPORTED and "compiled without valgrind/callgrind.h" in result.stderr:
        skip("the build was made without valgrind/callgrind.h")


def yunet(size):
    return [YUNET, "--set", "batch=1", "--set", f"height={size}", "--set", f"width={size}"]


def check_counts(machine):
    once, again = machine.counts(MNIST), machine.counts(MNIST)
    assert once == again, f"expected the same counts, got {once} and {again}"
    assert once["isa"], once
    assert 0 < once["load_minstr"] < once["ready_minstr"], once
    assert 0 < once["eval_minstr"] < once["first_minstr"], once
    many = machine.counts(MNIST, "--runs", 5)
    change = many["eval_minstr"] / once["eval_minstr"]
    assert 0.98 < change < 1.02, f"expected the count of one run, got {many} of 5, {once} of 1"
    small, large = machine.counts(*yunet(32)), machine.counts(*yunet(64))
    ratio = large["eval_minstr"] / small["eval_minstr"]
    assert 3 < ratio < 5, f"expected 4 times the instructions for 4 times the pixels, got {ratio}"
    text = machine.call(MNIST).stdout
    assert "million instructions" in text and "run (" not in text.splitlines()[-1], text


def check_errors(machine):
    def expect(result, code, *texts):
        assert result.returncode == code, result
        for text in texts:
            assert text in result.stderr, result.stderr

    expect(machine.call(MNIST, PATH="/nowhere"), UNSUPPORTED, "expected valgrind in PATH, got none",
           "scripts/setup.sh installs valgrind")
    expect(machine.call(MNIST, "--threads", 2), BAD_INPUT, "--threads 1", "got cpu and 2")
    expect(machine.call(MNIST, "--target", "sim"), BAD_INPUT, "--target cpu", "got sim and 1")
    expect(machine.call("none.onnx"), BAD_INPUT, "none.onnx", "No such file")


def children_of(parent):
    path = pathlib.Path(f"/proc/{parent}/task/{parent}/children")
    return [int(pid) for pid in path.read_text().split()] if path.exists() else []


def runs(pid):
    """Whether the process is there and has not ended."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def program_of(pid):
    try:
        return os.readlink(f"/proc/{pid}/exe")
    except OSError:
        return ""


def wait_for(what, condition):
    for _ in range(3000):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError(f"expected {what} within 30 s")


def check_kill(machine):
    command = [machine.treadle, "bench", *map(str, yunet(640)), "--instructions"]
    with subprocess.Popen(command, env=machine.env, start_new_session=True,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        wait_for("that valgrind starts", lambda: children_of(process.pid))
        child = children_of(process.pid)[0]
        wait_for("that callgrind runs", lambda: "callgrind" in program_of(child))
        time.sleep(0.5)  # whatever files it makes at its start are there then
        os.killpg(process.pid, signal.SIGKILL)
    wait_for("that valgrind ends with the process that started it", lambda: not runs(child))


def main():
    with tempfile.TemporaryDirectory() as folder:
        machine = Machine(sys.argv[1], folder)
        for check in (check_valgrind, check_counts, check_errors, check_kill):
            check(machine)
            left = list(machine.folder.iterdir())
            assert not left, f"{check.__name__}: expected no files to stay, got {left}"


main()
