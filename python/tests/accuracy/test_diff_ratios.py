"""`etprof diff` shows the ratios of outputs and noise that the two programs really have."""

import hashlib
import json
import math
import os
import subprocess
from pathlib import Path

import torch
from executorch.runtime import Runtime

from etprof import accuracy
from etprof.exporting.find import build_model, find_model
from test_noise import write

REPOSITORY = Path(__file__).parents[3]
ETPROF = Path(os.environ.get("ETPROF", REPOSITORY / "build" / "etprof"))


def lowest_ratio(pte: Path, module: torch.nn.Module) -> float:
    """Returns the lowest ratio in decibels over the held-out inputs, from the outputs of PyTorch and of ExecuTorch's own
    runtime. The held-out inputs are those of the model from seeds 1 to 4 instead of 0."""
    method = Runtime.get().load_program(pte).load_method("forward")
    ratios = []
    for seed in range(1, 5):
        torch.manual_seed(seed)
        inputs = torch.randn(64, 32)
        expected = module(inputs).detach().double()
        (actual,) = method.execute((inputs,))
        noise = ((expected - actual.double()) ** 2).sum()
        ratios.append(10 * math.log10(float((expected**2).sum() / noise)))
    return min(ratios)


def signal_to_noise(baseline: Path, candidate: Path) -> dict[str, str] | None:
    """Returns the row of the ratio in `etprof diff` by columns; None if there is none."""
    completed = subprocess.run(
        [ETPROF, "diff", baseline, candidate, "--json"], check=True, capture_output=True, text=True
    )
    rows = [
        {column["id"]: cell["text"] for column, cell in zip(table["columns"], row["cells"], strict=True)}
        for section in json.loads(completed.stdout)["sections"]
        for part in section["parts"]
        if (table := part.get("table")) and table["id"] == "method_properties"
        for row in table["rows"]
    ]
    found = [row for row in rows if "signal to noise" in row["property"]]
    assert len(found) <= 1
    return found[0] if found else None


def test_ratios_are_those_of_the_outputs(tmp_path: Path):
    model = write(tmp_path)
    programs = {}
    for quantize in ("dynamic", "8da4w"):
        assert accuracy.main([model, "--outdir", str(tmp_path / quantize), "--quantize", quantize]) == 0
        (programs[quantize],) = (tmp_path / quantize).rglob("*.pte")
    module = build_model(find_model(model)).module
    ratios = {name: lowest_ratio(pte, module) for name, pte in programs.items()}
    assert ratios["dynamic"] > ratios["8da4w"] + 3  # 8 bits, and 4 bits
    row = signal_to_noise(programs["dynamic"], programs["8da4w"])
    # Another file with the same ratio: there is no difference to list.
    same = programs["dynamic"].with_name("same.pte")
    same.write_bytes(programs["dynamic"].read_bytes() + b"\0")
    budget = json.loads(programs["dynamic"].with_name(f"{programs['dynamic'].name}.accuracy.json").read_text())
    digest = hashlib.sha256(same.read_bytes()).hexdigest()
    same.with_name("same.pte.accuracy.json").write_text(json.dumps({**budget, "pte_sha256": digest}))
    assert signal_to_noise(programs["dynamic"], same) is None
    assert row == {
        "property": "output 0: signal to noise (of the .pte)",
        "baseline": f"{ratios['dynamic']:.1f} dB",
        "candidate": f"{ratios['8da4w']:.1f} dB",
    }
    # A budget of another program does not count.
    budget = programs["8da4w"].with_name(f"{programs['8da4w'].name}.accuracy.json")
    document = json.loads(budget.read_text())
    budget.write_text(json.dumps({**document, "pte_sha256": "0" * 64}))
    row = signal_to_noise(programs["dynamic"], programs["8da4w"])
    assert row is not None and row["candidate"] == "\N{EM DASH}" and row["baseline"] == f"{ratios['dynamic']:.1f} dB"
