"""Compares etprof.read_etdump and etprof.compare with ExecuTorch's Inspector, NumPy, and the etprof program."""

import gc
import json
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import program

ETDUMPS = sorted(program.DATA.rglob("*.etdump"))


def inspector_frame(etdump: Path, scale: str):
    from executorch.devtools import Inspector
    from executorch.devtools.inspector import TimeScale

    target = TimeScale(scale)
    return Inspector(etdump_path=str(etdump), target_time_scale=target).to_dataframe()


@pytest.mark.filterwarnings("ignore:Output Buffer not found")
@pytest.mark.parametrize("scale", ["ms", "us"])
@pytest.mark.parametrize("etdump", ETDUMPS, ids=lambda path: path.stem)
def test_a_frame_is_inspectors(etprof, etdump, scale):
    expected = inspector_frame(etdump, scale)
    actual = etprof.read_etdump(etdump).to_pandas(scale)
    assert list(actual.columns) == list(expected.columns)
    assert len(actual) == len(expected)
    # Inspector scales times since the start of the machine, and then subtracts them. If the machine runs for long, this
    # is inexact by a part of a nanosecond. Real differences are at least one nanosecond.
    nanosecond = {"ms": 1e-6, "us": 1e-3}[scale]
    for column in expected.columns:
        if expected[column].dtype.kind == "f":
            np.testing.assert_allclose(actual[column], expected[column], rtol=1e-9, atol=nanosecond / 4)
        elif column == "raw":
            for row, other in zip(actual[column], expected[column], strict=True):
                np.testing.assert_allclose(row, other, rtol=1e-9, atol=nanosecond / 4)
        else:
            assert actual[column].tolist() == expected[column].tolist(), column


def test_headings_without_units_are_inspectors(etprof):
    from executorch.devtools import Inspector

    expected = Inspector(etdump_path=str(ETDUMPS[0])).to_dataframe(include_units=False)
    assert list(etprof.read_etdump(ETDUMPS[0]).to_pandas(include_units=False).columns) == list(expected.columns)


@pytest.mark.parametrize("etdump", ETDUMPS, ids=lambda path: path.stem)
def test_columns_are_one_entry_an_event(etprof, etdump):
    dump = etprof.read_etdump(etdump)
    frame = dump.events()
    assert len(dump) == len(frame) > 0
    for column in ("start_ns", "end_ns", "name", "delegated", "chain", "instruction", "delegate_id", "block"):
        assert getattr(dump, column).shape == (len(dump),), column
    assert (frame["duration_ns"] == frame["end_ns"] - frame["start_ns"]).all()
    runs = frame[frame["name"] == "Method::execute"]
    assert set(runs["block_name"]) == {"Execute"}
    # Inspector's documented rule for delegated events.
    identified = dump.to_pandas()
    assert set(identified[identified["is_delegated_op"]]["event_name"]) == set(frame[frame["delegated"]]["name"])


def test_times_lie_where_they_were_read_to_and_outlive_the_dump(etprof):
    dump = etprof.read_etdump(ETDUMPS[0])
    starts = dump.start_ns
    assert not starts.flags.owndata
    assert not starts.flags.writeable
    assert np.shares_memory(starts, dump._trace.start_ns)
    copied = starts.copy()
    del dump
    gc.collect()
    assert (starts == copied).all()
    profile = etprof.read_etdump(ETDUMPS[0]).profiles()[0]
    times = profile.self_ns
    total = times.sum()
    del profile
    gc.collect()
    assert times.sum() == total


@pytest.mark.parametrize("etdump", ETDUMPS, ids=lambda path: path.stem)
def test_a_profile_is_what_analyze_says(etprof, etdump):
    completed = program.run("analyze", etdump, "--json")
    (experiment,) = json.loads(completed.stdout)["experiments"]
    (profile,) = etprof.read_etdump(etdump).profiles()
    frame = profile.to_pandas().set_index("key")
    assert len(experiment["operators"]) > 3
    for operator in experiment["operators"]:
        row = frame.loc[operator["key"]]
        assert row["name"] == operator["name"]
        assert row["category"] == operator["category"]
        assert row["p50_ms"] == pytest.approx(operator["self_ms"]["p50"], rel=1e-12)
        assert row["p99_ms"] == pytest.approx(operator["self_ms"]["p99"], rel=1e-12)
        assert row["runs"] == operator["self_ms"]["n"]
    # The self times add up to the time of each run.
    ran = np.where(profile.self_ns >= 0, profile.self_ns, 0)
    assert (ran.sum(axis=0) == profile.run_total_ns).all()
    for index, operator in enumerate(profile.operators):
        if operator["kind"] == "method":
            assert (profile.duration_ns(index) == profile.run_total_ns).all()


def test_a_comparison_is_the_programs(etprof, monkeypatch):
    pair = [program.DATA / "sme2_emulated" / f"toy_cnn.sme2_{variant}.etdump" for variant in ("off", "on")]
    monkeypatch.setenv("ETPROF", str(program.etprof()))
    compared = etprof.compare(*pair)
    (expected,) = json.loads(program.run("compare", *pair, "--json").stdout)["comparisons"]
    assert compared.data == expected
    assert compared.verdict == expected["latency"]["verdict"]
    assert compared.ratio == expected["latency"]["ratio"]
    assert len(compared.operators()) == len(expected["operators"])
    assert len(compared.groups()) == len(expected["groups"])


def test_several_pairs_are_not_silently_the_first(etprof, tmp_path):
    for variant in ("off", "on"):
        for experiment in ("one", "two"):
            folder = tmp_path / variant / experiment
            folder.mkdir(parents=True)
            shutil.copy(
                program.DATA / "sme2_emulated" / f"toy_cnn.sme2_{variant}.etdump", folder / f"{experiment}.etdump"
            )
    with pytest.raises(ValueError, match=r"several pairs can be compared \(one with one, two with two\)"):
        etprof.compare(tmp_path / "off", tmp_path / "on")
    assert etprof.compare(tmp_path / "off" / "one", tmp_path / "on" / "one").verdict


def test_the_functions_are_the_programs_commands(etprof, tmp_path):
    pte = program.DATA / "toy_cnn.pte"
    assert etprof.inspect(pte) == json.loads(program.run("inspect", pte, "--json").stdout)
    assert etprof.analyze(ETDUMPS[0]) == json.loads(program.run("analyze", ETDUMPS[0], "--json").stdout)
    report_path = etprof.report(ETDUMPS[0], out=tmp_path / "report.md")
    program.run("report", ETDUMPS[0], "--out", tmp_path / "told.md")
    assert report_path == [tmp_path / "report.md"]
    assert report_path[0].read_text() == (tmp_path / "told.md").read_text()
    run = tmp_path / "run"
    arguments = ("--vs", "threads=1", "--launches", "2", "--runs", "3", "--no-peaks", "--output-root", run)
    assert program.run("profile", pte, *arguments).returncode == 0
    (expected,) = json.loads(program.run("validate", run, "--json").stdout)["runs"]
    assert etprof.validate(run) == expected
    reported = program.run("check", run, run, "--json", "--max-slowdown", "5%")
    assert etprof.check(run, run, max_slowdown=0.05) == json.loads(reported.stdout)
    with pytest.raises(ValueError, match="nothing to be compared with"):
        etprof.check(pte)
    other = program.ROOT / "tests" / "fuzz" / "corpus" / "program" / "int8.pte"
    assert etprof.check_programs(pte, other) == json.loads(
        program.run("check", "--static", pte, other, "--json").stdout
    )
    assert etprof.diff(pte, other) == json.loads(program.run("diff", pte, other, "--json").stdout)
    log = program.DATA / "toy_cnn.t1.log"
    assert etprof.kernels(log, filter_op="IGEMM") == json.loads(
        program.run("kernels", log, "--filter-op", "IGEMM", "--json").stdout
    )
    assert etprof.trace(ETDUMPS[0], out=tmp_path / "a.json", model=pte) == tmp_path / "a.json"
    program.run("trace", ETDUMPS[0], "--model", pte, "-o", tmp_path / "b.json")
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
    with pytest.raises(ValueError, match="toy_cnn"):
        etprof.diff(pte, ETDUMPS[0])


def test_a_dump_is_read_from_its_bytes(etprof):
    dump = etprof.read_etdump(ETDUMPS[0].read_bytes())
    assert dump.path is None
    assert dump.events().equals(etprof.read_etdump(ETDUMPS[0]).events())
    with pytest.raises(ValueError, match="not an ETDump"):
        etprof.read_etdump(b"no dump" * 100)


def test_bad_files_are_refused_with_their_place(etprof, tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        etprof.read_etdump(tmp_path / "nowhere.etdump")
    data = ETDUMPS[0].read_bytes()
    truncated = tmp_path / "cut.etdump"
    truncated.write_bytes(data[: len(data) // 2])
    with pytest.raises(ValueError, match=r"cut\.etdump"):
        etprof.read_etdump(truncated)
    with pytest.raises(ValueError, match="not a unit"):
        etprof.read_etdump(ETDUMPS[0], source_time_scale="fortnight")
    with pytest.raises(ValueError, match="not a unit"):
        etprof.read_etdump(ETDUMPS[0]).to_pandas("hz")
    with pytest.raises(ValueError, match="cut"):
        etprof.compare(truncated, ETDUMPS[0])
    (profile,) = etprof.read_etdump(ETDUMPS[0]).profiles()
    with pytest.raises(IndexError):
        profile.duration_ns(10_000)


def test_a_clock_in_microseconds_is_scaled(etprof):
    nanoseconds = etprof.read_etdump(ETDUMPS[0])
    microseconds = etprof.read_etdump(ETDUMPS[0], source_time_scale="us")
    assert (microseconds.start_ns == 1000 * nanoseconds.start_ns).all()
