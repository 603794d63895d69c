"""Records (JSON lines as of `treadle bench suite`) of several engines as tables in Markdown."""
import json
import statistics

METRICS = (("eval_ms", "Run time, ms", 4), ("ready_ms", "Time until ready, ms", 2), ("first_ms", "First run, ms", 3),
           ("rss_ready_mb", "Memory when ready, MB", 1), ("rss_peak_mb", "Memory at its peak, MB", 1))


def read(paths):
    records = []
    for path in paths:
        with open(path) as file:
            for number, line in enumerate(file, 1):
                try:
                    records.append(json.loads(line))
                except json.JSONDecodeError as error:
                    raise SystemExit(f"{path}:{number}: expected a JSON object: {error}")
    return records


def cell(records, metric, digits):
    """The median over the rounds that nothing disturbed; over all, marked, where there is none."""
    good = [r for r in records if r["ok"]]
    quiet = [r for r in good if not r["disturbed"]]
    values = [r["metrics"][metric] for r in quiet or good if r["metrics"].get(metric) is not None]
    if not values:
        return "–"
    return f"{statistics.median(values):.{digits}f}" + ("" if quiet else " *")


def summary(records):
    """How many measurements, disturbed ones and failures, and why each series failed."""
    failed = {}
    for r in records:
        if not r["ok"]:
            failed.setdefault((r["engine"], r["error"]), []).append(r["entry"])
    disturbed = sum(r["disturbed"] for r in records)
    count = sum(not r["ok"] for r in records)
    lines = [f"{len(records)} measurements, {disturbed} disturbed (left out; \\* where no other is there), {count} failed."]
    for (engine, error), entries in sorted(failed.items()):
        text = " ".join(error.split()).replace("|", "\\|").replace("`", "'")[:300]
        lines.append(f"- {engine}, {', '.join(f'`{e}`' for e in sorted(set(entries)))}: {text}")
    return "\n".join(lines)


def markdown(records):
    engines = list(dict.fromkeys(r["engine"] for r in sorted(records, key=lambda r: r["engine"] != "treadle")))
    entries = sorted({r["entry"] for r in records})
    versions = dict.fromkeys(f"{r['engine']} {r['engine_version']}" + (f" ({r['commit']})" if r["commit"] else "") for r in records)
    machines = dict.fromkeys(f"{r['machine']['cpu']}, {r['machine']['cores']} cores" for r in records)
    out = [f"{', '.join(sorted(versions))}; {'; '.join(machines)}. Medians over the rounds."]
    for metric, title, digits in METRICS:
        out += ["", f"#### {title}", "", "| entry | " + " | ".join(engines) + " |", "|---|" + "--:|" * len(engines)]
        for entry in entries:
            cells = [cell([r for r in records if (r["engine"], r["entry"]) == (e, entry)], metric, digits) for e in engines]
            out.append(f"| `{entry}` | " + " | ".join(cells) + " |")
    return "\n".join(out + ["", summary(records)])
