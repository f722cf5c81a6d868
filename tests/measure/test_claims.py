"""Properties that an A/B profile of a real model on this machine must have, with the real runner."""

import json
import subprocess
from fractions import Fraction

import program
import pytest
from measure_bench import MODEL, skip

pytestmark = pytest.mark.usefixtures("runner")


def isa(etprof) -> dict:
    return json.loads(subprocess.run([etprof, "isa", "--json"], check=True, capture_output=True, text=True).stdout)


def profile(etprof, folder, mask: str, seconds: int) -> dict:
    """Returns analysis_summary.json of toy_cnn with and without the CPU features that `mask` hides."""
    subprocess.run(
        [etprof, "profile", MODEL, "--vs", f"isa={mask}", "--max-seconds", str(seconds), "--output-root", folder],
        check=True,
        capture_output=True,
        timeout=300,
    )
    return json.loads((folder / "analysis_summary.json").read_text())


def expect_exact_sums(summary: dict) -> None:
    """Checks that the rows of every table add up, as integers, to the total and to its delta."""
    (comparison,) = summary["comparisons"]
    total = comparison["whole"]
    for table in ("groups", "categories", "operators"):
        for column in ("baseline_total_ns", "candidate_total_ns", "delta_numerator_ns"):
            assert sum(row[column] for row in comparison[table]) == total[column], (table, column)
    mean = {
        variant: Fraction(total[f"{variant}_total_ns"], comparison[f"{variant}_runs"])
        for variant in ("baseline", "candidate")
    }
    delta = Fraction(total["delta_numerator_ns"], comparison["delta_denominator"])
    assert delta == mean["candidate"] - mean["baseline"]
    assert total["baseline_total_ns"] > 0
    assert delta != 0


def convolution_share(summary: dict) -> float:
    """Returns the convolutions' share of the total time difference."""
    (comparison,) = summary["comparisons"]
    convolution = next(row for row in comparison["groups"] if row["name"] == "Convolution")
    return convolution["delta_numerator_ns"] / comparison["whole"]["delta_numerator_ns"]


@pytest.fixture(scope="module")
def widest(etprof, tmp_path_factory) -> dict:
    """A comparison of toy_cnn with this machine's widest extension off and on."""
    found = isa(etprof)["widest"]
    if found is None:
        pytest.skip("this CPU has nothing but its architecture's baseline")
    return profile(etprof, tmp_path_factory.mktemp("widest"), found["off"], 20)


def test_the_rows_add_up_to_the_whole_and_to_its_delta(widest):
    expect_exact_sums(widest)


def test_convolutions_have_most_of_the_speedup(widest):
    if widest["comparisons"][0]["latency"]["verdict"] == "faster":
        assert convolution_share(widest) > 0.5


def test_the_baseline_is_the_masked_variant(widest):
    (comparison,) = widest["comparisons"]
    assert comparison["baseline"].endswith(" off")
    assert comparison["candidate"].endswith(" on")
    assert comparison["pairing"] == "launches"


def test_own_traces_have_no_truncated_spans(widest):
    for experiment in widest["experiments"]:
        assert experiment["runs"]["steady"] + experiment["runs"]["disturbed"] > 0
        clipped = [row["total_ns"] for row in experiment["groups"]["rows"] if row["name"] == "Clipped"]
        assert clipped == [0]


def test_avx512_makes_toy_cnn_faster(etprof, tmp_path):
    if "avx512f" not in isa(etprof)["features"]:
        pytest.skip("this CPU has no avx512f")
    summary = profile(etprof, tmp_path, "-avx512", 30)
    latency = summary["comparisons"][0]["latency"]
    # Next to processes of other tests a pair may be contended (without a ratio) or inconclusive, but never slower.
    assert latency["verdict"] in ("faster", "contended", "inconclusive")
    assert (latency["ratio"] is None) == (latency["verdict"] == "contended")
    if latency["verdict"] == "faster":
        assert latency["ratio_low"] > 1.5
        assert convolution_share(summary) > 0.5
    expect_exact_sums(summary)


def test_a_feature_that_this_cpu_lacks_is_one_clear_line(etprof, tmp_path):
    if "sme2" in isa(etprof)["features"]:
        skip("this CPU has sme2; another feature would have to be named")
    result = subprocess.run(
        [etprof, "profile", MODEL, "--vs", "isa=-sme2", "--output-root", tmp_path / "out"],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert result.returncode in (2, 3)
    assert "sme2" in program.one_error(result.stderr)
