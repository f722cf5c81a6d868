"""What results look like at a prompt and in a notebook."""

import json
import re
from pathlib import Path

import program
import pytest

import etprof
from etprof.arrow import Records
from etprof.results import Result, html_table

TOY = program.DATA / "toy_cnn.pte"
ETDUMPS = [program.DATA / "sme2_emulated" / f"toy_cnn.sme2_{side}.etdump" for side in ("off", "on")]
# Latencies are scripted: 1 ms, and 0.5 ms.
WORKER = program.ROOT / "tests" / "measure" / "fake_worker.py"


def scripted(folder: Path, **keys) -> dict:
    experiments = [
        {"name": name, "runner_path": str(WORKER), "env": {"FAKE_LATENCY_NS": latency}}
        for name, latency in (("plain", "1000000"), ("fast", "500000"))
    ]
    return {"model": str(TOY), "output_root": str(folder), "experiments": experiments, "runs": 10, "launches": 4} | keys


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    """A results directory with an experiment that is twice as fast, with certainty."""
    folder = tmp_path_factory.mktemp("measured") / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ETPROF", str(program.etprof()))
        etprof.run(scripted(folder))
    return folder


def test_a_result_is_a_dict_with_its_numbers_on_one_line(run):
    compared = "fast vs plain: verdict faster, speedup 2.00x, 95% CI [2.00, 2.00], candidate ms 0.5, baseline ms 1"
    result = etprof.analyze(run)
    assert result == json.loads((run / "analysis_summary.json").read_text())
    assert repr(result) == f"<status complete; {compared}>"
    assert repr(etprof.compare(run / "plain", run / "fast")) == f"<Comparison: {compared}>"
    checked = etprof.check(run, run, max_slowdown=0.05)
    assert re.fullmatch(
        r"<result \w+; plain: check latency, change \+0\.0%, .*limit \+5\.0%, result \w+>", repr(checked)
    )
    assert repr(etprof.validate(run)).startswith("<ok ")
    assert "\n" not in repr(etprof.inspect(TOY)) and len(repr(etprof.inspect(TOY))) < 100
    (profile,) = etprof.read_etdump(ETDUMPS[0]).profiles()
    assert re.fullmatch(r"<Profile: \d+ operators, \d+ steady runs, median [\d.]+ ms>", repr(profile))
    assert re.fullmatch(r"<Records: \d+ rows of key, name, .*>", repr(profile.operators))


def test_many_measurements_are_cut():
    experiment = {"label": "a", "latency_ms": {"p50": 0.5}, "latency_interval_ms": None, "clean_runs": 3, "all_runs": 4}
    result = Result(status="complete", experiments=[experiment | {"label": f"x{number}"} for number in range(6)])
    assert repr(result).startswith("<status complete; x0: latency ms 0.5, clean runs 3 of 4; x1: ")
    assert repr(result).endswith("x3: latency ms 0.5, clean runs 3 of 4; 2 more>")
    assert repr(Result(features=["avx"])) == "<features>"
    assert html_table([{"number": number} for number in range(100)]).endswith("<p>40 more rows</p>")


def test_names_reach_neither_terminals_nor_pages_raw():
    experiment = {"latency_ms": {"p50": None}, "latency_interval_ms": None, "clean_runs": 0, "all_runs": 0}
    result = Result(experiments=[experiment | {"label": "a\x1b[2J<script>"}], status="\x1b")
    assert "\x1b" not in repr(result) + result._repr_html_()
    assert "<script>" not in result._repr_html_() and "&lt;script&gt;" in result._repr_html_()
    assert "<i>" not in html_table([{"<i>": 1}], "<i>")


def test_notebooks_get_tables_without_internals(run):
    comparison = etprof.compare(run / "plain", run / "fast")
    assert "delta_numerator_ns" in comparison.data["operators"][0]
    (profile,) = etprof.read_etdump(ETDUMPS[0]).profiles()
    shown = [etprof.analyze(run), etprof.check(run, run), comparison, comparison.rows(), comparison.rows("groups")]
    for one in [*shown, profile, profile.operators, etprof.inspect(TOY), etprof.validate(run), etprof.doctor()]:
        table = one._repr_html_()
        assert table.startswith("<table>") and "<td>" in table, one
        assert not re.search(r"<th>\w*(_ns|_score|_denominator)</th>", table), one
    assert "<td>2.00x</td>" in comparison._repr_html_()
    for frame in (comparison.operators(), comparison.groups()):
        assert not [name for name in frame.columns if name.endswith("_ns")]
        assert {"name", "baseline_ms", "candidate_ms", "ratio", "verdict"} <= set(frame.columns)
    assert Records([])._repr_html_() == ""
