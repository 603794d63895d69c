#!/usr/bin/env python3
"""Records that scripts/bench_peers.py writes are what `treadle bench report` reads, and its tables count
what was left out. No engine but treadle is needed.

Usage: peers_records.py TREADLE
Exits with 77, which ctest counts as skipped, where there is no numpy."""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "scripts"))
try:
    import numpy as np
except ImportError:
    print("no numpy")
    sys.exit(77)
import bench_peers
import peer_probe
import peer_table


def bench_of(treadle, out):
    args = argparse.Namespace(engines=["treadle", "tract"], program=treadle, out=out)
    bench = object.__new__(bench_peers.Bench)
    bench.args, bench.records, bench.run_name = args, [], "canned"
    bench.info = json.loads(subprocess.run([treadle, "info", "--json"], capture_output=True, check=True).stdout)
    bench.versions = {"treadle": "1", "tract": "0.23.9"}
    return bench


def check_records(treadle, out):
    """Three quiet rounds of 2 ms, one disturbed of 9 ms, and one that failed."""
    bench = bench_of(treadle, out)
    result = {"load_ms": None, "ready_ms": 50.0, "first_ms": 3.0, "eval_ms": [2.0] * 300, "rss_ready_mb": 8.0, "rss_peak_mb": 9.0}
    time = "2026-12-02T08:00:00Z"
    for engine in bench.args.engines:
        for number in range(3):
            bench.write(bench.record("mnist", engine, 1, number, time, (5.0, 5.0), False, None, result))
        bench.write(bench.record("mnist", engine, 1, 3, time, (5.0, 4.0), True, None, {**result, "eval_ms": [9.0]}))
    bench.write(bench.record("mnist", "tract", 2, 0, time, (5.0, 5.0), False, "the wheel runs on one thread", {}))
    lines = out.read_text().splitlines()
    assert len(lines) == 9 and all(len(json.loads(l)["samples"]["eval_ms"]) <= 200 for l in lines)
    done = subprocess.run([treadle, "bench", "report", out, out, "--json"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    done = subprocess.run([treadle, "bench", "report", out, out], capture_output=True, text=True)
    for text in ("2 of the base, 2 new", "1 of the base, 1 new", "the wheel runs on one thread", "mnist/cpu-1 by tract"):
        assert text in done.stdout, (text, done.stdout)
    table = peer_table.markdown(peer_table.read([out]))
    for text in ("| entry | treadle | tract |", "| `mnist/cpu-1` | 2.0000 | 2.0000 |", "| `mnist/cpu-2` | – | – |",
                 "9 measurements, 2 disturbed", "1 failed", "- tract, `mnist/cpu-2`: the wheel runs on one thread"):
        assert text in table, (text, table)


def check_outputs():
    """What another engine computes is compared, axes of one aside."""
    a = np.arange(6, dtype=np.float32).reshape(1, 2, 3)
    assert bench_peers.difference([a[0]], [a]) is None
    assert bench_peers.difference([a * (1 + 5e-4)], [a]) is None
    assert bench_peers.difference([a * 1e-4 + 1e-6], [a * 1e-4]), "small values are not near zero for that"
    assert "differs by up to 1" in bench_peers.difference([a + 1], [a])
    assert "shape" in bench_peers.difference([a.reshape(3, 2)], [a])
    assert "expected 1 outputs" in bench_peers.difference([a, a], [a])
    assert bench_peers.difference([np.full(2, np.nan)], [np.zeros(2)])


def check_disturbance():
    """5 % between before and after, 10 % below the best."""
    judge = peer_probe.Disturbance()
    assert not judge.disturbed(1, 100, 96) and judge.disturbed(1, 100, 94)
    assert not judge.disturbed(1, 91, 91) and judge.disturbed(1, 89, 89)
    assert not judge.disturbed(2, 50, 50), "rates of other numbers of threads are not compared"


def main():
    with tempfile.TemporaryDirectory() as folder:
        check_records(sys.argv[1], pathlib.Path(folder) / "peers.jsonl")
    check_outputs()
    check_disturbance()


if __name__ == "__main__":
    main()
