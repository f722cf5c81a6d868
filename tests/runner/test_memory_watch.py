"""Memory by owner: `load` with "watch_memory", reported by `watch`."""

from __future__ import annotations

import json
import math
import platform
import re
from pathlib import Path
from typing import Any

import pytest
from runner_bench import library
from test_watch import slots

MOMENTS = ["loaded", "first_run", "steady"]
ALLOCATORS = re.compile(r"malloc|calloc|realloc|free|posix_memalign|_Zn[wa]m|_Zd[la]Pvm?$|xnn_(create|reshape|setup)")


def watch_memory(worker: Any, model: Path, *arguments: str) -> tuple[dict, int]:
    """Returns the memory of the reply, and the resident bytes that the system reports right after loading."""
    process = worker(*arguments)
    loaded = process.ask("load", model=str(model), watch_memory=True)
    status = Path(f"/proc/{process.process.pid}/status").read_text(encoding="utf-8")
    resident = int(re.search(r"VmRSS:\s+(\d+) kB", status)[1]) * 1024
    memory = process.ask("watch", runs=1)["memory"]
    assert memory["load"]["total_ns"] == loaded["load_ns"]
    return memory, resident


def part(moment: dict, owner: str) -> dict:
    return next(entry for entry in moment["parts"] if entry["owner"] == owner)


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_the_parts_are_the_whole(worker: Any, toy: Path, threads: int) -> None:
    memory, resident = watch_memory(worker, toy, f"--cpu_threads={threads}")
    assert memory["why_not"] == ""
    assert [moment["at"] for moment in memory["moments"]] == MOMENTS
    for moment in memory["moments"]:
        assert sum(entry["resident_bytes"] for entry in moment["parts"]) == moment["rss_bytes"]
        assert all(0 <= entry["resident_bytes"] <= entry["bytes"] for entry in moment["parts"])
    assert memory["moments"][0]["rss_bytes"] == pytest.approx(resident, rel=0.02)
    packed = sum(op["bytes"] for op in memory["operators"])
    assert [part(moment, "weights")["bytes"] for moment in memory["moments"]] == [packed] * 3
    assert part(memory["moments"][0], "workspace")["bytes"] == 0 < part(memory["moments"][1], "workspace")["bytes"]


def test_the_load_time_is_the_sum_of_its_parts(worker: Any, toy: Path) -> None:
    memory, _ = watch_memory(worker, toy)
    parts = {entry["part"]: entry["ns"] for entry in memory["load"]["parts"]}
    assert list(parts) == ["program", "plan", "graph", "create", "pack", "rest"]
    assert sum(parts.values()) == memory["load"]["total_ns"]
    assert min(parts[name] for name in ("program", "plan", "graph", "create", "rest")) > 0
    # On x86-64, XNNPACK's own functions pack the weights, which counts as creating.
    assert parts["pack"] == 0 or platform.machine() == "aarch64"


def test_planned_memory_is_what_the_program_plans(worker: Any, models: Path) -> None:
    """A program without a delegate: its tensors are all that is planned, and nothing is packed."""
    process = worker()
    process.ask("load", model=str(models / "portable_add.pte"), watch_memory=True)
    reply = process.ask("watch", runs=1)
    assert "no call of XNNPACK was seen" in reply["why_not"]
    (loaded, *_) = reply["memory"]["moments"]
    assert part(loaded, "planned")["bytes"] == 3 * 32  # three tensors of 24 bytes, each aligned to 16 bytes
    assert part(loaded, "weights")["bytes"] == 0 and reply["memory"]["operators"] == []


@pytest.mark.parametrize(("isa", "tile"), [("", 16), ("-avx512f", 16), ("-avx", 2)])
def test_packed_bytes_are_xnnpacks_formula(worker: Any, toy: Path, isa: str, tile: int) -> None:
    """XNNPACK's src/operators and src/packing.cc: the output channels, filled up to a whole number of tiles, each
    with its weights and a bias; and the whole to 64 bytes."""
    if isa == "-avx512f" and "avx512f" not in Path("/proc/cpuinfo").read_text():
        pytest.skip("this CPU has no avx512f")
    memory, _ = watch_memory(worker, toy, *([f"--isa={isa}"] if isa else []))
    largest = {op["name"]: op["largest"] for op in memory["operators"]}

    def packed(outputs: int, inputs: int) -> int:
        return math.ceil(math.ceil(outputs / tile) * tile * (inputs + 1) * 4 / 64) * 64

    assert largest["Convolution (NHWC, F32) IGEMM #2"] == packed(64, 9 * 32)
    assert largest["Convolution (NHWC, F32) IGEMM #3"] == packed(128, 9 * 64)
    assert largest["Fully Connected (NC, F32) GEMM #1"] == packed(256, 128)
    assert largest["Fully Connected (NC, F32) GEMM #2"] == packed(10, 256)


@pytest.mark.parametrize(("model", "copies"), [("one_linear_twice.pte", [-1, 0]), ("two_linears.pte", [-1, -1])])
def test_weights_that_are_packed_twice_are_found(worker: Any, models: Path, model: str, copies: list[int]) -> None:
    memory, _ = watch_memory(worker, models / model)
    assert [op["copy_of"] for op in memory["operators"]] == copies
    assert [op["delegate"] for op in memory["operators"]] == [0, 1]
    assert [op["largest"] for op in memory["operators"]] == [256 * (256 + 1) * 4] * 2


def delegate_option(folder: Path, key: str, value: str) -> list[str]:
    """Returns the arguments of a worker whose XNNPACK delegates have this option."""
    return [f"--load={library(folder, 'delegate_option.cc', KEY=json.dumps(key), VALUE=value)}"]


def test_delegates_that_share_are_told_from_those_that_do_not(worker: Any, models: Path, tmp_path: Path) -> None:
    """ExecuTorch gives the delegates of a program one workspace and no cache of weights, unless it is told otherwise."""
    model = models / "one_linear_twice.pte"

    def shared(*arguments: str) -> tuple[list[int], list[int], list[int]]:
        memory, _ = watch_memory(worker, model, *arguments)
        by_delegate = [[entry[key] for entry in memory["delegates"]] for key in ("workspace", "weights_cache")]
        return (*by_delegate, [op["largest"] for op in memory["operators"]])

    packed = 256 * (256 + 1) * 4
    assert shared() == ([0, 0], [-1, -1], [packed, packed])
    assert shared(*delegate_option(tmp_path, "workspace_sharing_mode", "0")) == ([0, 1], [-1, -1], [packed, packed])
    workspaces, caches, largest = shared(*delegate_option(tmp_path, "weight_cache_enabled", "true"))
    assert (workspaces, caches) == ([0, 0], [0, 0])
    assert max(largest) < packed  # the cache has them


def test_the_workspace_of_a_delegate_has_a_size(worker: Any, toy: Path) -> None:
    memory, _ = watch_memory(worker, toy)
    (entry,) = memory["delegates"]
    assert 0 < entry["workspace_bytes"] <= part(memory["moments"][-1], "workspace")["bytes"]


def test_every_call_is_put_back(worker: Any, toy: Path) -> None:
    process = worker()
    process.ask("load", model=str(toy))
    before = slots(process, ALLOCATORS)
    assert {"malloc", "free", "posix_memalign"} & set(before)
    process.ask("load", model=str(toy), watch_memory=True)
    assert all(address != before[name] for name, address in slots(process, ALLOCATORS).items())
    assert process.ask("watch", runs=1)["memory"]["moments"]
    assert slots(process, ALLOCATORS) == before
    process.ask("load", model=str(toy), watch_memory=True)
    process.ask("load", model=str(toy))
    assert slots(process, ALLOCATORS) == before
    assert "memory" not in process.ask("watch", runs=1)
