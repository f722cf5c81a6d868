"""The comparison of two programs that differ in one known way reports this change and no other."""

import csv
import json
import os
import subprocess
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import jsonschema
import pytest

REPOSITORY = Path(__file__).parents[3]
ETPROF = Path(os.environ.get("ETPROF", REPOSITORY / "build" / "etprof"))
SCHEMA = REPOSITORY / "docs" / "schema" / "analysis_summary.schema.json"
CONVOLUTIONS = [
    "stem",
    *(f"layer1.{block}.conv{n}" for block in (0, 1) for n in (1, 2)),
    "down",
    "layer2.conv1",
    "layer2.conv2",
]


@dataclass(frozen=True)
class Pair:
    """Two variants, or two forms of one, and the text of the differences in the order of the program."""

    baseline: str
    candidate: str
    changes: tuple[str, ...] | Callable[[list[str]], bool]


def changes_only_type(changes: list[str]) -> bool:
    return len(changes) == 24 and all(": type fp32 → fp16" in change for change in changes)


def changes_for_quantization(changes: list[str]) -> bool:
    """Returns whether all operators have another type, with conversions where integers begin and end."""
    inserted = [change for change in changes if change.startswith("+ ")]
    retyped = [change for change in changes if ": type fp32 → qint8" in change]
    return len(inserted) + len(retyped) == len(changes) and all(change.endswith(" Convert") for change in inserted)


def changes_to_portable(changes: list[str]) -> bool:
    """Returns whether the counterparts of all convolutions and products are portable kernels."""
    moved = [change for change in changes if change.endswith(": delegate XnnpackBackend → portable")]
    expected = [
        *(f"{path} Conv2d" for path in CONVOLUTIONS),
        "fc1 Linear",
        "fc2 Linear",
        "last Softmax",
        "pool MaxPool2d",
    ]
    return all(any(change.startswith(name) for change in moved) for name in expected)


MINUS = "\N{MINUS SIGN}"
PAIRS = {
    "other weights": Pair("Base", "OtherWeights", ()),
    "inserted": Pair("Base", "InsertedConv", ("+ layer1.2 Conv2d 8→8 3x3",)),
    "removed": Pair("InsertedConv", "Base", (f"{MINUS} layer1.2 Conv2d 8→8 3x3",)),
    "inserted between, what follows renumbered": Pair("Base", "InsertedBetween", ("+ layer1.1 Conv2d 8→8 3x3",)),
    "inserted between, all weights other ones": Pair("Chain", "InsertedAmongOthers", ("+ down.0 Conv2d 8→8 3x3",)),
    "inserted activation": Pair("NoActivation", "Base", ("+ act HardSwish",)),
    "fused": Pair("NoActivation", "Relu", ("down Conv2d 8→16 3x3: fused activation none → ReLU",)),
    "swapped activation": Pair("Base", "Gelu", (f"{MINUS} act HardSwish", "+ act Gelu")),
    "wider": Pair(
        "Base",
        "Wider",
        (
            "fc1 Linear 16→48: was Linear 16→32",
            "Sigmoid: output 1x32 → 1x48",
            "fc2 Linear 48→10: was Linear 32→10",
        ),
    ),
    "dilated": Pair("Undilated", "Dilated", ("layer1.1 Conv2d 8→8 3x3: settings padding 1 → padding 2, dilation 2",)),
    "depthwise": Pair(
        "Undilated",
        "Depthwise",
        ("layer1.1 Conv2d 8→8 3x3 depthwise: was Conv2d 8→8 3x3, settings padding 1 → padding 1, groups 8",),
    ),
    "wrapper": Pair("Base", "Wrapped", ()),
    "wrappers with an operator of their own": Pair("Base", "WrappedTwice", ("+ after Tanh",)),
    "reordered": Pair("Base", "PoolFirst", ("act HardSwish: moved, output 1x4x4x16 → 1x2x2x16",)),
    "reordered branches": Pair("LeftFirst", "RightFirst", ("right Conv2d 3→8 1x1: moved",)),
    "repeated block": Pair(
        "ThreeBlocks",
        "FourBlocks",
        (
            "+ layer1.1.conv1 Conv2d 8→8 3x3",
            "+ layer1.1.act HardSwish",
            "+ layer1.1.conv2 Conv2d 8→8 3x3",
            "+ layer1.1 Add",
        ),
    ),
    "removed block": Pair(
        "FourBlocks",
        "ThreeBlocks",
        (
            f"{MINUS} layer1.1.conv1 Conv2d 8→8 3x3",
            f"{MINUS} layer1.1.act HardSwish",
            f"{MINUS} layer1.1.conv2 Conv2d 8→8 3x3",
            f"{MINUS} layer1.1 Add",
        ),
    ),
    "removed residual": Pair("Base", "NoResidual", (f"{MINUS} layer2 Add",)),
    "divided by a portable kernel": Pair(
        "Base", "Split", ("+ pool Transpose", "+ layer2.0 Cumsum", "+ layer2.1.conv1 Transpose")
    ),
    "other names": Pair("Base", "OtherNames", ()),
    "other type": Pair("Base", "Base fp16", changes_only_type),
    "quantized": Pair("Base", "Base int8", changes_for_quantization),
    "other delegate": Pair("Base", "Base portable", changes_to_portable),
}
OTHER_WEIGHTS = {
    "other weights",
    "wider",
    "depthwise",
    "inserted between, what follows renumbered",
    "inserted between, all weights other ones",
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, variant: Callable[[str], Path]) -> Path:
    """A results directory with each variant, measured shortly, because the tests ignore times."""
    folder = tmp_path_factory.mktemp("pairs")
    experiments = [
        {"name": side.replace(" ", "_"), "model": str(variant(side))}
        for side in sorted({side for pair in PAIRS.values() for side in (pair.baseline, pair.candidate)})
    ]
    config = {
        "experiments": experiments,
        "launches": 2,
        "rounds": 1,
        "runs": 2,
        "warmup": 1,
        "peaks": False,
        "output_root": str(folder / "run"),
    }
    (folder / "config.json").write_text(json.dumps(config))
    subprocess.run([ETPROF, "run", folder / "config.json"], check=True, capture_output=True)
    return folder / "run"


@pytest.fixture(scope="module")
def compared(run: Path) -> Callable[[Pair], dict]:
    def compare(pair: Pair) -> dict:
        variants = [run / side.replace(" ", "_") for side in (pair.baseline, pair.candidate)]
        completed = subprocess.run([ETPROF, "compare", *variants, "--json"], check=True, capture_output=True, text=True)
        document = json.loads(completed.stdout)
        jsonschema.validate(document, json.loads(SCHEMA.read_text()))
        (comparison,) = document["comparisons"]
        return comparison

    return compare


@pytest.mark.parametrize("name", PAIRS)
def test_the_match_names_exactly_the_change(compared: Callable[[Pair], dict], name: str) -> None:
    pair = PAIRS[name]
    comparison = compared(pair)
    changes = [row["change_text"] for row in comparison["operators"] if row.get("change_text")]
    if callable(pair.changes):
        assert pair.changes(changes), changes
    else:
        assert sorted(changes) == sorted(pair.changes)


# Exports in another type or for another backend also differ in nodes that do not run.
@pytest.mark.parametrize("name", [name for name, pair in PAIRS.items() if not callable(pair.changes)])
def test_diff_names_exactly_the_change(run: Path, variant: Callable[[str], Path], name: str) -> None:
    pair = PAIRS[name]
    files = [variant(side) for side in (pair.baseline, pair.candidate)]
    completed = subprocess.run(
        [ETPROF, "diff", *files, "--run", run, "--json"], check=True, capture_output=True, text=True
    )
    tables = {
        part["table"]["id"]: part["table"]["rows"]
        for section in json.loads(completed.stdout)["sections"]
        for part in section["parts"]
        if "table" in part
    }
    rows = [row for row in tables["operators"] if row["role"] == "part"]
    cells = [row["cells"][0]["text"] for row in rows]
    unchanged = [cell for cell in cells if cell == "Unchanged operators and overhead"]
    assert sorted(cell for cell in cells if cell not in unchanged) == sorted(pair.changes)
    assert len(unchanged) == (1 if pair.changes else 0)
    assert bool(tables["weights"]) == (name in OTHER_WEIGHTS)


def test_layers_are_compared_without_the_prefix_of_a_wrapper(run: Path) -> None:
    command = [ETPROF, "compare", run / "Base", run / "Wrapped", "--csv=comparison"]
    completed = subprocess.run(command, check=True, capture_output=True, text=True)
    layers = [row for row in csv.DictReader(completed.stdout.splitlines()) if row["what"] == "layer"]
    assert {row["name"] for row in layers} >= {"", "module", "module.layer1.0.conv1", "module.last"}
    for row in layers:
        assert float(row["baseline_ms"]) > 0 and float(row["candidate_ms"]) > 0, row


@pytest.mark.parametrize("name", PAIRS)
def test_every_delta_adds_up(compared: Callable[[Pair], dict], name: str) -> None:
    comparison = compared(PAIRS[name])
    for side in ("baseline_total_ns", "candidate_total_ns"):
        assert sum(row[side] for row in comparison["operators"]) == comparison["whole"][side]


def test_a_gate_holds_an_operator_against_its_counterpart_alone(tmp_path: Path, variant: Callable[[str], Path]) -> None:
    """An inserted operator has no counterpart. The gate reports it, and neither it nor its successors fail a limit."""
    variants = [variant(side) for side in ("Base", "InsertedConv")]
    junit = tmp_path / "junit.xml"
    # These limits never fail, since few launches are inconclusive.
    limits = ["--max-slowdown", "100000%", "--max-operator-slowdown", "100000%"]
    short = ["--launches", "2", "--runs", "2", "--budget", "5", "--output-root", tmp_path / "out"]
    command = [ETPROF, "check", *variants, *limits, *short, "--junit", junit, "--json"]
    completed = subprocess.run(command, capture_output=True, text=True)
    assert completed.returncode in (0, 5), completed.stderr  # 5: too few launches, or other processes
    (pair,) = json.loads(completed.stdout)["pairs"]
    inserted = [name.partition(" (")[0] for name in pair["only_in_candidate"]]
    assert (pair["only_in_baseline"], inserted) == ([], ["layer1.2 Conv2d 8→8 3x3"])
    tested = [item["name"] for item in pair["checks"] if item["check"] == "operator"]
    assert len(tested) == len(set(tested)), "each operator once"
    cases = [case.get("name", "") for case in ElementTree.parse(junit).iter("testcase")]  # noqa: S314 - ours
    assert cases and not any("layer1.2" in case for case in [*cases, *tested])
