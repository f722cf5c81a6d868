"""The export checks static int8 on inputs that it was not calibrated on, and reports which inputs it cannot draw."""

import json
from pathlib import Path

import pytest
import torch

from etprof.export import main
from etprof.exporting import held_out, inputs
from etprof.exporting.find import BuiltModel

# The scale of the inputs is random: 30.9 with seed 0, and 187, 69.8, 1.03, and 47.8 with seeds 1 to 4. Thus the ranges of
# the example truncate the first held-out input to a sixth, and all draws differ.
NET = """
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(3)
        self.linear = torch.nn.Linear(8, 4)

    def forward(self, x):
        return self.linear(x)

    def get_example_inputs(self):
        torch.manual_seed(0)
        return ({example},)
"""
DRAWN = "10 ** (3 * torch.rand(1)) * torch.linspace(-1, 1, 16).reshape(2, 8)"
FIXED = "torch.linspace(-1, 1, 16).reshape(2, 8)"


def export(folder: Path, example: str, *arguments: str) -> tuple[int, dict]:
    """Returns the exit code, and the check in the .json."""
    (folder / "net.py").write_text(NET.format(example=example))
    code = main([f"{folder / 'net.py'}:Net", "--outdir", str(folder), "--quantize", *arguments])
    return code, json.loads((folder / "net_xnnpack_int8.pte.json").read_text())["check"]


def test_ranges_of_one_input_that_cut_off_others_fail_and_the_worst_is_named(
    tmp_path: Path, capfd: pytest.CaptureFixture
):
    code, check = export(tmp_path, DRAWN)
    assert code == 1
    assert [case["inputs"] for case in check["cases"]] == ["example", *(f"held-out {n}" for n in range(1, 5))]
    ratios = [case["outputs"][0]["sqnr_db"] for case in check["cases"]]
    assert ratios[0] > 30 and min(ratios) == ratios[1] < 5
    assert check["why"].startswith("forward, held-out 1: output 0: SQNR")
    assert "the type or the quantization is the cause" in check["why"]
    *_, note, example, worst, answer = capfd.readouterr().err.splitlines()
    assert note == "  note          calibrated on 1 input: real inputs may leave its ranges. --calibrate takes more"
    assert example.startswith("  compared      forward, example: ")
    assert worst.startswith("  compared      forward, held-out 1, the worst of 4: ")
    assert answer.startswith("  check         FAILED: forward, held-out 1: ")


def test_calibrated_on_inputs_like_them_it_passes(tmp_path: Path, capfd: pytest.CaptureFixture):
    """The example is a held-out input, unless it is among the calibration samples."""
    like = torch.linspace(-1, 1, 16).reshape(2, 8)
    torch.save([(40 * like,), (30 * like,)], tmp_path / "others.pt")
    code, check = export(tmp_path, DRAWN, "--calibrate", str(tmp_path / "others.pt"))
    assert (code, [case["inputs"] for case in check["cases"]], check["warnings"]) == (0, ["example"], [])
    torch.manual_seed(0)
    torch.save([(187 * like,), (10 ** (3 * torch.rand(1)) * like,)], tmp_path / "with_example.pt")
    _, check = export(tmp_path, DRAWN, "--calibrate", str(tmp_path / "with_example.pt"))
    assert len(check["cases"]) == 5
    assert check["cases"][1]["outputs"][0]["sqnr_db"] > 30
    assert "note" not in capfd.readouterr().err


def test_inputs_that_cannot_be_drawn_again_are_noted(tmp_path: Path, capfd: pytest.CaptureFixture):
    code, check = export(tmp_path, FIXED)
    assert (code, len(check["cases"]), len(check["warnings"])) == (0, 1, 2)
    assert "checked on an input that it was calibrated on, and the example inputs cannot be drawn again" in (
        capfd.readouterr().err
    )


def make_built_model(draw: object) -> BuiltModel:
    return BuiltModel(torch.nn.Identity(), (torch.zeros(2, 3), 7), {}, None, draw)


def test_draws_are_brought_into_the_examples_form_and_leave_the_generator():
    def draw() -> tuple:
        torch.manual_seed(5)
        return (torch.rand(4, 2, dtype=torch.float64), 8), {}

    state = torch.random.get_rng_state()
    seed = torch.manual_seed
    first, second = held_out.cases("forward", make_built_model(draw), 2)
    assert torch.equal(state, torch.random.get_rng_state()) and torch.manual_seed is seed
    assert (first.name, second.name) == ("held-out 1", "held-out 2")
    assert (first.args[0].shape, first.args[0].dtype, first.args[1]) == ((2, 3), torch.float32, 7)
    assert not torch.equal(first.args[0], second.args[0])
    (redrawn, _) = held_out.cases("forward", make_built_model(draw), 2)
    assert held_out.equal_inputs(inputs.flatten(redrawn.args, {}), inputs.flatten(first.args, {}))


def test_inputs_that_cannot_be_drawn_give_no_cases():
    def fail_to_draw() -> tuple:
        raise RuntimeError

    undrawn = [
        None,
        fail_to_draw,
        lambda: ((torch.zeros(2, 3), 7), {}),
        lambda: ((torch.rand(2, 3),), {}),
        lambda: ((torch.rand(2, 3, 1), 7), {}),
        lambda: ((torch.rand(0, 3), 7), {}),
        lambda: ((1.0, 7), {}),
        # Both draws are equal.
        lambda: ((torch.ones(2, 3), 7), {}),
    ]
    assert [held_out.cases("forward", make_built_model(draw)) for draw in undrawn] == [[]] * len(undrawn)
