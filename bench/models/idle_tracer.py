"""What an idle event tracer costs each operator of XNNPACK.

The same graph of small operators runs alternately with and without the flag with which ExecuTorch 1.5 creates every graph.

    .venv/bin/python bench/models/idle_tracer.py [--out FILE]
"""

from __future__ import annotations

import argparse
import ctypes
import importlib.util
import os
import platform
import statistics
import sys
import time
from pathlib import Path

OPERATORS, RUNS = 200, 20_000
BASIC_PROFILING = 8  # XNN_FLAG_BASIC_PROFILING


class ExternalValue(ctypes.Structure):
    """xnn_external_value."""

    _fields_ = (("id", ctypes.c_uint32), ("data", ctypes.c_void_p))


def xnnpack() -> ctypes.CDLL:
    """Loads the XNNPACK of the installed ExecuTorch."""
    folder = Path(importlib.util.find_spec("executorch").submodule_search_locations[0]) / "lib"
    for name in ("libexecutorch_threadpool.so", "libexecutorch.so"):
        ctypes.CDLL(str(folder / name), mode=ctypes.RTLD_GLOBAL)
    return ctypes.CDLL(str(folder / "libexecutorch_backend_xnnpack.so"))


def require_success(status: int) -> None:
    """Ends the bench if XNNPACK refused something."""
    if status != 0:
        sys.exit(f"XNNPACK failed with {status}")


def make_runtime(xnn: ctypes.CDLL, flags: int) -> tuple[ctypes.c_void_p, list]:
    """Makes a runtime of OPERATORS chained operators with 16 elements each. Returns also the objects that it refers to."""
    graph, workspace, runtime = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    unsigned, size, byref = ctypes.c_uint32, ctypes.c_size_t, ctypes.byref
    require_success(xnn.xnn_create_subgraph(unsigned(2), unsigned(0), byref(graph)))
    shape = (size * 1)(16)

    def value(external: int, kind: int) -> unsigned:
        value_id = unsigned()
        definition = (unsigned(external), unsigned(kind), byref(value_id))
        require_success(xnn.xnn_define_tensor_value(graph, 1, size(1), shape, None, *definition))
        return value_id

    source = value(0, 1)
    for index in range(OPERATORS):
        target = value(1, 2) if index == OPERATORS - 1 else value(0xFFFFFFFF, 0)
        require_success(xnn.xnn_define_unary(graph, 1 if index % 2 else 16, None, source, target, unsigned(0)))
        source = target
    require_success(xnn.xnn_create_workspace(byref(workspace)))
    require_success(xnn.xnn_create_runtime_v4(graph, None, workspace, None, unsigned(flags), byref(runtime)))
    require_success(xnn.xnn_reshape_runtime(runtime))
    buffers = [(ctypes.c_float * 64)() for _ in range(2)]
    values = (ExternalValue * 2)(*((i, ctypes.addressof(buffer)) for i, buffer in enumerate(buffers)))
    require_success(xnn.xnn_setup_runtime_v2(runtime, size(2), values))
    return runtime, [graph, workspace, buffers, values]


def idle_tracer_ns() -> list[float]:
    """Returns the cost of the flag in ns per operator: one estimate per tenth of the runs."""
    xnn = xnnpack()
    require_success(xnn.xnn_initialize(None))
    runtimes = [make_runtime(xnn, flags) for flags in (0, BASIC_PROFILING)]
    times: list[list[int]] = [[], []]
    for run in range(RUNS):
        for index in (0, 1) if run % 2 else (1, 0):
            start = time.perf_counter_ns()
            xnn.xnn_invoke_runtime(runtimes[index][0])
            times[index].append(time.perf_counter_ns() - start)
    tenth = RUNS // 10
    parts = [[durations[i : i + tenth] for durations in times] for i in range(0, RUNS, tenth)]
    return [(statistics.median(on) - statistics.median(off)) / OPERATORS for off, on in parts]


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path)
    settings = parser.parse_args()
    before = os.getloadavg()[0]
    costs = idle_tracer_ns()
    text = (
        "# What an idle event tracer costs\n\n"
        f"Made by `bench/models/idle_tracer.py` in one run: {platform.system()} {platform.machine()}, {os.cpu_count()} CPUs, one thread.\n"
        f"The load average was {before:.1f}.\n\n"
        "ExecuTorch 1.5 creates every XNNPACK graph with the flag for profiling, 1.4 does not. While nothing\n"
        f"is traced, the flag costs each operator {statistics.median(costs):.1f} ns ({min(costs):.1f} to {max(costs):.1f} in ten parts of "
        f"{RUNS // 10:,} runs of\n{OPERATORS} operators each).\n"
    )
    if settings.out:
        settings.out.write_text(text)
    else:
        print(text)


if __name__ == "__main__":
    main()
