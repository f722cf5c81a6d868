"""`--values`: what operators wrote in two variants, read in place."""

import csv
import json
import struct
import subprocess
from pathlib import Path
from typing import Any

import pytest
from program import ROOT
from runner_bench import DATA, RUNNER, library

ETPROF = ROOT / "build" / "etprof"
ELEMENTS = 64


def measure(
    folder: Path, model: Path, experiments: dict[str, dict[str, Any]], *, values: bool = True
) -> dict[str, list[dict]]:
    """Measures, and returns the rows of values.csv by candidate. The first experiment is the baseline of all others."""
    baseline, *candidates = experiments
    pairs = [{"baseline": {"experiment": baseline}, "candidate": {"experiment": name}} for name in candidates]
    config = {
        "model": str(model),
        "output_root": str(folder / "out"),
        "runner_path": str(RUNNER),
        "launches": 2,
        "rounds": 1,
        "runs": 2,
        "peaks": False,
        "inputs": "ones",
        "experiments": [{"name": name, **keys} for name, keys in experiments.items()],
        "analysis": {"compare_pairs": pairs},
    }
    path = folder / "config.json"
    path.write_text(json.dumps(config))
    completed = subprocess.run(
        [ETPROF, "run", path, *(["--values"] if values else [])],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert completed.returncode == 0, completed.stderr
    rows: dict[str, list[dict]] = {name: [] for name in candidates}
    if (folder / "out" / "values.csv").exists():
        for row in csv.DictReader((folder / "out" / "values.csv").open()):
            rows[row["candidate"]].append(row)
    return rows


def warnings(folder: Path, name: str) -> list[str]:
    results = json.loads((folder / "out" / "manifest.json").read_text())["results"]
    (result,) = [experiment for experiment in results if experiment["experiment"] == name]
    return [warning for warning in result["warnings"] if warning.startswith("values: ")]


@pytest.fixture(scope="module")
def flipped(runner: Path, models: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, list[dict]]]:  # noqa: ARG001
    """Measures the model `masked` unchanged, again, and with one flipped bit in an input of an operator."""
    folder = tmp_path_factory.mktemp("values")
    preload = str(library(folder, "flip_bit.cc"))

    def flip(operator: int) -> dict[str, Any]:
        return {"env": {"LD_PRELOAD": preload, "FLIP_OPERATOR": str(operator), "FLIP_ELEMENTS": str(ELEMENTS)}}

    experiments = {"as_it_is": {}, "again": {}, "product": flip(0), "larger": flip(1), "none": flip(99)}
    return folder, measure(folder, models / "masked.pte", experiments)


def test_the_same_is_identical_without_a_word(flipped):
    folder, rows = flipped
    for name in ("again", "none"):
        assert [row["state"] for row in rows[name]] == ["identical"] * 3
        assert all(row["sqnr_db"] == row["note"] == "" for row in rows[name])
    assert warnings(folder, "as_it_is") == warnings(folder, "again") == []


def test_one_flipped_bit_is_named_first_and_alone(flipped):
    folder, rows = flipped
    assert [(row["name"].split()[0], row["state"]) for row in rows["product"]] == [
        ("Multiply", "different"),
        ("Maximum", "identical"),
        ("Add", "identical"),
    ]
    # x is 1 throughout, so the product is the factors: the first one is 0.5, and bit 20 is an eighth of it.
    assert float(rows["product"][0]["largest_difference"]) == pytest.approx(0.0625)
    assert int(rows["product"][0]["elements"]) == ELEMENTS
    assert [row["state"] for row in rows["larger"]] == ["identical", "different", "different"]
    screen = subprocess.run(
        [ETPROF, "analyze", folder / "out", "--by", "values"], capture_output=True, text=True, check=True
    ).stdout
    assert "The values of 1 of 3 operators differ. The first is Multiply" in screen
    assert "The values of all 3 operators are bit-identical." in screen


def test_portable_kernels_between_delegates_are_read_too(runner: Path, models: Path, tmp_path: Path):  # noqa: ARG001
    rows = measure(tmp_path, models / "several_delegates.pte", {"a": {"threads": [1]}, "b": {"threads": [1]}})["b"]
    assert measure(tmp_path, models / "several_delegates.pte", {"a": {}, "b": {}}, values=False) == {"b": []}
    kinds = {row["key"].split("/")[2] for row in rows}
    assert kinds == {"kernel", "backend"}
    assert {row["state"] for row in rows} == {"identical"}


def test_operators_whose_shapes_change_are_said_not_to_be_read(runner: Path, models: Path, tmp_path: Path):  # noqa: ARG001
    rows = measure(tmp_path, models / "dynamic.pte", {"a": {}, "b": {}})["b"]
    assert rows
    for row in rows:
        if "/backend/" in row["key"]:
            assert (row["state"], row["note"]) == ("not read", "its shape changes at run time")
        else:
            assert row["state"] == "identical"


def test_values_without_a_variant_are_left_as_tensors(runner: Path, tmp_path: Path):  # noqa: ARG001
    assert measure(tmp_path, DATA / "toy_cnn.pte", {"a": {}}) == {}
    assert not (tmp_path / "out" / "values.csv").exists()
    (path,) = (tmp_path / "out").rglob("*_values.safetensors")
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    values = json.loads(header["__metadata__"]["values"])
    assert [value["key"] for value in values] == [f"forward/0/backend/{i}" for i in range(len(values))]
    last = values[-1]
    assert last["name"].startswith("Softmax") and last["note"] == "" and last["scale"] is None
    tensor = header[last["tensor"]]
    # One image of ten probabilities.
    assert (tensor["dtype"], tensor["shape"], last["shape"]) == ("F32", [10], [1, 10])
    begin, end = (8 + length + offset for offset in tensor["data_offsets"])
    assert sum(struct.unpack("<10f", data[begin:end])) == pytest.approx(1, abs=1e-5)


def test_the_worker_reads_the_outputs_bytes(runner: Path, worker: Any, toy: Path, tmp_path: Path):  # noqa: ARG001
    """The last operator's value is the program's output, as the runner saves it."""
    process = worker()
    assert process.ask(cmd="load", model=str(toy))["reply"] == "load"
    reply = process.ask(cmd="values")
    assert (reply["why_not"], reply["outputs_compared"], reply["checked"]) == ("", True, 0)
    assert all(value["why_not"] == "" and value["bytes"] == 0 for value in reply["values"])
    last = reply["values"][-1]
    outputs = process.ask(cmd="outputs", save_to=str(tmp_path / "outputs.safetensors"))["outputs"]
    elements = 1
    for size in outputs[0]["info"]["shape"]:
        elements *= size
    path = tmp_path / "values.safetensors"
    size = {"index": last["index"], "bytes": 4 * elements, "element_bytes": 4}
    reply_with_sizes = process.ask(cmd="values", path=str(path), sizes=[size])
    assert reply_with_sizes["checked"] == 1
    assert reply_with_sizes["values"][-1]["sha256"] == outputs[0]["sha256"]
    (length,) = struct.unpack("<Q", path.read_bytes()[:8])
    assert path.read_bytes()[8 + length :] == tensor(tmp_path / "outputs.safetensors")
    # With a wrong size, the value is rejected, since it differs from what the program reads.
    reply_with_wrong_size = process.ask(cmd="values", path=str(path), sizes=[{**size, "bytes": 4 * elements - 4}])
    assert reply_with_wrong_size["why_not"] == "an operator's value is not what the program took from its delegate"
    assert reply_with_wrong_size["values"] == []


def tensor(path: Path) -> bytes:
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    return data[8 + length :]
