"""A real run, in every format that tells of it: report.md's tables, the CSV tables and files, analysis_summary.json, the
page and the screen hold the same medians, ratios, intervals, verdicts and times. What is printed is compared with the
JSON's number by the digits that are printed."""

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
    """The results directory of toy_cnn, as it is and with every CPU feature masked."""
    out = tmp_path_factory.mktemp("formats") / "run"
    done = program.run("profile", MODEL, "--vs", "isa=none", "--launches", 4, "--max-seconds", 20, "--output-root", out)
    assert done.returncode == 0, done.stderr
    return out


@pytest.fixture(scope="module")
def truth(folder) -> dict:
    return json.loads((folder / "analysis_summary.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def pair(truth) -> dict:
    (only,) = truth["comparisons"]
    return only


@pytest.fixture(scope="module")
def sides(truth, pair) -> tuple[dict, dict]:
    """Returns the baseline and the candidate."""
    named = {experiment["name"]: experiment for experiment in truth["experiments"]}
    return named[pair["baseline_experiment"]], named[pair["candidate_experiment"]]


def same_ms(printed: str, value: float, unit: str, units: str = "0.5") -> None:
    """Checks that a printed time is the JSON's value in the table's unit, rounded to the shown digits."""
    digit = Decimal((0, (1,), Decimal(printed.lstrip("<>").replace(MINUS, "-")).as_tuple().exponent))
    if printed.startswith(("<", ">")):  # what is not 0 is not printed as 0
        assert value != 0 and abs(Decimal(value)) < digit * UNITS[unit]
        return
    shown = Decimal(printed.replace(MINUS, "-"))
    assert abs(shown * UNITS[unit] - Decimal(value)) <= digit * UNITS[unit] * (Decimal(units) + Decimal("1e-6")), (
        printed
    )


def same(printed: str, value: float) -> None:
    shown = Decimal(printed.rstrip("x"))
    digit = Decimal((0, (1,), shown.as_tuple().exponent))
    assert abs(shown - Decimal(value)) <= digit * Decimal("0.500001"), (printed, value)


def same_interval(printed: str, low: float, high: float) -> None:
    match = re.fullmatch(r"\[([\d.]+), ([\d.]+)\]", printed)
    assert match, printed
    same(match[1], low)
    same(match[2], high)


def same_gain(printed: str, row: dict) -> None:
    """Checks that a speedup is reported if the measurement can resolve it."""
    if row["verdict"] in ("faster", "slower"):
        same(printed, row["ratio"])
    else:
        assert printed == (row["verdict"] if row["verdict"] in ("same", "contended") else "—")


def markdown_tables(text: str) -> list[list[dict[str, str]]]:
    """The tables by the cells of their headings; a heading that comes twice is numbered: share, share 2."""
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
            [plain(cell) for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in [lines[at], *lines[at + 2 : end]]
        ]
        header: list[str] = []
        for name in cells[0]:
            header.append(name if name not in header else f"{name} 2")
        tables.append([dict(zip(header, row, strict=True)) for row in cells[1:]])
        at = end
    return tables


def plain(cell: str) -> str:
    return re.sub(r"\\(.)", r"\1", cell.strip()).replace("&lt;", "<").replace("&gt;", ">")


def table_with(tables: list[list[dict[str, str]]], first: str, *columns: str) -> tuple[list[dict[str, str]], str]:
    """The first table whose heading begins with that and has those columns; and that heading."""
    for table in tables:
        heading = next(iter(table[0])) if table else ""
        if re.fullmatch(first + r"(, \S+)?", heading) and set(columns) <= set(table[0]):
            return table, heading
    raise AssertionError((first, columns))


def csv_table(folder: Path, name: str) -> list[dict[str, str]]:
    done = program.run("report", folder, f"--csv={name}")
    assert done.returncode == 0, done.stderr
    return list(csv.DictReader(io.StringIO(done.stdout), strict=True))


def screen(folder: Path, *options: str) -> list[list[list[str]]]:
    """The blocks between blank lines, each line as its cells; bars are left out."""
    done = program.run("report", folder, "--all", *options, width=120)
    assert done.returncode == 0, done.stderr
    blocks = [block.splitlines() for block in re.split(r"\n\n+", done.stdout.strip("\n"))]
    split = [[re.split(r" {2,}", line.strip()) for line in block] for block in blocks]
    return [[[cell for cell in cells if not set(cell) & set("█▏▎▍▌▋▊▉")] for cells in block] for block in split]


def block_with(blocks: list[list[list[str]]], title: str) -> list[list[str]]:
    """The rows below that title, from their heading on."""
    (found,) = [block for block in blocks if re.fullmatch(title + ".*:", block[0][0])]
    return found[1:]


def unit_of(heading: str) -> str:
    """Of a table's times: "Latency, ms"."""
    return heading.split(", ")[-1]


@pytest.fixture(scope="module")
def report_md(folder) -> list[list[dict[str, str]]]:
    return markdown_tables((folder / "report.md").read_text(encoding="utf-8"))


def test_a_wrong_digit_would_be_seen():
    same_ms("5.004", 5.0044, "ms")
    same_ms("5.00", 0.0050049, "µs")
    same_ms("<0.001", 0.0002, "ms")
    for printed, value, unit in (("5.004", 5.0046, "ms"), ("5.00", 4.99, "ms"), ("5.00", 5.0, "µs"), ("<0.1", 0, "ms")):
        with pytest.raises(AssertionError):
            same_ms(printed, value, unit)
    with pytest.raises(AssertionError):
        same_gain("1.20x", {"verdict": "inconclusive", "ratio": 1.2})


def test_medians(folder, truth, report_md):
    told, heading = table_with(report_md, "Latency", "median", "max")
    page = {row[heading]: row for row in told}
    unit = unit_of(heading)
    rows = {row["label"]: row for row in csv_table(folder, "latency")}
    header, *lines = block_with(screen(folder), "Latency")
    assert header[0] == heading
    on_screen = {line[0]: dict(zip(header, line, strict=False)) for line in lines}
    brief = markdown_tables(program.run("report", folder, "--brief").stdout)
    briefly = {row[heading]: row for row in table_with(brief, "Latency", "median")[0]}
    assert len(truth["experiments"]) == 2
    for experiment in truth["experiments"]:
        label, latency = experiment["label"], experiment["latency_ms"]
        for shown in (page[label], on_screen[label], briefly[label]):
            same_ms(shown["median"], latency["p50"], unit)
            assert shown["runs"] == f"{latency['n']:,}"
        same_ms(page[label]["max"], latency["max"], unit)
        assert float(rows[label]["median_ms"]) == latency["p50"]
        assert float(rows[label]["p99_ms"]) == latency["p99"]
    metrics = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
    assert json.dumps(metrics).count("median_ms") >= 2


def test_the_ratio_its_interval_and_its_verdict(folder, pair, sides):
    latency = pair["latency"]
    page = (folder / "report.md").read_text(encoding="utf-8")
    answer = re.search(r"^\*\*(.*)\*\*(?: 95% CI (.*))?$", page, flags=re.MULTILINE)
    assert answer, page
    said, interval = plain(answer[1]), plain(answer[2] or "")
    assert said in program.run("report", folder, "--all", width=200).stdout
    before, after = sides[0]["label"], sides[1]["label"]
    if latency["verdict"] == "contended":  # other processes had the processor
        assert latency["ratio"] is None and said == f"{after} compared with {before}: contended: too few clean runs"
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
    if latency["verdict"] == "slower":  # how many times slower: turned over
        words = re.fullmatch(rf"{after} is ([\d.]+x) slower than {before}", said)
        same(words[1], 1 / latency["ratio"])
        same_interval(interval, 1 / high, 1 / low)
        return
    same_interval(interval, low, high)
    if latency["verdict"] == "same":
        assert said == f"{after} is as fast as {before} (same within ±1%)"
    else:
        words = re.fullmatch(
            rf"{after} is ([\d.]+x) faster than {before}|{after} compared with {before}: inconclusive, ([\d.]+x)", said
        )
        assert words and bool(words[1]) == (latency["verdict"] == "faster")
        same(words[1] or words[2], latency["ratio"])


def test_group_times(folder, pair, sides, report_md):
    before_label, after_label = sides[0]["label"], sides[1]["label"]
    table, heading = table_with(report_md, "Self time", before_label, after_label)
    unit = unit_of(heading)
    told = {row[heading]: row for row in table}
    header, *block = block_with(screen(folder), "Self time by group")
    lines = {cells[0]: cells for cells in block}
    assert header[0] == heading
    rows = {(row["label"], row["group"]): row for row in csv_table(folder, "groups")}
    compared = {row["name"]: row for row in csv_table(folder, "comparison") if row["what"] == "group"}
    deltas = {row["name"]: row for row in pair["groups"]}
    checked = 0
    for before, after in zip(sides[0]["groups"]["rows"], sides[1]["groups"]["rows"], strict=True):
        name = before["name"]
        assert name == after["name"]
        for experiment, row in ((sides[0], before), (sides[1], after)):
            assert float(rows[experiment["label"], name]["mean_ms"]) == row["mean_ms"]
        assert float(compared[name]["baseline_ms"]) == pytest.approx(before["mean_ms"], rel=1e-14)
        assert float(compared[name]["candidate_ms"]) == pytest.approx(after["mean_ms"], rel=1e-14)
        assert (name in told) == (name in lines) == (before["total_ns"] + after["total_ns"] > 0)
        if name not in told:
            continue
        # Rows that add up, as printed, are rounded by the largest remainder: up to a digit.
        same_ms(told[name][before_label], before["mean_ms"], unit, "1")
        same_ms(told[name][after_label], after["mean_ms"], unit, "1")
        assert {told[name][before_label], told[name][after_label], told[name]["speedup"]} <= set(lines[name])
        same_gain(told[name]["speedup"], deltas[name])
        checked += 1
    assert checked >= 5
    names = list(told)
    for column in (before_label, after_label):
        numbers = [told[name][column] for name in names]
        if any(number.startswith(("<", ">")) for number in numbers):
            continue  # what is smaller than a digit is printed as such
        values = {name: Decimal(number.replace(MINUS, "-")) for name, number in zip(names, numbers, strict=True)}
        total = sum(value for name, value in values.items() if name in deltas)
        assert total == values["Traced total"], "they add up as printed"
        # The second where one of the two was disturbed, as beside other tests.
        (between,) = values.keys() & {"Tracing overhead", "Mean to median"}
        assert total + values[between] == values["Median latency"]


def test_operator_times(folder, pair, sides, report_md):
    header, *lines = block_with(screen(folder), "All operators")
    unit = unit_of(header[0])
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
        same_ms(shown[sides[0]["label"]], row["baseline_total_ns"] / pair["baseline_runs"] / 1e6, unit)
        same_ms(shown[sides[1]["label"]], row["candidate_total_ns"] / pair["candidate_runs"] / 1e6, unit)
        same_gain(shown["speedup"], row)
        checked += 1
    assert checked >= 8 and len(lines) == len(matched)
    rows = {(row["label"], row["key"]): row for row in csv_table(folder, "operators")}
    for experiment in sides:
        for row in experiment["operators"]:
            assert float(rows[experiment["label"], row["key"]]["mean_ms"]) == row["mean_ms"]
    told, heading = table_with(report_md, "Operator", "group")
    for row, expected in zip(told, sides[1]["operators"], strict=False):
        assert row[heading] == expected["name"]
        same_ms(row["self time"], expected["mean_ms"], unit_of(heading))
    for experiment in sides:
        (file,) = (folder / experiment["name"]).glob("*_exec_ops_stats.csv")
        with file.open(newline="", encoding="utf-8") as stored:
            sums = {row["key"]: Decimal(row["self_total_ms"]) * 1_000_000 for row in csv.DictReader(stored)}
        for row in experiment["operators"]:
            assert sums[row["key"]] == row["total_ns"]


def test_the_page_holds_the_json(folder):
    held = program.held_in_page(folder / "report.html", "etprof-report")
    assert held == (folder / "analysis_summary.json").read_bytes()


def test_the_plot_counts_every_run(truth):
    (plot,) = truth["latency_plots"]
    for side, experiment in zip(plot["experiments"], truth["experiments"], strict=True):
        assert side["experiment"] == experiment["name"]
        assert sum(side["counts"]) + side["beyond"] == experiment["latency_ms"]["n"]
        assert plot["from_ms"] <= experiment["latency_ms"]["min"]
        end = plot["from_ms"] + plot["width_ms"] * len(side["counts"])
        assert end >= experiment["latency_ms"]["p99"] * (1 - 1e-9) or experiment["latency_ms"]["n"] < 100
