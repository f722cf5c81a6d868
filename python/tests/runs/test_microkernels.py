"""etprof parses the name of every microkernel in ExecuTorch's own libraries."""

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
# A microkernel of XNNPACK, or a function of KleidiAI that contains the name of the kernel.
NAME = re.compile(rb"(?<![A-Za-z0-9_])(?:xnn_[a-z0-9_]+_ukernel(?:_[a-z0-9]+)*__[a-z0-9_]+|kai_[a-z0-9_]+)(?=\0)")
# Functions that are not microkernels: shared helpers, and functions that return the tile of a microkernel.
HELPERS = re.compile(r"kai_(commit_za|get_sme_vector_length\w*)$")
QUESTION = re.compile(r"(xnn_\w+)_get_[mn]r$")


def program() -> Path:
    built = [Path(path) for path in [os.environ.get("ETPROF_MICROKERNELS", "")] if path]
    built += sorted((ROOT / "build").glob("*/tests/tools/etprof_microkernels"), key=lambda path: -path.stat().st_mtime)
    if not built:
        pytest.skip("etprof_microkernels is not built; script/test builds it")
    return built[0]


def libraries() -> list[Path]:
    """Returns the libraries of the installed wheel, and those that `etprof build` and the tests fetched for other platforms.

    Only Linux platforms: macOS stores exported names in a trie.
    """
    executorch = pytest.importorskip("executorch", reason="the executorch wheel is not installed")
    folders = [Path(next(iter(executorch.__path__))) / "lib", *sorted((ROOT / "build" / "bundles").glob("*"))]
    folders += sorted((ROOT / "build" / "wheels").glob("*/executorch/lib"))
    return [library for folder in folders for library in folder.glob("libexecutorch_backend_xnnpack.so")]


def names(library: Path) -> set[str]:
    found = {match.decode() for match in NAME.findall(library.read_bytes())}
    found = {QUESTION.sub(r"\1", name) for name in found}
    return {name for name in found if not HELPERS.match(name)}


def parse_names(microkernels: set[str]) -> dict[str, list[str]]:
    completed = subprocess.run(
        [program()], input="\n".join(sorted(microkernels)) + "\n", capture_output=True, text=True, check=True
    )
    rows = [line.split("\t") for line in completed.stdout.splitlines()]
    return {row[0]: row[1:] for row in rows}


def test_every_name_in_the_libraries():
    found = libraries()
    assert found
    for library in found:
        found_names = names(library)
        # The x86-64 library has few names. The others also export KleidiAI's functions.
        assert len(found_names) >= 50, library
        rows = parse_names(found_names)
        assert sorted(name for name, row in rows.items() if not row) == [], library
        for name, (family, operation, data_types, shape, isa, variant) in rows.items():
            assert family and operation and data_types, name
            # Every word of the end of the name is in one of the parts.
            if name.startswith("xnn_"):
                tail = name.split("__", 1)[1].split("_")
                parts = "_".join([shape, isa, variant]).split("_")
                missing_words = [
                    word for word in tail if word not in [*parts, "asm"] and not re.match(r"acc\d|u\d", word)
                ]
                assert missing_words == [], name
            assert isa or "pack" in operation, name
