"""Verdicts about device classes: their intervals cover the truth, and few of them are false."""

import math

import numpy as np
import pyarrow as pa
import pytest
import scipy.stats
import simulated

from etprof import _native
from etprof.fleet import query, schema, store, verdict
from etprof.fleet.problem import FleetError

CELL = ("2026-11-01", "net")


def launches_of(rng: np.random.Generator, effects: dict[str, float], devices: int, device_sd: float) -> pa.Table:
    """The launches of versions a and b, by class whose log(a / b) is given; a device deviates from it by `device_sd`."""
    launches = 2
    classes = np.repeat(list(effects), devices * 2 * launches)
    device = np.tile(np.repeat(np.arange(devices), 2 * launches), len(effects))
    is_b = np.tile(np.repeat([False, True], launches), devices * len(effects))
    level = np.repeat(rng.normal(15, 0.5, devices * len(effects)), 2 * launches)
    truth = np.repeat(list(effects.values()), devices) + rng.normal(0, device_sd, devices * len(effects))
    log_ns = level - np.where(is_b, np.repeat(truth, 2 * launches), 0) + rng.normal(0, 0.005, level.size)
    rows = level.size
    constant = {
        "string": "main",
        "bool": False,
        "int32": 0,
        "int64": 0,
        "float64": 0.0,
        "list<int32>": [1000],
        "list<int64>": [1],
    }
    columns = {column.name: [constant[column.type]] * rows for column in schema.LAUNCHES.columns}
    columns |= {
        "run": [f"{i:032}" for i in range(rows)],
        "device": [f"{a}/{b}" for a, b in zip(classes, device, strict=True)],
        "device_class": classes.tolist(),
        "version": np.where(is_b, "b", "a").tolist(),
        "median_ns": np.exp(log_ns),
    }
    return pa.table(columns, schema=schema.arrow_schema(schema.LAUNCHES))


def fleet_of(tmp_path, launches: pa.Table) -> store.Fleet:
    fleet = store.Fleet(str(tmp_path / "fleet"), create=True)
    fleet.write(CELL, simulated.batch("x", 1, {"a": 0.0}, seed=1) | {"launches": launches})
    return fleet


def effects_of(fleet: store.Fleet, question: verdict.Question) -> list[list[float]]:
    variables = {
        "baseline": question.baseline,
        "candidate": question.candidate,
        "model": None,
        "since": None,
        "until": None,
    }
    return [row[1] for row in query.ask(fleet, verdict._EFFECTS, variables).rows]


AB = verdict.Question("a", "b")


@pytest.mark.parametrize("devices", [3, 12])
def test_intervals_cover_the_truth(devices, tmp_path):
    """Each of 3000 classes is judged alone, from its launches, by the fleet's own SQL and statistics."""
    truth = 0.03
    rng = np.random.default_rng(devices)
    effects = effects_of(
        fleet_of(tmp_path, launches_of(rng, {f"c{i:05}": truth for i in range(3000)}, devices, 0.02)), AB
    )
    covered = sum(
        one["ratio_low"] <= math.exp(truth) <= one["ratio_high"]
        for units in effects
        for one in _native.judge_units([units], 0.05, 0.01)
    )
    assert 0.93 <= covered / len(effects) <= 0.97


def test_few_verdicts_are_false(tmp_path):
    """Half of 400 classes became slower. At most 5% of the classes that are called faster or slower are not."""
    rng = np.random.default_rng(7)
    false, decided, missed = 0, 0, 0
    for repetition in range(5):
        truth = {f"c{i:03}": -0.04 if i % 2 else 0.0 for i in range(400)}
        (tmp_path / str(repetition)).mkdir()
        judged = verdict.judge(fleet_of(tmp_path / str(repetition), launches_of(rng, truth, 8, 0.02)), AB)
        for one in judged:
            definite = one.verdict in ("faster", "slower")
            decided += definite
            false += definite and (truth[one.device_class] == 0 or one.verdict == "faster")
            missed += not definite and truth[one.device_class] != 0
    assert false / decided <= 0.05
    assert missed / 1000 <= 0.1


def test_an_interval_is_scipys(tmp_path):
    rng = np.random.default_rng(3)
    launches = launches_of(rng, {"one": 0.02, "two": -0.1, "three": 0.0}, 9, 0.02)
    fleet = fleet_of(tmp_path, launches)
    # By hand: device means of the logarithms, their difference, and Student's t over devices.
    logs: dict[tuple[str, str], dict[str, list[float]]] = {}
    for row in launches.to_pylist():
        of_device = logs.setdefault((row["device_class"], row["device"]), {})
        of_device.setdefault(row["version"], []).append(math.log(row["median_ns"]))
    judged = {one.device_class: one for one in verdict.judge(fleet, AB)}
    p_values = []
    for name, one in judged.items():
        effects = [np.mean(of["a"]) - np.mean(of["b"]) for (kind, _), of in logs.items() if kind == name]
        assert one.devices == len(effects) == 9
        test = scipy.stats.ttest_1samp(effects, 0)
        p_values.append(test.pvalue)
        low, high = test.confidence_interval(one.confidence)
        assert (one.ratio, one.ratio_low, one.ratio_high) == pytest.approx(
            (math.exp(np.mean(effects)), math.exp(low), math.exp(high)), rel=1e-9
        )
    rejected = int((scipy.stats.false_discovery_control(p_values) <= 0.05).sum())
    assert [one.confidence for one in judged.values()] == pytest.approx([1 - max(rejected, 1) * 0.05 / 3] * 3)
    assert judged["two"].verdict == "slower"


def test_cells_count_alike_whatever_their_launches(tmp_path):
    """A device's effect is the mean of its two configurations, though one of them has many more launches."""
    row = simulated.batch("phone", 1, {"a": 0.0}, seed=1, launches=1)["launches"].to_pylist()[0]
    rows = []
    for configuration, launches, log_ratio in (("main t1", 1, 0.1), ("main t4", 50, 0.3)):
        for version, log_ns in (("a", 10 + log_ratio), ("b", 10)):
            one = {"configuration": configuration, "version": version, "median_ns": math.exp(log_ns)}
            rows += [row | one] * launches
    rows.append(row | {"configuration": "only a", "version": "a"})
    rows.append(row | {"device": "emulated", "emulated": True, "version": "b"})
    rows.append(row | {"device": "busy", "median_ns": None, "version": "b"})
    launches = pa.Table.from_pylist(rows, schema=schema.arrow_schema(schema.LAUNCHES))
    fleet = fleet_of(tmp_path, launches)
    assert effects_of(fleet, AB) == [[pytest.approx(0.2)]]
    (one,) = verdict.judge(fleet, AB)
    assert (one.verdict, one.ratio, one.devices, one.left_out) == ("inconclusive", None, 1, 1)
    assert any("fewer than two devices" in line for line in verdict.notes([one]))


def test_the_planned_number_of_devices_has_its_power():
    rng = np.random.default_rng(11)
    for sd, change in ((0.01, 0.02), (0.03, 0.02), (0.05, 0.01)):
        effects = rng.normal(0, sd, 40)
        effects = effects / effects.std(ddof=1) * sd
        devices = verdict.devices_to_detect(effects, change)

        def power(n: int, noncentrality: float = math.log1p(change) / sd) -> float:
            critical = scipy.stats.t.ppf(0.975, n - 1)
            return 1 - scipy.stats.nct.cdf(critical, n - 1, noncentrality * math.sqrt(n))

        assert 0.79 <= power(devices) <= 0.91  # one more device matters if there are few
        assert power(devices - 1) < 0.83
    assert verdict.devices_to_detect([0.1, 0.2], 0.01) is None
    assert verdict.devices_to_detect([0.1, 0.1, 0.1], 0.01) == 2


def test_percentiles_are_those_of_all_runs_together(tmp_path):
    fleet = store.Fleet(str(tmp_path / "fleet"), create=True)
    for i, tables in enumerate(simulated.batch("phone", 4, {"a": 0.0, "b": 0.2}, seed) for seed in range(3)):
        fleet.write((f"2026-11-0{i + 1}", "net"), tables)
    (judgment,) = verdict.judge(fleet, AB)
    rows = {row[3]: row[4:] for row in query.ask(fleet, query.read_sql("percentiles")).rows}
    assert (judgment.baseline_p50_ms, judgment.baseline_p99_ms) == pytest.approx((rows["a"][0], rows["a"][2]))
    assert (judgment.candidate_p50_ms, judgment.candidate_p99_ms) == pytest.approx((rows["b"][0], rows["b"][2]))
    merged: dict[int, int] = {}
    for row in query.ask(fleet, "SELECT buckets, counts FROM launches WHERE version = 'a'").rows:
        for bucket, count in zip(*row, strict=True):
            merged[bucket] = merged.get(bucket, 0) + count
    runs = np.repeat(sorted(merged), [merged[bucket] for bucket in sorted(merged)])
    assert rows["a"][3] == runs.size == 3 * 4 * 3 * 20
    for share, value in zip((0.5, 0.9, 0.99), rows["a"], strict=False):
        assert value * 1e6 == pytest.approx(schema.bucket_middle(float(runs[int(share * (runs.size - 1))])), rel=1e-9)
    # Two models do not mix.
    fleet.write(("2026-11-01", "other"), simulated.batch("phone", 4, {"a": 0.0}, 9))
    assert verdict.judge(fleet, AB)[0].baseline_p50_ms is None
    assert verdict.judge(fleet, verdict.Question("a", "b", model="net"))[0].baseline_p50_ms == judgment.baseline_p50_ms
    only_first = verdict.Question("a", "b", until="2026-11-01", model="net")
    assert verdict.judge(fleet, only_first)[0].ratio != judgment.ratio


def test_a_version_that_nothing_ran_is_an_error(tmp_path):
    fleet = fleet_of(tmp_path, launches_of(np.random.default_rng(1), {"c": 0.0}, 2, 0.01))
    with pytest.raises(FleetError, match="version `c`"):
        verdict.judge(fleet, verdict.Question("a", "c"))


def test_the_slowest_class_comes_first_and_fails_if_asked(tmp_path, capsys):
    from etprof.fleet.__main__ import main

    fleet = fleet_of(tmp_path, launches_of(np.random.default_rng(2), {"fast": 0.2, "slow": -0.2}, 10, 0.01))
    arguments = ["verdict", "--baseline", "a", "--candidate", "b", "--from", fleet.uri, "--format", "csv"]
    assert main(arguments) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(",")[:2] for line in lines[1:]] == [["slow", "slower"], ["fast", "faster"]]
    assert main([*arguments, "--fail-if-slower"]) == 1
    assert main([*arguments, "--baseline", "b", "--candidate", "a", "--fail-if-slower"]) == 1
