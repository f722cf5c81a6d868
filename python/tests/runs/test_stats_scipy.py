"""etprof's statistics agree with SciPy's and numpy's to 1e-9, on seeded random cases."""

import json
import math
import os
import subprocess
from pathlib import Path

import numpy
import pytest
from scipy import stats

REPOSITORY = Path(__file__).resolve().parents[3]
BUILT = REPOSITORY / "build/release/src/stats/etprof_stats_oracle"
RELATIVE = 1e-9


def run_oracle(questions: list[dict]) -> list:
    """Returns the oracle's answers to all questions, from one process."""
    program = Path(os.environ.get("ETPROF_STATS_ORACLE", BUILT))
    if not program.is_file():
        message = f"{program} is not there: build etprof_stats_oracle, or name it by ETPROF_STATS_ORACLE"
        if os.environ.get("CI") == "true":
            pytest.fail(message)
        pytest.skip(message)
    completed = subprocess.run([program], input=json.dumps(questions), capture_output=True, text=True)
    assert completed.returncode == 0, completed.stderr
    return json.loads(completed.stdout)


def samples() -> list[numpy.ndarray]:
    """Returns realistic latencies: skewed, with outliers, with ties of a coarse clock, nearly constant, and of each small size."""
    random = numpy.random.default_rng(20240611)
    cases = [random.lognormal(15, 0.1, n) for n in range(1, 60)]
    for n in (2, 3, 10, 20, 40, 100, 1000, 5001):
        cases += [
            1e9 + random.standard_normal(n) * 1e-2,
            random.integers(1, 5, n) * 41.0,
            numpy.where(random.random(n) < 0.1, 10, 1) * random.lognormal(10, 0.02, n),
            random.standard_cauchy(n) * 1e6,
            random.uniform(1, 2, n) * 1e-9,
        ]
    return cases


def is_close(actual: float, expected: float, scale: float = 0.0) -> bool:
    return math.isclose(actual, float(expected), rel_tol=RELATIVE, abs_tol=RELATIVE * scale)


def test_distributions():
    cases = samples()
    answers = run_oracle([{"what": "describe", "values": list(x)} for x in cases])
    for x, actual in zip(cases, answers, strict=True):
        scale = float(numpy.max(numpy.abs(x)))
        assert actual["n"] == len(x)
        assert is_close(actual["mean"], math.fsum(x) / len(x), scale)
        assert actual["min"] == x.min() and actual["max"] == x.max()
        for key, q in (("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99)):
            assert is_close(actual[key], numpy.quantile(x, q, method="linear"))
        assert is_close(actual["mad"], stats.median_abs_deviation(x), 1e-6 * scale)
        assert is_close(actual["trimmed_mean_5"], stats.trim_mean(x, 0.05), 1e-6 * scale)
        assert is_close(actual["trimmed_mean_10"], stats.trim_mean(x, 0.10), 1e-6 * scale)
        if len(x) > 1:
            sd = numpy.std(x - x[0], ddof=1)  # shifted, because numpy's sum would lose digits of 1e9 + 0.01
            assert is_close(actual["sd"], sd)
            assert is_close(actual["cv"], sd / abs(math.fsum(x) / len(x)), RELATIVE)
        else:
            assert actual["sd"] is None and actual["cv"] is None
        if len(x) >= 4:
            q1, q3 = numpy.quantile(x, [0.25, 0.75])
            outside = (x < q1 - 1.5 * (q3 - q1)) | (x > q3 + 1.5 * (q3 - q1))
            assert actual["outliers"] == outside.sum()
        else:
            assert actual["outliers"] == 0


def test_no_values_have_no_distribution():
    (actual,) = run_oracle([{"what": "describe", "values": []}])
    assert actual.pop("n") == 0 and actual.pop("outliers") == 0
    assert set(actual.values()) == {None}


def test_interval_and_p_value_of_launches():
    random = numpy.random.default_rng(3)
    cases = [
        (effect + random.standard_normal(n) * 0.02, confidence)
        for n in (2, 3, 5, 10, 14, 40, 160)
        for effect in (0.0, 0.001, 0.02, 0.6, -3.0)
        for confidence in (0.5, 0.9, 0.95, 0.963, 0.999, 1 - 0.05 / 400)
    ]
    answers = run_oracle([{"what": "estimate_ratio", "values": list(x), "confidence": c} for x, c in cases])
    for (x, confidence), actual in zip(cases, answers, strict=True):
        expected = stats.ttest_1samp(x, 0.0)
        interval = expected.confidence_interval(confidence)
        width = float(interval.high - interval.low)
        assert is_close(actual["log_ratio"], numpy.mean(x), width)
        assert is_close(actual["standard_error"], stats.sem(x))
        assert is_close(actual["log_low"], interval.low, width)
        assert is_close(actual["log_high"], interval.high, width)
        assert is_close(actual["p_value"], expected.pvalue)


def test_launches_that_are_not_paired():
    random = numpy.random.default_rng(5)
    cases = [
        (random.lognormal(15, sd, n), random.lognormal(15.02, 0.02, m), confidence)
        for n in (2, 5, 10, 40)
        for m in (2, 7, 10)
        for sd in (0.002, 0.1)
        for confidence in (0.9, 0.95, 0.999)
    ]
    answers = run_oracle(
        [{"what": "unpaired_launches", "values": list(a), "other": list(b), "confidence": c} for a, b, c in cases]
    )
    for (a, b, confidence), actual in zip(cases, answers, strict=True):
        # Welch's statistic with the degrees of freedom of the shorter series.
        statistic = stats.ttest_ind(numpy.log(a), numpy.log(b), equal_var=False).statistic
        log_ratio = numpy.mean(numpy.log(a)) - numpy.mean(numpy.log(b))
        distribution = stats.t(min(len(a), len(b)) - 1, loc=log_ratio, scale=log_ratio / statistic)
        low, high = distribution.interval(confidence)
        width = float(high - low)
        assert is_close(actual["log_ratio"], log_ratio, width)
        assert is_close(actual["log_low"], low, width)
        assert is_close(actual["log_high"], high, width)
        assert is_close(actual["p_value"], 2 * distribution.cdf(0 if log_ratio > 0 else 2 * log_ratio))


def test_one_launch_has_no_estimate():
    assert run_oracle([{"what": "estimate_ratio", "values": [0.1], "confidence": 0.95}]) == [None]


def test_false_discovery_control():
    random = numpy.random.default_rng(4)
    cases = [random.random(n) ** power for n in (1, 2, 10, 300) for power in (1, 4, 20)]
    cases.append(numpy.array([0.01, 0.01, 0.01, 1.0, 1.0, 0.0]))
    answers = run_oracle([{"what": "benjamini_hochberg", "values": list(p)} for p in cases])
    for p, actual in zip(cases, answers, strict=True):
        numpy.testing.assert_allclose(actual, stats.false_discovery_control(p, method="bh"), rtol=RELATIVE)


def test_the_oracle_refuses_what_it_does_not_know():
    with pytest.raises(AssertionError, match="unknown question"):
        run_oracle([{"what": "horoscope", "values": []}])


def test_trends():
    cases = [x[:200] for x in samples() if len(x) > 2 and len(set(x[:200])) > 1]
    slopes = run_oracle([{"what": "theil_slope", "values": list(x)} for x in cases])
    p_values = run_oracle([{"what": "kendall_p", "values": list(x)} for x in cases])
    for x, slope, p in zip(cases, slopes, p_values, strict=True):
        scale = float(numpy.max(numpy.abs(x)))
        assert is_close(slope, stats.theilslopes(x).slope, scale * 1e-6)
        assert is_close(p, stats.kendalltau(numpy.arange(len(x)), x, method="asymptotic").pvalue, 1e-3)
