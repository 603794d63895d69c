#!/usr/bin/env python3
"""The page of `treadle bench report --html`, parsed; with --show also shown in a Chromium.

Usage: report_page.py TREADLE [--show] [--keep FOLDER]
--show exits with 77, which ctest counts as skipped, where there is no Chromium.
--keep leaves the page and pictures of it (phone, desktop, dark) in the folder.
"""
import argparse
import html.parser
import json
import math
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

EVIL = "</svg><script>document.title='owned'</script><img src=x onerror=alert(1)>\"'&|`"
MODELS = {"mobilenet_v2_with_a_name_that_goes_on_and_on_without_a_break_0123456789": (4.2, 31),
          "mnist": (0.033, 8.5), EVIL: (0.3, 9.1)}
PAGE_TAGS = {"html", "head", "meta", "title", "style", "body", "h1", "h2", "h3", "p", "ul", "li",
             "div", "b", "svg", "text", "line", "polyline", "circle"}
VOID = {"meta", "line", "polyline"}


def write_run(path, run, day, slower, noise):
    with open(path, "w") as out:
        for model, (ms, mb) in MODELS.items():
            for number in range(4):
                factor = math.exp(noise.gauss(0, 0.01))
                out.write(json.dumps({
                    "schema": 1, "run": run, "time": f"2026-11-{day:02}T08:00:00Z",
                    "engine": "treadle", "commit": run, "entry": model, "target": "cpu",
                    "threads": 1, "precision": "f32", "round": number, "disturbed": False,
                    "ok": True, "machine": {"cpu": "AMD EPYC", "cores": 2, "gpu": None},
                    "metrics": {"eval_ms": ms * factor * slower, "rss_peak_mb": mb}}) + "\n")


def make_page(treadle, folder):
    noise = random.Random(4)
    (folder / "history").mkdir()
    for day in range(1, 21):
        write_run(folder / "history" / f"{day}.jsonl", f"h{day}", day, 1, noise)
    write_run(folder / "base.jsonl", "base", 21, 1, noise)
    write_run(folder / "new.jsonl", "new", 22, 1.3, noise)
    page = folder / "page.html"
    done = subprocess.run([treadle, "bench", "report", folder / "base.jsonl", folder / "new.jsonl",
                           "--history", folder / "history", "--html", page],
                          capture_output=True, text=True)
    assert done.returncode == 1, (done.returncode, done.stderr)
    return page


class Checker(html.parser.HTMLParser):
    """Only the page's own elements and attributes, each closed; charts counted."""

    def __init__(self):
        super().__init__()
        self.open, self.charts, self.text = [], 0, ""

    def handle_starttag(self, tag, attrs):
        assert tag in PAGE_TAGS, f"element {tag}"
        for name, value in attrs:
            assert not name.startswith("on") and name not in ("src", "href", "style"), name
            assert "url(" not in (value or ""), value
        self.charts += tag == "svg"
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, f"</{tag}> closes another element"

    def handle_data(self, data):
        self.text += data


def check_parsed(page):
    checker = Checker()
    checker.feed(page.read_text())
    checker.close()
    assert not checker.open, checker.open
    assert checker.charts == 3 + 2 * len(MODELS), checker.charts  # the changed ones twice
    assert EVIL in checker.text


CHROMIUM = next(filter(None, map(shutil.which, (
    "chromium-headless-shell", "chromium", "google-chrome"))), None)
SKIPPED = 77


def chromium(*arguments):
    with tempfile.TemporaryDirectory() as profile:
        done = subprocess.run(
            [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
             f"--user-data-dir={profile}", *arguments], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def check_shown(page, folder):
    """The probe adds a script, which the page's own policy would forbid."""
    text = page.read_text()
    plain = chromium("--dump-dom", page.as_uri())
    assert "<title>Bench vs main: 3 regressions, 0 improvements</title>" in plain, "script ran"
    probe = folder / "probe.html"
    probe.write_text(re.sub(r"<meta http-equiv.*?>", "", text, count=1).replace(
        "</body>", "<script>document.title = [document.documentElement.scrollWidth, innerWidth,"
        "getComputedStyle(document.body).backgroundColor, document.querySelectorAll('svg').length,"
        "document.querySelector('svg').getBoundingClientRect().width | 0].join(';')</script></body>"))
    for name, width, scheme, background in (("phone", 390, 1, "rgb(255, 255, 255)"),
                                            ("dark", 390, 0, "rgb(20, 23, 27)"),
                                            ("desktop", 1280, 1, "rgb(255, 255, 255)")):
        look = (f"--window-size={width},1600", f"--blink-settings=preferredColorScheme={scheme}")
        dom = chromium(*look, "--dump-dom", probe.as_uri())
        title = re.search(r"<title>(.*?)</title>", dom).group(1).split(";")
        assert int(title[0]) <= int(title[1]), f"{name}: wider than the window: {title}"
        assert title[2] == background, f"{name}: {title}"
        assert int(title[3]) == 9 and 200 < int(title[4]) < width, f"{name}: {title}"
        chromium(*look, f"--screenshot={folder / name}.png", page.as_uri())
        print(name, *title)


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("treadle", type=pathlib.Path)
    arguments.add_argument("--show", action="store_true")
    arguments.add_argument("--keep", type=pathlib.Path)
    args = arguments.parse_args()
    if args.show and CHROMIUM is None:
        print("skipped: no Chromium (Debian package chromium) to show the page in")
        return SKIPPED
    with tempfile.TemporaryDirectory() as made:
        folder = pathlib.Path(made)
        page = make_page(args.treadle.resolve(), folder)
        check_parsed(page)
        if args.show:
            check_shown(page, folder)
        if args.keep:
            shutil.copytree(folder, args.keep, dirs_exist_ok=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
