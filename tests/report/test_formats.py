"""A real run, in every format that tells of it: report.md's tables, the CSV tables and files, analysis_summary.json, the
page and the screen hold the same medians, ratios, intervals, verdicts and times. What is printed is held against the
JSON's number by the digits that are printed."""

import base64
import csv
import gzip
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
UNITS = {"ns": Decimal("1e-6"), "µs": Decimal("1e-3"), "ms": Decimal(1), "s": Decimal(1000)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """The run directory of toy_cnn, as it is and with every CPU feature masked."""
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
    """Baseline and candidate."""
    named = {experiment["name"]: experiment for experiment in truth["experiments"]}
    return named[pair["baseline_experiment"]], named[pair["candidate_experiment"]]


def same_ms(printed: str, value: float, units: str = "0.5") -> None:
    """What is printed is the JSON's milliseconds, rounded to the digits that are shown."""
    number, unit = printed.split()
    shown = Decimal(number)
    digit = Decimal((0, (1,), shown.as_tuple().exponent))
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
    """A gain is told where the measurement can tell it."""
    if row["verdict"] in ("faster", "slower"):
        same(printed, row["ratio"])
    else:
        assert printed == ("same" if row["verdict"] == "same" else "—")


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


def table_with(tables: list[list[dict[str, str]]], *columns: str) -> list[dict[str, str]]:
    (found,) = [table for table in tables if table and list(table[0])[: len(columns)] == list(columns)]
    return found


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


def block_with(blocks: list[list[list[str]]], first: str) -> list[list[str]]:
    (found,) = [block for block in blocks if re.fullmatch(first, block[0][0])]
    return found[1:]


def latency_lines(folder: Path) -> dict[str, list[str]]:
    """By label: label, median, tail, and of the candidate verdict and interval."""
    return {cells[0]: cells for cells in screen(folder)[1]}


@pytest.fixture(scope="module")
def report_md(folder) -> list[list[dict[str, str]]]:
    return markdown_tables((folder / "report.md").read_text(encoding="utf-8"))


def test_a_wrong_digit_would_be_seen():
    same_ms("5.004 ms", 5.0044)
    same_ms("5.00 µs", 0.0050049)
    for printed, value in (("5.004 ms", 5.0046), ("5.00 ms", 4.99), ("5.00 µs", 5.0)):
        with pytest.raises(AssertionError):
            same_ms(printed, value)
    with pytest.raises(AssertionError):
        same_gain("1.20x", {"verdict": "inconclusive", "ratio": 1.2})


def test_medians(folder, truth, report_md):
    told = {row["experiment"]: row for row in table_with(report_md, "experiment", "median")}
    rows = {row["label"]: row for row in csv_table(folder, "latency")}
    lines = latency_lines(folder)
    brief = markdown_tables(program.run("report", folder, "--brief").stdout)
    briefly = {row["experiment"]: row for row in table_with(brief, "experiment", "median")}
    assert len(truth["experiments"]) == 2
    for experiment in truth["experiments"]:
        label, latency = experiment["label"], experiment["latency_ms"]
        same_ms(told[label]["median"], latency["p50"])
        same_ms(told[label]["max"], latency["max"])
        assert told[label]["runs"] == str(latency["n"])
        same_ms(briefly[label]["median"], latency["p50"])
        assert float(rows[label]["median_ms"]) == latency["p50"]
        assert float(rows[label]["p99_ms"]) == latency["p99"]
        same_ms(lines[label][1], latency["p50"])
        tail, number = lines[label][2].split()
        assert tail == ("p99" if latency["n"] >= 100 else "max")
        same_ms(f"{number} {lines[label][1].split()[1]}", latency[tail])
    metrics = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
    assert json.dumps(metrics).count("median_ms") >= 2


def test_the_ratio_its_interval_and_its_verdict(folder, pair, sides, report_md):
    (told,) = table_with(report_md, "comparison", "before")
    latency = pair["latency"]
    same_ms(told["before"], latency["baseline_ms"])
    same_ms(told["after"], latency["candidate_ms"])
    if latency["verdict"] == "contended":  # other processes had the processor
        assert latency["ratio"] is None and told["verdict"] == "contended"
        assert not re.search(r"\d", told["ratio"] + told["interval"]), told
        return
    same(told["ratio"], latency["ratio"])
    same_interval(told["interval"], latency["ratio_low"], latency["ratio_high"])
    assert told["verdict"] == latency["verdict"]
    row = csv_table(folder, "comparison")[0]
    assert row["what"] == "latency" and row["verdict"] == latency["verdict"]
    for column in ("ratio", "ratio_low", "ratio_high", "p_value", "confidence", "baseline_ms", "candidate_ms"):
        assert float(row[column]) == latency[column]
    (file,) = folder.glob("*_comparison.csv")
    with file.open(newline="", encoding="utf-8") as stored:
        assert len(list(csv.DictReader(stored, strict=True))) > 0
    words, interval = latency_lines(folder)[sides[1]["label"]][3:]
    low, high = latency["ratio_low"], latency["ratio_high"]
    if latency["verdict"] == "slower":  # how many times slower: turned over
        assert words.endswith("x slower")
        same(words.split()[0], 1 / latency["ratio"])
        same_interval(interval, 1 / high, 1 / low)
        return
    same_interval(interval, low, high)
    if latency["verdict"] == "same":
        assert words == "same"
    else:
        said = re.fullmatch(r"([\d.]+x) faster|inconclusive, ([\d.]+x)", words)
        assert said and bool(said[1]) == (latency["verdict"] == "faster")
        same(said[1] or said[2], latency["ratio"])


def test_group_times(folder, pair, sides, report_md):
    told = {row["mean self time"]: row for row in table_with(report_md, "mean self time", "before")}
    lines = {cells[0]: cells for cells in block_with(screen(folder), "mean self time")}
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
        same_ms(told[name]["before"], before["mean_ms"], "1")
        same_ms(told[name]["after"], after["mean_ms"], "1")
        assert [told[name]["before"], told[name]["after"], told[name]["gain"]] == lines[name][1:4]
        same_gain(told[name]["gain"], deltas[name])
        checked += 1
    assert checked >= 5
    last = told["Median latency"]
    assert lines["Median latency"][1:4] == [last["before"], last["after"], last["gain"]]
    for column in ("before", "after"):
        unit = last[column].split()[1]
        parts = [row[column].split() for name, row in told.items() if name != "Median latency"]
        assert {part[1] for part in parts} == {unit}
        numbers = [Decimal(part[0].replace("\N{MINUS SIGN}", "-")) for part in parts]
        assert sum(numbers) == Decimal(last[column].split()[0]), "they add up as printed"


def test_operator_times(folder, pair, sides, report_md):
    lines = block_with(screen(folder), r"\d+ operators")
    matched = [row for row in pair["operators"] if row["name"] != "Clipped"]
    # Framework's spans are told as what they take beside what they call.
    by_name = {
        row["name"] + (" (overhead)" if "_" in row["name"] and row["name"].isupper() else ""): row for row in matched
    }
    by_name["Method::execute (overhead)"] = by_name.get("Method::execute")
    checked = 0
    for cells in lines:
        row = by_name.get(cells[0])
        if row is None or not (row["baseline_key"] and row["candidate_key"]):
            continue
        same_ms(cells[1], row["baseline_total_ns"] / pair["baseline_runs"] / 1e6)
        same_ms(cells[2], row["candidate_total_ns"] / pair["candidate_runs"] / 1e6)
        same_gain(cells[3], row)
        checked += 1
    assert checked >= 8 and len(lines) == len(matched)
    rows = {(row["label"], row["key"]): row for row in csv_table(folder, "operators")}
    for experiment in sides:
        for row in experiment["operators"]:
            assert float(rows[experiment["label"], row["key"]]["mean_ms"]) == row["mean_ms"]
    told = table_with(report_md, "operator", "group")
    for row, expected in zip(told, sides[1]["operators"], strict=False):
        assert row["operator"] == expected["name"]
        same_ms(row["mean self time"], expected["mean_ms"])
    for experiment in sides:
        (file,) = (folder / experiment["name"]).glob("*_exec_ops_stats.csv")
        with file.open(newline="", encoding="utf-8") as stored:
            sums = {row["key"]: Decimal(row["self_total_ms"]) * 1_000_000 for row in csv.DictReader(stored)}
        for row in experiment["operators"]:
            assert sums[row["key"]] == row["total_ns"]


def test_the_page_holds_the_json(folder):
    page = (folder / "report.html").read_text(encoding="utf-8")
    match = re.search(r'id="etprof-report"[^>]*>([^<]*)<', page)
    assert match
    held = gzip.decompress(base64.b64decode(match[1], validate=True))
    assert held == (folder / "analysis_summary.json").read_bytes()


def test_the_plot_counts_every_run(truth):
    (plot,) = truth["latency_plots"]
    for side, experiment in zip(plot["experiments"], truth["experiments"], strict=True):
        assert side["experiment"] == experiment["name"]
        assert sum(side["counts"]) + side["beyond"] == experiment["latency_ms"]["n"]
        assert plot["from_ms"] <= experiment["latency_ms"]["min"]
        end = plot["from_ms"] + plot["width_ms"] * len(side["counts"])
        assert end >= experiment["latency_ms"]["p99"] * (1 - 1e-9) or experiment["latency_ms"]["n"] < 100
