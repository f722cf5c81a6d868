"""`etprof run --dry-run` shows the planned measurements, their time, and errors, without starting a process."""

import csv
import json
import pathlib

import program
import pytest
from measure_bench import MODEL

DONE, USAGE, BAD_INPUT = 0, 2, 3


def read_plan(bench, config, *arguments) -> dict:
    completed = bench.run("run", config, "--dry-run", "--json", *arguments)
    assert completed.returncode == DONE, completed.stderr
    assert completed.stderr == ""
    return json.loads(completed.stdout)


def test_a_plan_is_written_to_files_too(bench):
    config = bench.write([bench.experiment("off", isa="-sse3"), bench.experiment("on")])
    files = {name: bench.folder / f"plan.{name}" for name in ("markdown", "html")}
    completed = bench.run("run", config, "--dry-run", *(f"--{name}={file}" for name, file in files.items()))
    assert (completed.returncode, completed.stderr) == (DONE, "")
    assert "| off " in files["markdown"].read_text()
    assert files["html"].read_text().startswith("<!doctype html>")  # the data of the page is compressed
    assert not bench.out.exists()


def test_each_table_of_the_plan_is_shown_as_csv(bench):
    config = bench.write([bench.experiment("off", isa="-sse3"), bench.experiment("on")])
    output = bench.run("run", config, "--dry-run", "--csv")
    assert (output.returncode, output.stderr) == (DONE, "")
    assert [row["experiment"] for row in csv.DictReader(output.stdout.splitlines())] == ["off", "on"]
    assert bench.run("run", config, "--dry-run", "--csv=experiments").stdout == output.stdout
    plan = bench.run("run", config, "--dry-run", "--csv=plan").stdout
    assert {"compare", "launches"} <= {row["name"] for row in csv.DictReader(plan.splitlines())}
    wrong = bench.run("run", config, "--dry-run", "--csv=operators")
    assert (wrong.returncode, wrong.stdout) == (USAGE, "")
    assert wrong.stderr == "error: `--csv` does not take `operators`\nhint: Give one of plan, experiments.\n"


def test_a_terminal_shows_everything(bench):
    config = bench.write(
        [
            bench.experiment("off", label="avx off", isa="-sse3", cpu_affinity=[0]),
            bench.experiment("on", threads=[1, 2], runs=12),
            bench.experiment("kernels", mode="xnntrace"),
        ],
        max_temp=40,
    )
    completed = bench.run("run", config, "--dry-run", "--counters")
    assert completed.returncode == DONE, completed.stderr
    rows = [line.split() for line in completed.stdout.splitlines()]
    first = rows.index(["experiment", "threads", "isa", "CPUs", "mode", "traced", "runs"]) + 1
    assert rows[first][:6] == ["avx", "off", "1", "-sse3", "0", "timing"]
    assert rows[first + 2] == ["on,", "2", "threads", "2", "all", "any", "timing", "12"]
    assert rows[first + 3][:5] == ["kernels", "1", "all", "any", "xnntrace"]
    text = " ".join(completed.stdout.split())
    assert "compare avx off (baseline) with on, 1 thread " in text
    assert " launches 10 to 160 of each experiment, fewer (at least 2) where time is short" in text
    assert " rounds 1 to 7 in a launch" in text
    assert " runs at least 20 untraced of each experiment, then at least 3 traced in each launch" in text
    assert " time at most 60 s (60 s for each pair, 1 pair)" in text
    assert " at the soonest after about 10.5 s, once the interval is within ±0.5%" in text
    assert " besides 1 kernel-log run" in text
    assert "counters" in text and "40 °C" in text
    assert f" model {MODEL} " in text
    assert f" into {bench.out} " in text
    assert not bench.out.exists()


def test_the_plan_is_what_is_then_measured(bench):
    config = bench.write([bench.experiment("a", isa="-sse3"), bench.experiment("b")], max_seconds=30, peaks=False)
    (device,) = read_plan(bench, config, "--launches", "3")["devices"]
    assert not bench.out.exists()
    assert bench.run("run", config, "--launches", "3").returncode == DONE
    manifest = bench.manifest()
    assert device["launches"]["at_least"] <= manifest["schedule"]["launches"] <= device["launches"]["at_most"] == 3
    assert device["rounds"]["at_least"] <= manifest["schedule"]["rounds"] <= device["rounds"]["at_most"] == 7
    assert device["seconds"]["at_most"] == manifest["schedule"]["max_seconds"] == 30
    assert device["output_root"] == str(bench.out)
    for planned, measured in zip(device["experiments"], manifest["results"], strict=True):
        for key in ("experiment", "label", "mode", "threads", "isa"):
            assert planned[key] == measured[key], key
        assert (planned["runner"], planned["model"]) == (measured["runner_path"], measured["model"])
    (pair,) = device["pairs"]
    assert (pair["baseline"], pair["candidate"]) == ("a", "b")


@pytest.mark.parametrize(
    ("arguments", "keys", "launches", "at_least", "at_most", "message"),
    [
        ((), {}, (2, 160), 7, 60, "at most 60 s (60 s for each pair, 1 pair)"),
        (("--max-seconds", "900"), {}, (2, 160), 7, 900, "at most 15 min (max_seconds)"),
        (("--max-seconds", "2"), {}, (2, 160), 2, 2, "at most 2 s (max_seconds)"),
        (("--launches", "4"), {}, (4, 4), 2.8, None, "no upper bound"),
        (("--launches", "4", "--max-seconds", "9"), {}, (2, 4), 2.8, 9, "at most 9 s (max_seconds)"),
        (("--sustained", "2min"), {}, (1, 1), 240, 240, "about 4 min (2 min for each of 2 experiments"),
        (("--only", "a"), {}, (2, 160), 3.5, 60, "and so without one"),
        ((), {"mode": "xnntrace"}, (0, 0), 0, None, "no upper bound"),
        ((), {"period": "50ms"}, (2, 160), 56, 60, "50ms"),
    ],
    ids=str,
)
def test_the_time_and_where_it_is_from(bench, arguments, keys, launches, at_least, at_most, message):
    config = bench.write([bench.experiment("a", **keys), bench.experiment("b", **keys)])
    plan = read_plan(bench, config, *arguments)
    (device,) = plan["devices"]
    assert (device["launches"]["at_least"], device["launches"]["at_most"]) == launches
    # With a short time limit, the measurements use all of it, except for the peaks of two experiments, which get a quarter
    # at most.
    assert plan["seconds"] == device["seconds"]
    assert device["seconds"] == {"at_least": pytest.approx(at_least), "at_most": at_most}
    if "period" in keys:
        assert device["experiments"][0]["period_ns"] == 50_000_000
    else:
        assert any(message in line for line in device["how"]), device["how"]


@pytest.fixture
def marking_program(tmp_path) -> pathlib.Path:
    """A program that makes a file when it is started."""
    path = tmp_path / "marking"
    path.write_text(f"#!/bin/sh\ntouch '{tmp_path}/started'\nexit 1\n")
    path.chmod(0o755)
    return path


def test_nothing_is_started(bench, marking_program):
    config = bench.write(
        [
            bench.experiment("a", runner_path=str(marking_program)),
            bench.experiment("b", exec_wrapper=str(marking_program)),
        ]
    )
    read_plan(bench, config)
    assert not (marking_program.parent / "started").exists()
    assert bench.run("run", config).returncode != DONE
    assert (marking_program.parent / "started").exists()  # the check above can fail


@pytest.mark.parametrize(
    ("keys", "code", "message"),
    [
        ({"model": "no.pte"}, BAD_INPUT, "no.pte`: no such file"),
        ({"model": "/etc/passwd"}, BAD_INPUT, "is not an ExecuTorch program"),
        ({"runner_path": "/no/runner"}, BAD_INPUT, "no such runner"),
        ({"runner_path": "/etc/passwd"}, BAD_INPUT, "is not executable"),
        ({"exec_wrapper": "no-such-emulator -cpu max"}, BAD_INPUT, "no-such-emulator"),
        ({"inputs": "no.inputs"}, BAD_INPUT, "no.inputs`: no such file"),
        ({"data": "no.ptd"}, BAD_INPUT, "no.ptd`: no such file"),
        ({"cpu_affinity": [1000]}, BAD_INPUT, "none of the CPUs 1000 is there"),
        ({"cpu_affinity": "mid7"}, BAD_INPUT, "mid7"),
        ({"threads": 0}, BAD_INPUT, "must be a whole number"),
        ({"runz": 3}, BAD_INPUT, 'Did you mean "runs"?'),
        ({"isa": "-no_such_feature"}, BAD_INPUT, "unknown CPU feature"),
        ({"isa": "avx"}, BAD_INPUT, "says neither on nor off"),
    ],
    ids=str,
)
def test_a_dry_run_finds_the_errors_of_a_real_run(bench, runner, keys, code, message):
    experiment_keys = {"runner_path": str(runner)} | keys  # the real runner, because it applies the mask
    config = bench.write([bench.experiment("a", **experiment_keys)], launches=2, rounds=1, peaks=False)
    dry = bench.run("run", config, "--dry-run")
    real = bench.run("run", config)
    assert (dry.returncode, real.returncode) == (code, code)
    assert message in dry.stderr and message in real.stderr
    assert program.one_error(dry.stderr) and dry.stdout == ""
    assert not (bench.out / "manifest.json").exists()


def test_a_power_mode_is_androids(bench):
    config = bench.write([bench.experiment("a")], power_mode="app-developer")
    for arguments in (["--dry-run"], []):
        completed = bench.run("run", config, *arguments)
        assert completed.returncode == USAGE
        assert "settings of Android" in completed.stderr


def test_hostile_labels_do_not_reach_the_terminal(bench):
    config = bench.write([bench.experiment("a", label="\x1b[31mred"), bench.experiment("b")])
    completed = bench.run("run", config, "--dry-run")
    assert completed.returncode == DONE
    assert "\x1b" not in completed.stdout and "\\x1b[31mred" in completed.stdout
