"""`--instructions` in QEMU: kinds of aarch64's instructions, against code whose instructions are known one by one."""

from __future__ import annotations

import csv
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from bundle_bench import ROOT, Bundle, call, run_masked, skip

PLUGIN = ROOT / "build" / "release" / "etprof-qemu-counts.so"
KINDS = [
    "scalar_instructions",
    "neon_instructions",
    "dot_product_instructions",
    "i8mm_instructions",
    "bf16_instructions",
    "sve_instructions",
    "sme_instructions",
    "outer_product_instructions",
]
# 7 instructions 1000 times, then 3 instructions 500 times in streaming mode, and the instructions around them.
KNOWN = r"""
#include <cstdio>

#include "protocol/emulator_counts.h"

using etprof::protocol::EmulatorCounts;

__attribute__((noinline)) void Ask(EmulatorCounts& counts) {
  __asm__ volatile("mov x0, %0; .balign 32; ror x12, x12, #3; ror x12, x12, #13; ror x12, x12, #51; ror x12, x12, #61;"
                   "str xzr, [x0]" : : "r"(&counts) : "x0", "x12", "memory");
}
__attribute__((noinline)) void Nothing() { __asm__ volatile(""); }
__attribute__((noinline)) void Known() {
  __asm__ volatile(
      ".arch armv9-a+sme+i8mm+bf16\n mov x9, #1000\n"
      "1: fmla v0.4s, v1.4s, v2.4s\n sdot v0.4s, v1.16b, v2.16b\n smmla v0.4s, v1.16b, v2.16b\n"
      "bfmmla v0.4s, v1.8h, v2.8h\n add z0.s, z1.s, z2.s\n subs x9, x9, #1\n b.ne 1b\n"
      "smstart\n ptrue p0.s\n mov x9, #500\n 2: fmopa za0.s, p0/m, p0/m, z0.s, z1.s\n subs x9, x9, #1\n b.ne 2b\n"
      "smstop\n" : : : "x9", "cc", "memory", "v0", "v1", "v2", "v8", "v9", "v10", "v11", "v12", "v13", "v14", "v15");
}
int main() {
  EmulatorCounts a, b, c;
  Ask(a); Nothing(); Ask(b); Known(); Ask(c);
  std::printf("%d", a.answer == EmulatorCounts::kAnswer);
  for (std::size_t i = 0; i < a.counts.size(); ++i)
    std::printf(" %lld", static_cast<long long>((c.counts[i] - b.counts[i]) - (b.counts[i] - a.counts[i])));
}
"""


@pytest.fixture(scope="session")
def counting_qemu(build_lock: None) -> list[str]:  # noqa: ARG001
    fetched = call(ROOT / "script" / "fetch-qemu", "--plugins")
    if fetched.returncode != 0:
        skip(fetched.stderr.strip().splitlines()[-1])
    return [str(ROOT / "build" / "tools" / "qemu-plugins" / "qemu-aarch64"), "-cpu", "max"]


def test_the_plugin_counts_what_is_executed(counting_qemu: list[str], tmp_path: Path) -> None:
    compiler = shutil.which("aarch64-linux-gnu-g++")
    if not compiler:
        skip("aarch64-linux-gnu-g++ is not installed: script/bootstrap --dev")
    source, executable = tmp_path / "known.cc", tmp_path / "known"
    source.write_text(KNOWN)
    command = [compiler, "-std=c++20", "-O1", "-static", f"-I{ROOT / 'src'}", source, "-o", executable]
    subprocess.run(command, check=True, capture_output=True)
    emulator, *arguments = counting_qemu
    counts = subprocess.run(
        [emulator, "-plugin", PLUGIN, *arguments, executable], check=True, capture_output=True, text=True
    ).stdout.split()
    assert counts[0] == "1"
    total, *kinds, switches = map(int, counts[1:])
    counts_by_kind = dict(zip(KINDS, kinds, strict=True))
    assert sum(kinds) == total
    vectors = {
        kind: count
        for kind, count in counts_by_kind.items()
        if kind not in ("scalar_instructions", "neon_instructions")
    }
    assert vectors == {
        "dot_product_instructions": 1000,
        "i8mm_instructions": 1000,
        "bf16_instructions": 1000,
        "sve_instructions": 1001,  # with ptrue
        "sme_instructions": 2,
        "outer_product_instructions": 500,
    }
    assert switches == 2
    # Known() also saves and restores v8 to v15, and has a few other instructions.
    assert 1000 <= counts_by_kind["neon_instructions"] <= 1020
    assert 2000 + 1000 + 2 <= counts_by_kind["scalar_instructions"] <= 2000 + 1000 + 30
    # Without the plugin, the request is not answered.
    assert (
        subprocess.run([*counting_qemu, executable], check=True, capture_output=True, text=True).stdout.split()[0]
        == "0"
    )


def count_instructions(bundle: Bundle, qemu: list[str], pte: Path, folder: Path) -> dict[str, Any]:
    return run_masked(bundle, qemu, pte, folder, {"sme": "", "neon": "-sme"}, "--instructions")


@pytest.mark.parametrize("dtype", ["fp32", "int8"])
def test_what_of_a_model_runs_on_sme(
    bundle: Bundle, counting_qemu: list[str], export: Any, tmp_path: Path, dtype: str
) -> None:
    summary = count_instructions(bundle, counting_qemu, export(dtype), tmp_path / "run")
    assert not [warning for warning in summary["warnings"] if "instructions" in warning]
    outer = {}
    for experiment in summary["experiments"]:
        rows = {row["key"]: row for row in experiment["instructions"]}
        (method,) = [row for key, row in rows.items() if "/method/" in key]
        for row in rows.values():
            assert row["source"] == "emulator"
            assert sum(row[kind] for kind in KINDS) == pytest.approx(row["instructions"], abs=0.01)
        operators = [row for row in rows.values() if row is not method]
        assert {row["key"] for row in experiment["operators"] if "/backend/" in row["key"]} <= set(rows)
        # The counts of operators repeat exactly, and the total repeats within the documented 0.02%.
        assert all(row["lowest"] == row["highest"] for row in operators)
        assert method["highest"] - method["lowest"] <= 2e-4 * method["instructions"]
        assert sum(row["instructions"] for row in operators) < method["instructions"]
        outer[experiment["name"]] = {row["name"] for row in operators if row["outer_product_instructions"] > 0}
        with (tmp_path / "run" / experiment["name"]).glob("*_instructions.csv").__next__().open() as file:
            assert {row["key"] for row in csv.DictReader(file)} == set(rows)
    assert outer["neon"] == set()
    if dtype == "fp32":
        assert outer["sme"]
        assert all(name.startswith(("Convolution", "Fully Connected", "Batch Matrix")) for name in outer["sme"])
