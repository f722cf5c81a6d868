"""The noise budget finds faults that the test model contains, adds up, and agrees with the device; --keep takes effect."""

import csv
import itertools
import json
import subprocess
from pathlib import Path
from types import SimpleNamespace

import jsonschema
import pytest
import torch

from etprof import accuracy, programs
from etprof.export import Request, export_model, main
from etprof.exporting import agreement, check, keep, noise

SCHEMA = json.loads((Path(__file__).parents[3] / "docs/schema/accuracy.schema.json").read_text())

# Two layers with an activation between them, and a residual add. {broken} does not change the fp32 function.
NET = """
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(3)
        self.first = torch.nn.Linear(32, 32)
        self.second = torch.nn.Linear(32, 32)
        self.third = torch.nn.Linear(32, 32)
        with torch.no_grad():
            pass
            {broken}

    def forward(self, x):
        y = self.second(self.first(x).relu())
        return self.third(y.relu()) {rest}

    def get_example_inputs(self):
        torch.manual_seed(0)
        return (torch.randn(64, 32) {inputs},)
"""
# One channel of the activation between the first two layers is 300 times as large as the others.
SCALED = "self.first.weight[5] *= 300; self.first.bias[5] *= 300; self.second.weight[:, 5] /= 300"
# A large weight for an input that is always 0.
DEAD = "self.third.weight[:, 7] = 50.0; self.second.weight[7] = 0; self.second.bias[7] = -1"


def write(folder: Path, broken: str = "", rest: str = "", inputs: str = "") -> str:
    (folder / "net.py").write_text(NET.format(broken=broken, rest=rest, inputs=inputs))
    return f"{folder / 'net.py'}:Net"


def export_and_study(
    folder: Path, *, quantize: str = "static", **net: str
) -> tuple[accuracy.Export, accuracy.MethodStudy]:
    exported, (studied,) = accuracy.study(Request(write(folder, **net), quantize=quantize, outdir=folder / "out"))
    return exported, studied


def largest_site(studied: accuracy.MethodStudy) -> tuple[noise.Site, float]:
    budget = studied.budget
    number = budget.by_share(0)[0]
    return budget.sites[number], budget.outputs[0].share(number)


def check_device_agrees(
    exported: accuracy.Export, studied: accuracy.MethodStudy, kept: frozenset[str] = frozenset()
) -> None:
    """Checks that the SQNR of the .pte on each held-out input is within half a decibel of the prediction."""
    ratios = [case.outputs[0].sqnr_db for case in exported.check.cases if case.inputs.startswith("held-out")]
    predicted = [studied.emulation.sqnr_db([case_inputs], kept)[0] for case_inputs in studied.inputs]
    assert len(ratios) == len(predicted) == 4
    assert predicted == pytest.approx(ratios, abs=0.5)


def test_a_scaled_channel_is_named_first_and_the_device_agrees(tmp_path: Path):
    exported, studied = export_and_study(tmp_path, broken=SCALED)
    site, share = largest_site(studied)
    assert (site.kind, site.operator) == ("activation", "relu")
    assert site.readers == ("linear_1",) and share > 0.9
    document = accuracy.document(Request("net", quantize="static"), exported, [studied])
    jsonschema.validate(document, SCHEMA)
    (output,) = document["budgets"]
    assert output["concentrated"] and output["values_of_half"] == 1 and output["held_out"]
    assert sum(row["share"] for row in output["values"]) + output["interaction"] == pytest.approx(1)
    check_device_agrees(exported, studied)
    rows = list(csv.DictReader(accuracy.table(document).splitlines()))
    assert [row["value"] for row in rows] == [row["value"] for row in output["values"]]
    lines = accuracy.lines(document, "net")
    assert lines[0].startswith("net: ") and "4 held-out inputs" in lines[0]
    assert lines[-1].endswith(f"half of the noise is in 1 of {len(rows)} values: concentrated")


@pytest.mark.parametrize("quantize", ["static", "dynamic"])
def test_a_weight_for_a_dead_input_is_named_first(tmp_path: Path, quantize: str):
    _, studied = export_and_study(tmp_path, broken=DEAD, quantize=quantize)
    site, share = largest_site(studied)
    assert (site.kind, site.module, site.name) == ("weight", "third", "third_weight")
    assert share > 0.9


def test_without_noise_there_is_no_share(tmp_path: Path):
    """Zeros are exact in every data type."""
    exported, studied = export_and_study(tmp_path, rest="* 0.0")
    assert studied.budget.worst is None
    document = accuracy.document(Request("net", quantize="static"), exported, [studied])
    jsonschema.validate(document, SCHEMA)
    (output,) = document["budgets"]
    assert (output["sqnr_db"], output["interaction"], output["concentrated"]) == (None, None, False)
    assert accuracy.choices(studied) == []
    assert len(accuracy.lines(document, "net")) == 1


def test_the_device_has_the_noise_that_was_predicted_of_what_is_kept(tmp_path: Path):
    """The model has a residual add whose input is a hundred times as large as the added term, as in transformers."""
    residual = {"rest": "+ 100 * x"}
    _, studied = export_and_study(tmp_path, **residual)
    frontier = accuracy.choices(studied)
    assert frontier and all(a.work <= b.work for a, b in itertools.pairwise(frontier))
    best = max(frontier, key=lambda choice: choice.sqnr_db or 0)
    patterns = accuracy.patterns(studied, best)
    request = Request(write(tmp_path, **residual), quantize="static", outdir=tmp_path / "out", keep=patterns)
    exported = export_model(request)
    assert exported.paths[0].name == "net_xnnpack_int8_keep.pte"
    assert json.loads(exported.paths[-1].read_text())["kept"] == patterns
    # The export with kept values draws the same held-out inputs.
    check_device_agrees(exported, studied, best.unquantized)
    base = studied.emulation.sqnr_db(studied.inputs, set())[0]
    assert best.sqnr_db > base + 3


FUSED = """
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(3)
        self.first = torch.nn.Conv2d(16, 64, 3)
        self.second = torch.nn.Conv2d(64, 16, 3)
        self.third = torch.nn.Linear(16, 8)

    def forward(self, x):
        y = torch.tanh(self.second(torch.tanh(self.first(x).relu())))
        return torch.tanh(self.third(y.flatten(1)))

    def get_example_inputs(self):
        torch.manual_seed(0)
        return (torch.randn(8, 16, 5, 5),)
"""


def test_the_work_of_a_choice_is_of_all_that_computes_in_float_then(tmp_path: Path):
    """A convolution computes in float if the activation that is fused into it is kept, so the small layer is the cheapest."""
    (tmp_path / "net.py").write_text(FUSED)
    request = Request(f"{tmp_path / 'net.py'}:Net", quantize="static", outdir=tmp_path / "out", check=False)
    _, (studied,) = accuracy.study(request)
    assert "first_weight" in studied.find_unquantized(frozenset({"relu"}))
    work_by_node, total = studied.emulation.works()
    layers = {"first_weight": "conv2d", "second_weight": "conv2d_1", "third_weight": "linear"}
    frontier = accuracy.choices(studied)
    for choice in frontier:
        in_float = sum(work_by_node[node] for weight, node in layers.items() if weight in choice.unquantized)
        assert in_float / total <= choice.work < in_float / total + 0.02
    assert accuracy.patterns(studied, frontier[0]) == ["linear"] and frontier[0].work < 0.02


@pytest.mark.parametrize(
    ("patterns", "message"),
    [
        (["no_such"], "--keep no_such matches no operator of the model"),
        # Its quantization nodes belong to the operators around it.
        (["relu", "permute"], "--keep permute matches no operator of the model"),
        (["second", "second"], ""),
    ],
)
def test_patterns_that_choose_nothing_fail(
    tmp_path: Path, capfd: pytest.CaptureFixture, patterns: list[str], message: str
):
    code = main([write(tmp_path), "--outdir", str(tmp_path), "--quantize", "--no-check", "--keep", *patterns])
    assert code == (3 if message else 0)
    assert message in capfd.readouterr().err


CAT = """
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(3)
        self.linear = torch.nn.Linear(8, 8)
        self.norm = torch.nn.LayerNorm(16)

    def forward(self, x):
        return self.norm(torch.cat([x * 3.0, x + 1.0], dim=1))

    def get_example_inputs(self):
        return (torch.randn(4, 8),)
"""


def test_a_concatenation_is_kept_though_its_annotation_asks_no_filter(tmp_path: Path, capfd: pytest.CaptureFixture):
    (tmp_path / "net.py").write_text(CAT)
    arguments = [f"{tmp_path / 'net.py'}:Net", "--outdir", str(tmp_path), "--quantize", "--no-check", "--save-graph"]
    assert main([*arguments, "--keep", "cat,add", "mul"]) == 0
    graph = (tmp_path / "net_xnnpack_int8_keep.pte.graph.txt").read_text()
    assert "quantize_per_tensor" not in graph[: graph.index("# forward: edge")]
    # Layer normalization is not quantized, except for values that other operators read.
    assert main([*arguments, "--keep", "norm"]) == 3
    assert "--keep norm changes nothing" in capfd.readouterr().err


def test_patterns_are_of_modules_operators_and_nodes():
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    node = graph.call_function(torch.ops.aten.add.Tensor, (x, x))
    node.meta["nn_module_stack"] = {"": ("", "Net"), "a": ("features.0.block", "Block")}
    for pattern in ("add", "node:add_tensor", "node:add*", "features", "features.0", "*.block", "features.?.block"):
        assert keep.matches(pattern, node), pattern
    for pattern in ("", "x", "block", "feature", "addmm", "add_tensor", "node:add"):
        assert not keep.matches(pattern, node), pattern
    assert not keep.matches("x", x)
    assert keep.split(["a,b", "", "b"]) == ["a", "b"]


def test_rows_have_their_own_ranges_where_they_are_dynamic():
    rows = torch.stack([torch.linspace(-1, 1, 17), torch.linspace(0, 1000, 17)])
    error = (noise.row_by_row(rows) - rows).abs().amax(-1)
    assert error[0] <= 2 / 255 and 0.1 < error[1] <= 1000 / 255
    assert torch.equal(noise.row_by_row(torch.zeros(2, 3)), torch.zeros(2, 3))


def test_a_choice_must_have_the_ratio_and_be_certain_not_to_be_slow():
    def measured_program(db: float | None, low: float | None) -> accuracy.MeasuredProgram:
        return accuracy.MeasuredProgram("", Path(), None, db, {"ratio_low": low})

    assert accuracy.meets(measured_program(40, 0.96), 40, 0.05)
    assert not accuracy.meets(measured_program(39.9, 0.96), 40, 0.05)
    assert not accuracy.meets(measured_program(40, 0.94), 40, 0.05)
    assert not accuracy.meets(measured_program(40, None), 40, 0.05)
    assert accuracy.meets(measured_program(40, None), 40, None)
    assert accuracy.meets(measured_program(None, 1), 40, 0.05)  # the outputs are equal


def export_with(outputs: list[agreement.Agreement]) -> accuracy.Export:
    case = check.CheckedCase("forward", "held-out 1", [], outputs, [])
    return SimpleNamespace(check=check.Check(check.FAIL, None, [], 10.0, [case]))


def test_outputs_without_a_ratio_of_the_whole_do_not_meet_a_target():
    expected = torch.tensor([1.0, 2.0, 3.0])
    for actual, reason in (
        (torch.tensor([1.0, 2.0, torch.nan]), "1 element is NaN or infinite"),
        (torch.tensor([1.0, 2.0]), "shape [2] instead of [3]"),
    ):
        sqnr_db, problem = accuracy.device_sqnr(export_with([agreement.compare(actual, expected)]), "forward", 0)
        assert sqnr_db is None and problem.startswith(reason)
        assert not accuracy.meets(accuracy.MeasuredProgram("", Path(), None, sqnr_db, {}, problem), 40, None)
    unchecked = SimpleNamespace(check=check.not_checked("there is no runner"))
    assert accuracy.device_sqnr(unchecked, "forward", 0) == (None, "there is no runner")
    assert accuracy.device_sqnr(export_with([agreement.compare(expected, expected)]), "forward", 0) == (None, None)
    nearly = agreement.compare(expected * 1.001, expected)
    assert accuracy.device_sqnr(export_with([nearly]), "forward", 0) == (pytest.approx(60, abs=0.01), None)


# A sum that is at least 0.000001 in fp32 is 0 if it is quantized.
LOGARITHM = """
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(3)
        self.first = torch.nn.Linear(16, 16)

    def forward(self, x):
        return torch.log(torch.relu(self.first(x)) + 1e-6)

    def get_eager_model(self):
        return self.eval()

    def get_example_inputs(self):
        torch.manual_seed(0)
        return (torch.randn(4, 16),)
"""


def test_a_value_that_makes_outputs_infinite_has_a_finite_share(tmp_path: Path, capfd: pytest.CaptureFixture):
    (tmp_path / "net.py").write_text(LOGARITHM)
    assert accuracy.main([f"{tmp_path / 'net.py'}:Net", "--outdir", str(tmp_path)]) == 0
    lines = capfd.readouterr().out.splitlines()
    assert "emulated; not known of the .pte: " in lines[0] and "NaN or infinite on one side only" in lines[0]
    assert any("which counts as its largest value: add" in line for line in lines), lines
    document = json.loads((tmp_path / "net_xnnpack_int8.pte.accuracy.json").read_text())
    jsonschema.validate(document, SCHEMA)
    (budget,) = document["budgets"]
    assert budget["not_finite"][0] == "add" and budget["values"][0]["value"] == "add"
    assert budget["values"][0]["share"] < 2
    assert budget["device_sqnr_db"] is None and budget["device_problem"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--target", "loud"], "`loud` is not a number of dB"),
        (["--target", "40dB", "--max-slowdown", "fast"], "`fast` is not a number of %"),
        (["--max-slowdown", "5%"], "`--max-slowdown` goes with `--target`"),
        (["--on", "a.csv"], "not `a.csv`"),
        (["--quantize", "dynamic", "--calibrate", "a.pt"], "`--calibrate` goes with"),
    ],
)
def test_contradictory_options_are_usage_errors(capfd: pytest.CaptureFixture, arguments: list[str], message: str):
    with pytest.raises(SystemExit) as ended:
        accuracy.main(["toy_cnn", *arguments])
    assert ended.value.code == 2
    assert message in capfd.readouterr().err


def test_the_fastest_choice_that_has_the_ratio_is_named(
    tmp_path: Path, capfd: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
):
    measured: list[Path] = []

    def latencies(base: Path, others: list[Path]) -> list[dict]:
        measured[:] = [base, *others]
        slow = {"baseline_ms": 2.0, "candidate_ms": 4.0, "ratio": 0.5, "ratio_low": 0.49, "ratio_high": 0.51}
        same = {"baseline_ms": 2.0, "candidate_ms": 2.0, "ratio": 1.0, "ratio_low": 0.99, "ratio_high": 1.01}
        return [{**same, "verdict": "same"}, *({**slow, "verdict": "slower"} for _ in others[1:])]

    monkeypatch.setattr(accuracy, "measure", latencies)
    arguments = [write(tmp_path, rest="+ 100 * x"), "--outdir", str(tmp_path / "out"), "--max-slowdown", "5%"]
    assert accuracy.main([*arguments, "--target", "45dB"]) == 0
    lines = capfd.readouterr().out.splitlines()
    keep1_pte = tmp_path / "out" / "net_xnnpack_int8_keep1.pte"
    assert (
        measured[:2] == [tmp_path / "out" / "net_xnnpack_int8.pte", keep1_pte]
        and measured[-1].name == "net_xnnpack_fp32.pte"
    )
    assert lines[-1].startswith(f"use {keep1_pte}: ")
    assert next(line for line in lines if line.startswith("  fp32 ")).endswith("2.00x slower [1.96, 2.04]")
    # Only fp32 reaches this ratio.
    assert accuracy.main([*arguments, "--target", "300dB"]) == 1
    assert capfd.readouterr().out.splitlines()[-1] == (
        "no choice has 300 dB at a slowdown that is certain to be 5% at most"
    )


def test_a_report_joins_the_budget_of_the_program_that_ran(tmp_path: Path, capfd: pytest.CaptureFixture):
    assert accuracy.main([write(tmp_path, broken=SCALED), "--outdir", str(tmp_path / "out")]) == 0
    assert "concentrated" in capfd.readouterr().out
    pte = tmp_path / "out" / "net_xnnpack_int8.pte"
    etprof = programs.etprof()

    def run(*arguments: object) -> str:
        completed = subprocess.run([etprof, *arguments], capture_output=True, text=True, check=True)
        return completed.stdout

    limits = ["--launches", "2", "--runs", "2", "--max-seconds", "2", "--no-peaks"]
    run("profile", pte, *limits, "--output-root", tmp_path / "run")
    output = run("analyze", tmp_path / "run", "--by", "noise", "--all")
    assert "Half of the noise is in 1 of" in " ".join(output.split())
    relu = next(line for line in output.splitlines() if line.strip().startswith("relu "))
    assert "activation" in relu and "%" in relu
    # The budget belongs to another program, or its file is damaged.
    file = pte.with_name(f"{pte.name}.accuracy.json")
    document = json.loads(file.read_text())
    file.write_text(json.dumps({**document, "pte_sha256": "0" * 64}))
    assert "no noise budget lies next to the program" in run("analyze", tmp_path / "run", "--by", "noise")
    file.write_text("{")
    assert "is not JSON, or is cut short" in " ".join(run("analyze", tmp_path / "run", "--all").split())
