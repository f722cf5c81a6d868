"""The category table contains every operator name in ExecuTorch's own libraries."""

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


def libraries() -> Path:
    executorch = pytest.importorskip("executorch", reason="the executorch wheel is not installed")
    return Path(next(iter(executorch.__path__))) / "lib"


def program() -> Path:
    built = [Path(path) for path in [os.environ.get("ETPROF_CATEGORIZE", "")] if path]
    built += sorted((ROOT / "build").glob("*/tests/tools/etprof_categorize"), key=lambda path: -path.stat().st_mtime)
    if not built:
        pytest.skip("etprof_categorize is not built; script/test builds it")
    return built[0]


def texts(library: str, pattern: bytes) -> set[str]:
    """Returns the NUL-terminated texts of a library that match a pattern completely."""
    found = sorted(libraries().glob(f"{library}.*"))
    assert found, f"the wheel has no {library}"
    data = found[0].read_bytes()
    return {match.decode() for match in re.findall(rb"(?<![\x20-\x7e])" + pattern + rb"(?=\0)", data)}


def categories(names: set[str]) -> dict[str, tuple[str, str, bool]]:
    completed = subprocess.run(
        [program()], input="\n".join(sorted(names)) + "\n", capture_output=True, text=True, check=True
    )
    rows = (line.split("\t") for line in completed.stdout.splitlines())
    return {name: (category, group, known == "known") for name, category, group, known, *_ in rows}


def xnnpack_operators() -> set[str]:
    # Results of xnn_operator_type_to_string, xnn_unary_operator_to_string, and xnn_binary_operator_to_string.
    names = texts("libexecutorch_backend_xnnpack", rb"[A-Z][A-Za-z0-9 -]+ \([A-Z0-9, ]+\)")
    names |= texts("libexecutorch_backend_xnnpack", rb"Invalid (?:Unary|Binary) Op")
    # The linker merges a text into another one with the same end, so these texts have no separate start.
    for name in list(names):
        for end in ("GELU (NC)", "ELU (NC)", "Square Root (NC)"):
            if name.endswith(end):
                names.add(end)
        if name.startswith("Dynamic "):
            names.add(name.removeprefix("Dynamic "))
    return names


def kernel_operators() -> set[str]:
    name = rb"[a-z][a-z0-9_]*::[a-z_][A-Za-z0-9_]*(?:\.[A-Za-z0-9_]+)?"
    names = texts("libexecutorch_kernels_optimized", name)
    names |= texts("libexecutorch_kernels_quantized", name)
    names |= texts("libexecutorch", name)
    # "vector::reserve" and the like come from exceptions of the C++ library.
    return {name for name in names if not name.startswith(("vector::", "unordered_map::", "basic_", "std::", "map::"))}


def test_every_operator_type_of_xnnpack_is_in_the_table():
    names = xnnpack_operators()
    assert len(names) > 120, "the extraction of names from the library has stopped working"
    unknown = sorted(name for name, (_, _, known) in categories(names).items() if not known)
    assert unknown == []


def test_every_kernel_of_the_wheel_is_in_the_table():
    names = kernel_operators()
    assert len(names) > 200, "the extraction of names from the libraries has stopped working"
    unknown = sorted(name for name, (_, _, known) in categories(names).items() if not known)
    assert unknown == []


def test_the_microkernel_kind_distinguishes_convolutions():
    kinds = {
        "Convolution (NHWC, F32) IGEMM #1": "CONV_STANDARD",
        "Convolution (NHWC, F32) GEMM #1": "CONV_POINTWISE",
        "Convolution (NHWC, F32) DWConv #1": "CONV_DEPTHWISE",
        "Deconvolution (NHWC, F32) IGEMM #1": "CONV_TRANSPOSED",
    }
    found = categories(set(kinds))
    assert {name: found[name][0] for name in kinds} == kinds
