"""etprof-runner --measure-peaks."""

from __future__ import annotations

import json
from pathlib import Path

from runner_bench import Run


def measure(runner: Path, *args: object) -> dict:
    run = Run(runner, "--measure-peaks", *args)
    assert run.code == 0, run.err
    assert run.err == ""
    return json.loads(run.out)


def test_every_level_that_the_mask_leaves_and_no_other(runner: Path) -> None:
    unmasked = measure(runner, "--cpu_threads=1")
    masked = measure(runner, "--cpu_threads=1", "--isa=none")
    levels = {peak["level"] for peak in unmasked["compute"]}
    baseline = {"sse2", "neon"}
    assert levels - baseline <= set(unmasked["isa_state"]["enabled"])
    assert {peak["level"] for peak in masked["compute"]} == levels & baseline
    assert (masked["isa"], masked["threads"]) == ("none", 1)
    assert [peak["access"] for peak in masked["memory"][:3]] == ["read", "write", "copy"]
    assert masked["memory"][-1]["capacity_bytes"] is None
    for peak in unmasked["compute"]:
        assert 0 < peak["worst_macs_per_s"] <= peak["median_macs_per_s"] <= peak["macs_per_s"]
        assert peak["tries"] > 9
    for peak in unmasked["memory"]:
        assert 0 < peak["worst_bytes_per_s"] <= peak["median_bytes_per_s"] <= peak["bytes_per_s"]
        assert peak["capacity_bytes"] is None or peak["working_set_bytes"] <= peak["capacity_bytes"]


def test_there_are_no_more_threads_than_cpus(runner: Path) -> None:
    peaks = measure(runner, "--cpu_threads=2", "--cpus=0", "--isa=none")
    assert (peaks["threads"], peaks["cpus"]) == (1, "0")


def test_what_is_wrong_is_said(runner: Path) -> None:
    for flags, code, message in (
        (["--isa=-nosuch"], 2, "unknown CPU feature 'nosuch'"),
        (["--cpus=x"], 2, "not a set of CPUs"),
        (["--worker"], 2, "do not go together"),
    ):
        run = Run(runner, "--measure-peaks", *flags)
        assert run.code == code
        assert run.out == ""
        assert message in run.err
