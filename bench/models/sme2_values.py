"""Prints bench/results/models/sme2_values.md: what SME2 does to the values of each layer, in fp16 and int8, under QEMU.

    PYTHONPATH=python python bench/models/sme2_values.py FOLDER > bench/results/models/sme2_values.md

Exports go to FOLDER. Needs etprof (ETPROF), its bundle (`etprof build --target linux-aarch64`), and script/fetch-qemu.
"""

from __future__ import annotations

import sys
from pathlib import Path

from etprof.export import Request, export_model
from etprof.exporting import device_operators

MODEL = "toy_cnn"
MASKS = {"SME2": "", "NEON": "-sme,-sme2"}
_TEXT = """# SME2's values, layer by layer

toy_cnn on an emulated CPU (QEMU), with SME2 and with `-sme,-sme2`: each operator of the unmodified
program, read in place. *fp16* is against exact arithmetic on the same fp16 weights and inputs
(fp32, in PyTorch): higher is nearer. *int8* is against PyTorch's int8. An operator's value has the
error of those before it.

| operator | layer | fp16, SME2 | fp16, NEON | int8, SME2 | int8, NEON |
| --- | --- | --- | --- | --- | --- |"""


def read_values(pte: Path, mask: str, exact: bool) -> list[device_operators.DeviceOperator]:
    """Returns the operators with their values under a mask."""
    build = Path(__file__).resolve().parents[2] / "build"
    config = {
        "runner_path": str(build / "bundles" / "linux-aarch64" / "etprof-runner"),
        "exec_wrapper": [str(build / "tools" / "qemu-aarch64"), "-cpu", "max"],
        "runs": 1,
        "warmup": 1,
        "experiments": [{"name": "device", "threads": 1, "isa": mask}],
    }
    return device_operators.compare(pte, "forward", 0.0, config, exact=exact)


def kind(name: str) -> str:
    """Returns an operator's name without the type, which SME2 changes."""
    return name.partition(" (")[0]


def format_cell(operator: device_operators.DeviceOperator | None) -> str:
    """Formats the SQNR of an operator."""
    if operator is None or operator.note:
        return ""
    return "identical" if operator.sqnr_db is None else f"{operator.sqnr_db:.1f} dB"


def main() -> None:
    """Prints the page."""
    folder = Path(sys.argv[1])
    columns: dict[str, dict[tuple[str, str], device_operators.DeviceOperator]] = {}
    for dtype, request in {"fp16": {"dtype": "fp16"}, "int8": {"quantize": "static"}}.items():
        pte = export_model(Request(MODEL, outdir=folder, check=False, **request)).paths[0]
        for name, mask in MASKS.items():
            operators = read_values(pte, mask, exact=dtype == "fp16")
            columns[f"{dtype}, {name}"] = {
                (kind(operator.operator), operator.module): operator for operator in operators if not operator.note
            }
    print(_TEXT)
    for key in columns["fp16, NEON"]:
        ratios = " | ".join(format_cell(column.get(key)) for column in columns.values())
        print(f"| {key[0]} | {key[1]} | {ratios} |")
    print("\nReproduce: `PYTHONPATH=python python bench/models/sme2_values.py FOLDER`")


if __name__ == "__main__":
    main()
