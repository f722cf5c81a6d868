"""All formats of a real run agree: the tables of report.md, the CSV tables and files, analysis_summary.json, the page, and
the screen have the same medians, ratios, intervals, verdicts, and times. Printed numbers are compared with those of the
JSON by their printed digits."""

import csv
import io
import json
import re
import sys
from decimal import Decimal
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import program

MODEL = program.DATA / "toy_cnn.pte"
MINUS = "\N{MINUS SIGN}"
UNITS = {"ns": Decimal("1e-6"), "µs": Decimal("1e-3"), "ms": Decimal(1), "s": Decimal(1000)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """The results directory of toy_cnn, with all CPU features, and with all of them masked."""
    out = tmp_path_factory.mktemp("formats") / "run"
    completed = program.run(
        "profile", MODEL, "--vs", "isa=none", "--launches", 4, "--max-seconds", 20, "--output-root", out
    )
    assert completed.returncode == 0, completed.stderr
    return out


@pytest.fixture(scope="module")
def summary(folder) -> dict:
    return json.loads((folder / "analysis_summary.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def pair(summary) -> dict:
    (comparison,) = summary["comparisons"]
    return comparison


@pytest.fixture(scope="module")
def variants(summary, pair) -> tuple[dict, dict]:
    """Returns the baseline and the candidate."""
    named = {experiment["name"]: experiment for experiment in summary["experiments"]}
    return named[pair["baseline_experiment"]], named[pair["candidate_experiment"]]


def check_ms(printed: str, value: float, unit: str, units: str = "0.5") -> None:
    """Checks that a printed time is the JSON's value in the table's unit, rounded to the shown digits."""
    digit = Decimal((0, (1,), Decimal(printed.lstrip("<>").replace(MINUS, "-")).as_tuple().exponent))
    if printed.startswith(("<", ">")):  # values other than 0 are not printed as 0
        assert value != 0 and abs(Decimal(value)) < digit * UNITS[unit]
        return
    shown = Decimal(printed.replace(MINUS, "-"))
    assert abs(shown * UNITS[unit] - Decimal(value)) <= digit * UNITS[unit] * (Decimal(units) + Decimal("1e-6")), (
        printed
    )


def check_same(printed: str, value: float) -> None:
    shown = Decimal(printed.rstrip("x"))
    digit = Decimal((0, (1,), shown.as_tuple().exponent))
    assert abs(shown - Decimal(value)) <= digit * Decimal("0.500001"), (printed, value)


def check_interval(printed: str, low: float, high: float) -> None:
    match = re.fullmatch(r"\[([\d.]+), ([\d.]+)\]", printed)
    assert match, printed
    check_same(match[1], low)
    check_same(match[2], high)


def check_speedup(printed: str, row: dict) -> None:
    """Checks that a speedup is reported if the measurement can resolve it."""
    if row["verdict"] in ("faster", "slower"):
        check_same(printed, row["ratio"])
    else:
        assert printed == (row["verdict"] if row["verdict"] in ("same", "contended") else "—")


def markdown_tables(text: str) -> list[list[dict[str, str]]]:
    """Returns the rows of all tables by their headings. Repeated headings are numbered: share, share 2."""
    tables = []
    lines = text.splitlines()
    at = 0
    while at + 1 < len(lines):
        if not (lines[at].startswith("| ") and lines[at + 1].startswith("| ---")):
            at += 1
            continue
        end = at + 2
        while end < len(lines) and lines[end].startswith("|"):
            end += 1
        cells = [
            [unescape(cell) for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            for line in [lines[at], *lines[at + 2 : end]]
        ]
        header: list[str] = []
        for name in cells[0]:
            header.append(name if name not in header else f"{name} 2")
        tables.append([dict(zip(header, row, strict=True)) for row in cells[1:]])
        at = end
    return tables


def unescape(cell: str) -> str:
    return re.sub(r"\\(.)", r"\1", cell.strip()).replace("&lt;", "<").replace("&gt;", ">")


def find_table(tables: list[list[dict[str, str]]], first: str, *columns: str) -> tuple[list[dict[str, str]], str]:
    """Returns the first table with this first heading and these columns, and the complete first heading."""
    for table in tables:
        heading = next(iter(table[0])) if table else ""
        if re.fullmatch(first + r"(, \S+)?", heading) and set(columns) <= set(table[0]):
            return table, heading
    raise AssertionError((first, columns))


def csv_table(folder: Path, name: str) -> list[dict[str, str]]:
    completed = program.run("report", folder, f"--csv={name}")
    assert completed.returncode == 0, completed.stderr
    return list(csv.DictReader(io.StringIO(completed.stdout), strict=True))


def screen(folder: Path, *options: str) -> list[list[list[str]]]:
    """Returns the blocks between blank lines as lists of cells, without bars."""
    completed = program.run("report", folder, "--all", *options, width=120)
    assert completed.returncode == 0, completed.stderr
    blocks = [block.splitlines() for block in re.split(r"\n\n+", completed.stdout.strip("\n"))]
    split = [[re.split(r" {2,}", line.strip()) for line in block] for block in blocks]
    return [[[cell for cell in cells if not set(cell) & set("█▏▎▍▌▋▊▉")] for cells in block] for block in split]


def find_block(blocks: list[list[list[str]]], title: str) -> list[list[str]]:
    """Returns the rows below a title, with their heading."""
    (rows,) = [block for block in blocks if re.fullmatch(title + ".*:", block[0][0])]
    return rows[1:]


def time_unit(heading: str) -> str:
    """Returns the unit of a heading such as "Latency, ms"."""
    return heading.split(", ")[-1]


@pytest.fixture(scope="module")
def report_md(folder) -> list[list[dict[str, str]]]:
    return markdown_tables((folder / "report.md").read_text(encoding="utf-8"))


def test_a_wrong_digit_would_be_seen():
    check_ms("5.004", 5.0044, "ms")
    check_ms("5.00", 0.0050049, "µs")
    check_ms("<0.001", 0.0002, "ms")
    for printed, value, unit in (("5.004", 5.0046, "ms"), ("5.00", 4.99, "ms"), ("5.00", 5.0, "µs"), ("<0.1", 0, "ms")):
        with pytest.raises(AssertionError):
            check_ms(printed, value, unit)
    with pytest.raises(AssertionError):
        check_speedup("1.20x", {"verdict": "inconclusive", "ratio": 1.2})


def test_medians(folder, summary, report_md):
    latency_rows, heading = find_table(report_md, "Latency", "median", "max")
    page = {row[heading]: row for row in latency_rows}
    unit = time_unit(heading)
    rows = {row["label"]: row for row in csv_table(folder, "latency")}
    header, *lines = find_block(screen(folder), "Latency")
    assert header[0] == heading
    on_screen = {line[0]: dict(zip(header, line, strict=False)) for line in lines}
    brief = markdown_tables(program.run("report", folder, "--brief").stdout)
    briefly = {row[heading]: row for row in find_table(brief, "Latency", "median")[0]}
    assert len(summary["experiments"]) == 2
    for experiment in summary["experiments"]:
        label, latency = experiment["label"], experiment["latency_ms"]
        for shown in (page[label], on_screen[label], briefly[label]):
            check_ms(shown["median"], latency["p50"], unit)
            assert shown["runs"] == f"{latency['n']:,}"
        check_ms(page[label]["max"], latency["max"], unit)
        assert float(rows[label]["median_ms"]) == latency["p50"]
        assert float(rows[label]["p99_ms"]) == latency["p99"]
    metrics = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
    assert json.dumps(metrics).count("median_ms") >= 2


def test_the_ratio_its_interval_and_its_verdict(folder, pair, variants):
    latency = pair["latency"]
    page = (folder / "report.md").read_text(encoding="utf-8")
    answer = re.search(r"^\*\*(.*)\*\*(?: 95% CI (.*))?$", page, flags=re.MULTILINE)
    assert answer, page
    sentence, interval = unescape(answer[1]), unescape(answer[2] or "")
    assert sentence in program.run("report", folder, "--all", width=200).stdout
    before, after = variants[0]["label"], variants[1]["label"]
    if latency["verdict"] == "contended":  # other processes used the processor
        assert latency["ratio"] is None and sentence == f"{after} compared with {before}: contended: too few clean runs"
        assert not interval
        return
    row = csv_table(folder, "comparison")[0]
    assert row["what"] == "latency" and row["verdict"] == latency["verdict"]
    for column in ("ratio", "ratio_low", "ratio_high", "p_value", "confidence", "baseline_ms", "candidate_ms"):
        assert float(row[column]) == latency[column]
    (file,) = folder.glob("*_comparison.csv")
    with file.open(newline="", encoding="utf-8") as stored:
        assert len(list(csv.DictReader(stored, strict=True))) > 0
    low, high = latency["ratio_low"], latency["ratio_high"]
    if latency["verdict"] == "slower":  # the factor of a slowdown is inverted
        match = re.fullmatch(rf"{after} is ([\d.]+x) slower than {before}", sentence)
        check_same(match[1], 1 / latency["ratio"])
        check_interval(interval, 1 / high, 1 / low)
        return
    check_interval(interval, low, high)
    if latency["verdict"] == "same":
        assert sentence == f"{after} is as fast as {before} (same within ±1%)"
    else:
        match = re.fullmatch(
            rf"{after} is ([\d.]+x) faster than {before}|{after} compared with {before}: inconclusive, ([\d.]+x)",
            sentence,
        )
        assert match and bool(match[1]) == (latency["verdict"] == "faster")
        check_same(match[1] or match[2], latency["ratio"])


def test_group_times(folder, pair, variants, report_md):
    before_label, after_label = variants[0]["label"], variants[1]["label"]
    table, heading = find_table(report_md, "Self time", before_label, after_label)
    unit = time_unit(heading)
    shown_rows = {row[heading]: row for row in table}
    header, *block = find_block(screen(folder), "Self time by group")
    lines = {cells[0]: cells for cells in block}
    assert header[0] == heading
    rows = {(row["label"], row["group"]): row for row in csv_table(folder, "groups")}
    compared = {row["name"]: row for row in csv_table(folder, "comparison") if row["what"] == "group"}
    deltas = {row["name"]: row for row in pair["groups"]}
    checked = 0
    for before, after in zip(variants[0]["groups"]["rows"], variants[1]["groups"]["rows"], strict=True):
        name = before["name"]
        assert name == after["name"]
        for experiment, row in ((variants[0], before), (variants[1], after)):
            assert float(rows[experiment["label"], name]["mean_ms"]) == row["mean_ms"]
        assert float(compared[name]["baseline_ms"]) == pytest.approx(before["mean_ms"], rel=1e-14)
        assert float(compared[name]["candidate_ms"]) == pytest.approx(after["mean_ms"], rel=1e-14)
        assert (name in shown_rows) == (name in lines) == (before["total_ns"] + after["total_ns"] > 0)
        if name not in shown_rows:
            continue
        # Rows that must add up as printed are rounded by the largest remainder, which changes them by up to one digit.
        check_ms(shown_rows[name][before_label], before["mean_ms"], unit, "1")
        check_ms(shown_rows[name][after_label], after["mean_ms"], unit, "1")
        assert {shown_rows[name][before_label], shown_rows[name][after_label], shown_rows[name]["speedup"]} <= set(
            lines[name]
        )
        check_speedup(shown_rows[name]["speedup"], deltas[name])
        checked += 1
    assert checked >= 5
    names = list(shown_rows)
    for column in (before_label, after_label):
        numbers = [shown_rows[name][column] for name in names]
        if any(number.startswith(("<", ">")) for number in numbers):
            continue  # values below one digit are printed as "<0.1"
        values = {name: Decimal(number.replace(MINUS, "-")) for name, number in zip(names, numbers, strict=True)}
        total = sum(value for name, value in values.items() if name in deltas)
        assert total == values["Traced total"], "they add up as printed"
        # "Mean to median" if one of the two was disturbed, as next to other tests.
        (between,) = values.keys() & {"Tracing overhead", "Mean to median"}
        assert total + values[between] == values["Median latency"]


def test_operator_times(folder, pair, variants, report_md):
    header, *lines = find_block(screen(folder), "All operators")
    unit = time_unit(header[0])
    matched = [row for row in pair["operators"] if row["name"] != "Clipped"]
    # The framework's spans are reported without the time of the spans that they call.
    by_name = {
        row["name"] + (" (overhead)" if "_" in row["name"] and row["name"].isupper() else ""): row for row in matched
    }
    by_name["Method::execute (overhead)"] = by_name.get("Method::execute")
    checked = 0
    for cells in lines:
        row = by_name.get(cells[0])
        if row is None or not (row["baseline_key"] and row["candidate_key"]):
            continue
        shown = dict(zip(header, cells, strict=True))
        check_ms(shown[variants[0]["label"]], row["baseline_total_ns"] / pair["baseline_runs"] / 1e6, unit)
        check_ms(shown[variants[1]["label"]], row["candidate_total_ns"] / pair["candidate_runs"] / 1e6, unit)
        check_speedup(shown["speedup"], row)
        checked += 1
    assert checked >= 8 and len(lines) == len(matched)
    rows = {(row["label"], row["key"]): row for row in csv_table(folder, "operators")}
    for experiment in variants:
        for row in experiment["operators"]:
            assert float(rows[experiment["label"], row["key"]]["mean_ms"]) == row["mean_ms"]
    operator_rows, heading = find_table(report_md, "Operator", "group")
    for row, expected in zip(operator_rows, variants[1]["operators"], strict=False):
        assert row[heading] == expected["name"]
        check_ms(row["self time"], expected["mean_ms"], time_unit(heading))
    for experiment in variants:
        (file,) = (folder / experiment["name"]).glob("*_exec_ops_stats.csv")
        with file.open(newline="", encoding="utf-8") as stored:
            sums = {row["key"]: Decimal(row["self_total_ms"]) * 1_000_000 for row in csv.DictReader(stored)}
        for row in experiment["operators"]:
            assert sums[row["key"]] == row["total_ns"]


def test_the_page_holds_the_json(folder):
    embedded = program.read_page_json(folder / "report.html", "etprof-report")
    assert embedded == (folder / "analysis_summary.json").read_bytes()


def test_the_plot_counts_every_run(summary):
    (plot,) = summary["latency_plots"]
    for variant, experiment in zip(plot["experiments"], summary["experiments"], strict=True):
        assert variant["experiment"] == experiment["name"]
        assert sum(variant["counts"]) + variant["beyond"] == experiment["latency_ms"]["n"]
        assert plot["from_ms"] <= experiment["latency_ms"]["min"]
        end = plot["from_ms"] + plot["width_ms"] * len(variant["counts"])
        assert end >= experiment["latency_ms"]["p99"] * (1 - 1e-9) or experiment["latency_ms"]["n"] < 100
