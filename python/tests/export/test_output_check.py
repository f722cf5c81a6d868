"""The check after an export, end to end with etprof-runner: the faults that it finds, and outputs that it must refuse."""

import json
import math
import os
import re
import sys
from pathlib import Path

import jsonschema
import pytest
import torch
from executorch import version as executorch_version
from executorch.devtools import parse_etrecord

from etprof import errors, programs
from etprof.export import Request, export_model, main
from etprof.exporting import agreement, check, inputs, summary
from etprof.exporting.check import CannotRun, Case

SCHEMA = json.loads((Path(__file__).parents[3] / "docs/schema/export.schema.json").read_text())
NET = """
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(3)
        self.linear = torch.nn.Linear(8, 4)

    def forward(self, x):
        exporting = torch.compiler.is_exporting()
        {forward}

    def get_example_inputs(self):
        return (torch.linspace(-1, 1, 16).reshape(2, 8),)
"""


@pytest.fixture(autouse=True)
def _programs():
    if programs.runner() is None or programs.etprof() is None:
        pytest.fail("etprof and etprof-runner are not built: run script/bootstrap")


def write(folder: Path, forward: str) -> str:
    path = folder / "net.py"
    path.write_text(NET.format(forward=forward))
    return f"{path}:Net"


def export(folder: Path, forward: str, *options: str) -> tuple[int, dict]:
    """Returns the exit code, and the .json."""
    arguments = [write(folder, forward), "--outdir", str(folder / "out"), *options]
    code = main(arguments)
    manifest = max((folder / "out").glob("*.pte.json"), key=lambda path: path.stat().st_mtime_ns)
    assert manifest.with_suffix("").is_file()  # the .pte remains, whatever the result of the check
    return code, json.loads(manifest.read_text())


def last_line(capfd: pytest.CaptureFixture) -> str:
    return capfd.readouterr().err.splitlines()[-1]


def test_a_right_pte_passes(tmp_path: Path, capfd: pytest.CaptureFixture):
    code, manifest = export(tmp_path, "return self.linear(x).relu()")
    assert code == 0
    assert last_line(capfd) == "  check         passed: at least 85 dB is required"
    answer = manifest["check"]
    assert (answer["verdict"], answer["why"], answer["warnings"]) == ("pass", None, [])
    (case,) = answer["cases"]
    assert (case["method"], case["inputs"], case["shapes"]) == ("forward", "example", [[2, 8]])
    assert case["pytorch_same_type"] == []
    assert case["outputs"][0]["max_abs_diff"] < 1e-5
    (method,) = manifest["delegation"]
    assert (method["delegated_share_of_operators"], method["not_delegated"]) == (1, [])


@pytest.mark.parametrize(
    ("forward", "message"),
    [
        ("return self.linear(x) * (1.001 if exporting else 1)", "SQNR"),
        ("return self.linear(x) if exporting else self.linear(x).roll(1)", "SQNR"),
        ("return self.linear(x)[:, :2] if exporting else self.linear(x)", "shape [2, 2] instead of [2, 4]"),
        ("return (x, x) if exporting else (x,)", "2 outputs instead of 1"),
        ("return self.linear(x).argmax(1) + (1 if exporting else 0)", "2 elements are not equal"),
        ("return torch.log(x - 2) if exporting else torch.log(x + 2)", "16 elements are NaN or infinite on one side"),
        ("return x / (0 if exporting else 2)", "NaN or infinite on one side"),
    ],
)
def test_a_wrong_pte_is_caught(tmp_path: Path, capfd: pytest.CaptureFixture, forward: str, message: str):
    code, manifest = export(tmp_path, forward)
    assert code == 1
    line = last_line(capfd)
    assert line.startswith("  check         FAILED: forward: output 0: ")
    assert message in line
    assert manifest["check"]["verdict"] == "fail"
    assert message in manifest["check"]["why"]


@pytest.mark.parametrize(
    ("forward", "compared"),
    [
        ("return x.argmax(1)", "integers: all equal"),
        ("return x.argmax(1) + (1 if exporting else 0)", "integers: 2 differ"),
        ("return torch.log(x - 2)", "no element that is finite in both"),
        ("return x[:, :2] if exporting else x", "not comparable"),
    ],
)
def test_outputs_that_cannot_be_subtracted_are_compared(
    tmp_path: Path, capfd: pytest.CaptureFixture, forward: str, compared: str
):
    code, _ = export(tmp_path, forward)
    lines = capfd.readouterr().err.splitlines()
    assert f"  compared      {compared}" in lines
    assert (lines[-1] == "  check         passed: all elements are equal") == (code == 0) == compared.endswith("equal")


def test_an_interrupted_check_is_not_a_skipped_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("etprof.export._check", interrupt)
    code, manifest = export(tmp_path, "return self.linear(x)")
    assert code == 130
    jsonschema.validate(manifest, SCHEMA)
    assert (manifest["check"]["verdict"], manifest["check"]["cases"]) == ("undecided", [])
    assert "interrupted" in manifest["check"]["why"]


@pytest.mark.parametrize("layer", ["LSTM", "GRU"])
def test_layers_that_hold_their_weights_in_lists_forget_nothing(
    tmp_path: Path, capfd: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch, layer: str
):
    """torch.export gives the same warning for them as for an attribute that is really lost."""
    monkeypatch.setattr(sys.modules[__name__], "NET", NET.replace("nn.Linear(8, 4)", f"nn.{layer}(8, 4)"))
    code, manifest = export(tmp_path, "return self.linear(x)[0]")
    assert (code, manifest["check"]["warnings"]) == (0, [])
    assert "note" not in capfd.readouterr().err
    _, manifest = export(tmp_path, "self.last = self.linear(x)[0]; return self.last * 2")
    assert "forward() assigns self.last, which is not a buffer" in manifest["check"]["warnings"][0]
    assert "_flat_weights" not in str(manifest["check"]["warnings"])


def test_a_program_that_cannot_be_recorded_is_written_without(tmp_path: Path, capfd: pytest.CaptureFixture):
    """The model has a condition whose branches contain constants. Without the constants, it has an .etrecord."""
    forward = "return torch.cond(x.max() > 0, lambda y: {}, lambda y: y.cos(), (x,))"
    code, manifest = export(tmp_path, forward.format("y.sin()"), "--backend", "portable")
    assert code == 0
    assert "net_portable_fp32.pte.etrecord" in manifest["files"]
    assert "note" not in capfd.readouterr().err
    code, manifest = export(tmp_path, forward.format("y * 2"), "--backend", "portable")
    assert code == 0
    assert sorted(manifest["files"]) == ["net_portable_fp32.pte", "net_portable_fp32.pte.inputs"]
    assert not list((tmp_path / "out").glob("*.etrecord"))
    out, err = capfd.readouterr()
    assert ".etrecord" not in out
    (note,) = (line for line in err.splitlines() if line.startswith("  note "))
    assert "there is no .etrecord, so layers and source lines will not be known: PyTorch cannot serialize" in note


def test_a_class_with_arguments_has_a_hint(tmp_path: Path, capfd: pytest.CaptureFixture):
    path = tmp_path / "net.py"
    path.write_text(NET.format(forward="return x").replace("__init__(self)", "__init__(self, width)"))
    assert main([f"{path}:Net", "--outdir", str(tmp_path / "out")]) == 3
    assert capfd.readouterr().err.splitlines()[-1] == (
        "hint: The class is made without arguments: give `width` a default."
    )


def test_without_the_check_nothing_is_run(tmp_path: Path, capfd: pytest.CaptureFixture):
    code, manifest = export(tmp_path, "return self.linear(x) * (2 if exporting else 1)", "--no-check")
    assert code == 0
    assert manifest["check"] is None
    assert manifest["delegation"] is not None
    assert "  check " not in capfd.readouterr().err


def test_min_sqnr_is_what_is_asked_for(tmp_path: Path):
    forward = "return self.linear(x) * (1.001 if exporting else 1)"  # 60 dB
    assert export(tmp_path, forward, "--min-sqnr", "59")[0] == 0
    assert export(tmp_path, forward, "--min-sqnr", "61")[0] == 1


def test_nan_and_inf_are_reported(tmp_path: Path, capfd: pytest.CaptureFixture):
    code, manifest = export(tmp_path, "return torch.log(torch.relu(x))")  # -inf where x <= 0
    assert code == 0
    assert (
        "  numbers       forward: output 0: Inf in 8 elements of PyTorch's, 8 of the .pte's\n" in capfd.readouterr().err
    )
    assert manifest["check"]["cases"][0]["outputs"][0]["expected"] == {"nan": 0, "inf": 8}
    code, manifest = export(tmp_path, "return torch.log(x - 2)")
    assert code == 5
    err = capfd.readouterr().err
    assert "NaN in 16 elements of PyTorch's, 16 of the .pte's" in err
    assert err.endswith("undecided: forward: it gives no finite number to compare\n")


def test_losses_of_fp16_and_of_the_lowering_are_distinguished(tmp_path: Path, capfd: pytest.CaptureFixture):
    overflow = "return (self.linear(x) * 300).square().sum(1)"
    code, manifest = export(tmp_path, overflow, "--dtype", "fp16")
    assert code == 1
    assert "PyTorch: 0 NaN, 0 Inf" in (line := last_line(capfd))
    assert "the type or the quantization is the cause" in line
    wrong = "return self.linear(x) * (1.5 if exporting and x.dtype == torch.float16 else 1)"
    code, manifest = export(tmp_path, wrong, "--dtype", "fp16")
    assert code == 1
    assert manifest["check"]["cases"][0]["pytorch_same_type"][0]["sqnr_db"] < 40
    code, _ = export(tmp_path, "return self.linear(x)", "--dtype", "fp16")
    assert code == 0


def test_the_cause_near_the_limit_follows_from_pytorchs_loss():
    def cause(actual_db: float, same_db: float) -> str | None:
        outputs = [[agreement.Agreement([4], "float32", sqnr_db=db)] for db in (actual_db, same_db)]
        case = check.CheckedCase("forward", "example", [[4]], *outputs)
        return check._judge([case], 40, exact=False).why

    for actual, same in ((39.9, 40.1), (20, 20.9), (20, 20.5)):
        assert "not the lowering" in cause(actual, same)
    for actual, same in ((39, 40.1), (20, 60)):
        assert "the lowering is the cause" in cause(actual, same)


def test_one_output_is_described_the_worst_and_why(tmp_path: Path, capfd: pytest.CaptureFixture):
    fading = "y = self.linear(x)\n        return y, y * 1e-5, y * 1e-9"
    assert export(tmp_path, fading, "--dtype", "fp16")[0] == 1
    *_, compared, answer, hint = capfd.readouterr().err.splitlines()
    pattern = r"  compared      output 2, the worst of 3: largest difference (\S+), relative 1, SQNR 0\.0 dB \(.*\)\. "
    pattern += r"Output 2 is 0 throughout: its largest value (\S+) is below the smallest fp16 number"
    match = re.fullmatch(pattern, compared)
    assert match, compared
    assert float(match[1]) == pytest.approx(float(match[2]), rel=0.05)
    assert answer.startswith("  check         FAILED: forward: output 2: ")
    assert "wrappers.calibrated" in hint
    small_values = agreement.compare(torch.tensor([1e-6, 3e-6]).half(), torch.tensor([1e-6, 3e-6]))
    assert small_values.underflow_problem() == "is in the range where fp16 has few digits: its largest value is 3e-06"
    for expected in (torch.zeros(2), torch.ones(2)):
        assert agreement.compare(torch.ones(2).half(), expected).underflow_problem() is None


def test_a_model_that_lowers_badly_is_noticed(tmp_path: Path, capfd: pytest.CaptureFixture):
    code, manifest = export(tmp_path, "return self.linear(x)", "--dtype", "bf16")
    assert code == 0
    err = capfd.readouterr().err
    assert "warning: Low delegation: 100% of MACs run on portable kernels\n" in err
    assert "XNNPACK takes no bfloat16" in err
    assert manifest["delegation"][0]["delegated_share_of_macs"] == 0
    export(tmp_path, "return self.linear(x)")
    assert "Low delegation" not in capfd.readouterr().err


def test_a_model_with_state_is_run_as_it_was_built(tmp_path: Path):
    (tmp_path / "net.py").write_text(
        NET.format(forward="self.count += 1\n        return self.linear(x) * self.count").replace(
            "self.linear = ", "self.register_buffer('count', torch.ones(1))\n        self.linear = "
        )
    )
    completed = export_model(Request(f"{tmp_path / 'net.py'}:Net", outdir=tmp_path / "out"))
    assert completed.check.verdict == "pass", completed.check.why


def make_case() -> Case:
    return Case("forward", "example", (torch.ones(2),), {})


def test_a_pte_that_does_not_run_is_no_and_one_that_runs_elsewhere_undecided():
    def make_failing_run(elsewhere: bool) -> check.Run:
        def run(_case: Case) -> list:
            raise CannotRun("boom", elsewhere)

        return run

    for elsewhere, verdict in ((False, "fail"), (True, "undecided")):
        answer = check.check([make_case()], make_failing_run(elsewhere), lambda case: list(case.args), None, "fp32")
        assert (answer.verdict, answer.why) == (verdict, "forward: the .pte does not run: boom")


GELU = "torch.nn.functional.gelu(self.linear(x), approximate='tanh')"


def test_a_known_lowering_is_the_cause_only_where_the_pte_agrees_with_it(tmp_path: Path, capfd: pytest.CaptureFixture):
    cause = "XNNPACK computes the tanh approximation of GELU as the exact function (net.py, line 12)"
    code, _ = export(tmp_path, f"return {GELU}", "--min-sqnr", "100")
    last = last_line(capfd)
    assert code == 1 and cause.replace("net.py", str(tmp_path / "net.py")) in last
    versions = re.search(r", seen in ExecuTorch ([\d., ]+): train or", last)[1].split(", ")
    assert executorch_version.__version__.partition("+")[0] in versions
    # GELU with another fault, with another backend, and without approximation.
    code, _ = export(tmp_path, f"return {GELU} * (1.01 if exporting else 1)", "--min-sqnr", "100")
    assert code == 1 and "GELU" not in last_line(capfd)
    code, _ = export(tmp_path, f"return {GELU}", "--backend", "portable", "--min-sqnr", "100")
    assert code == 0
    code, _ = export(tmp_path, f"return {GELU.replace('tanh', 'none')}", "--min-sqnr", "100")
    assert "approximation" not in last_line(capfd)


def test_the_runners_error_is_passed_on(tmp_path: Path):
    run = check.make_run(tmp_path / "no.pte", programs.runner())
    with pytest.raises(CannotRun, match=r"no\.pte") as raised:
        run(make_case())
    assert not raised.value.elsewhere
    with pytest.raises(CannotRun) as raised:
        check.make_run(tmp_path / "no.pte", tmp_path / "no-runner")(make_case())
    assert raised.value.elsewhere
    crash = tmp_path / "crash"
    crash.write_text("#!/bin/sh\nkill -SEGV $$\n")
    crash.chmod(0o755)
    with pytest.raises(CannotRun, match="etprof-runner ended with -11") as raised:
        check.make_run(tmp_path / "no.pte", crash)(make_case())
    assert not raised.value.elsewhere


def test_a_pytorch_that_fails_decides_nothing():
    def raise_error(_case: Case) -> list:
        raise RuntimeError("boom")

    answer = check.check([make_case()], lambda case: list(case.args), raise_error, None, "fp32")
    assert (answer.verdict, answer.why) == ("undecided", "forward: PyTorch itself fails: RuntimeError: boom")


def test_a_random_model_decides_nothing(tmp_path: Path, capfd: pytest.CaptureFixture):
    code, manifest = export(tmp_path, "return self.linear(x) + torch.rand(2, 4)")
    assert (code, manifest["check"]["verdict"]) == (5, "undecided")
    assert "forward: PyTorch itself gives other outputs in a second run" in last_line(capfd)
    # A wrong result of a model without random numbers is still a failure.
    code, manifest = export(tmp_path, "return self.linear(x) + (0.5 if exporting else 0)")
    assert (code, manifest["check"]["verdict"]) == (1, "fail")


def test_without_a_runner_it_could_not_decide(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture
):
    monkeypatch.setenv("ETPROF_RUNNER", str(tmp_path / "none"))
    monkeypatch.setenv("ETPROF", str(tmp_path / "none"))
    code, manifest = export(tmp_path, "return self.linear(x)")
    assert code == 5
    assert manifest["delegation"] is None
    lines = capfd.readouterr().err.splitlines()[-2:]
    assert lines[0].startswith("  delegated     not known: there is no etprof")
    assert lines[1].startswith("  check         undecided: there is no etprof-runner")


def test_programs_are_those_of_the_checkout_unless_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("ETPROF_RUNNER", raising=False)
    assert programs.runner() == Path(check.__file__).resolve().parents[3] / "build" / "etprof-runner"
    monkeypatch.setenv("ETPROF_RUNNER", sys.executable)
    assert programs.runner() == Path(sys.executable)
    monkeypatch.setenv("ETPROF_RUNNER", os.devnull)
    assert programs.runner() is None


def test_outputs_are_read_back():
    values = [torch.ones(2, dtype=torch.bfloat16), 3, math.inf, None, "text", True, torch.tensor([1, 2])]
    (read,) = [inputs.decode(inputs.encode({"m": values}))["m"]]
    assert torch.equal(read[0], values[0])
    assert read[1:6] == values[1:6]
    assert torch.equal(read[6], values[6])
    for bad in (b"", b"\xff" * 8, b"abcdefghijkl", b"\x02" + bytes(7) + b"[]"):
        with pytest.raises(ValueError, match="format"):
            inputs.decode(bad)


def test_methods_without_delegates_are_reported():
    method = check.MethodDelegation("decode", {}, 0, 2, 0.0, None, [{"name": "aten::x.out", "calls": 2, "why": None}])
    lines = summary.lines("xnnpack", [method, method], None)
    assert lines[0] == "  delegated     decode: nothing; 2 operators by portable kernels"
    assert lines[1] == "  not delegated decode: 2 aten::x.out: why is not known"
    assert lines[2] == "warning: decode: Low delegation: 100% of operators run on portable kernels"
    assert summary.lines("portable", [method], None) == ["  delegated     nothing; 2 operators by portable kernels"]


def test_substitutes_are_pointed_at_where_there_are_some():
    undelegated = [
        {"name": f"aten::{name}.out", "calls": 4, "why": "XNNPACK has no such operator"} for name in ("any", "sort")
    ]
    method = check.MethodDelegation("forward", {"XnnpackBackend": 3}, 9, 8, 0.53, 1.0, undelegated)
    assert not any(line.startswith("hint: ") for line in summary.lines("xnnpack", [method], None))
    hints = {"forward": [{"text": "use another", "place": "(net.py, line 3)", "operators": 4, "debug_handles": []}]}
    lines = summary.lines("xnnpack", [method], None, hints=hints)
    assert lines[-1] == "hint: Use another: 4 of the 8 operators that are not delegated (net.py, line 3)."
    portable = check.MethodDelegation("forward", {}, 0, 8, 0.0, 0.0, undelegated)
    assert not any(line.startswith("hint: ") for line in summary.lines("portable", [portable], None, hints=hints))


def test_places_of_operators_that_are_not_delegated(tmp_path: Path, capfd: pytest.CaptureFixture):
    """The message has the module, the line, and a hint. Modules whose names differ in a number count as one place."""
    layers = "self.layers = torch.nn.ModuleList([torch.nn.LayerNorm(4) for _ in range(2)])"
    net = NET.format(forward="y = self.linear(x)\n        return self.layers[1](self.layers[0](y)), (y * 3).mean(0)")
    (tmp_path / "net.py").write_text(net.replace("self.linear =", f"{layers}\n        self.linear ="))
    assert main([f"{tmp_path / 'net.py'}:Net", "--outdir", str(tmp_path / "out"), "--no-check"]) == 0
    lines = [line for line in capfd.readouterr().err.splitlines() if line.startswith(("  at  ", "hint: "))]
    line = next(
        number for number, text in enumerate((tmp_path / "net.py").read_text().splitlines(), 1) if "* 3" in text
    )
    norms = next(text for text in lines if text.startswith("  at            layers.*"))
    assert norms.endswith(": 2 native_layer_norm")
    itself = next(text for text in lines if text.startswith("  at            the model itself"))
    assert itself.endswith(f"net.py, line {line}): 1 _to_dim_order_copy, 1 mean")
    assert lines[-3].startswith(
        "hint: Use `wrappers.replace_modules(model, {nn.LayerNorm: wrappers.LayerNorm.of})` "
        "(docs/guides/models.md#wrappers): 2 of the 4 operators that are not delegated"
    )
    assert {text.partition(":")[2].partition(",")[0] for text in lines[-2:]} == {
        " Take a mean over the last two of four dimensions and keep them (keepdim=True)",
        " Write 3.0 for 3 in arithmetic: an integer is converted in every run: 1 of the 4 operators that are not "
        "delegated (" + str(tmp_path / "net.py"),
    }
    manifest = json.loads((tmp_path / "out" / "net_xnnpack_fp32.pte.json").read_text())
    assert [hint["operators"] for hint in manifest["hints"]["forward"]] == [2, 1, 1]
    # etprof finds the operators of a hint in a trace by their debug handles.
    record = parse_etrecord(str(tmp_path / "out" / "net_xnnpack_fp32.pte.etrecord"))
    assert record.edge_dialect_program is not None
    norms = [node for node in record.edge_dialect_program.graph.nodes if "native_layer_norm" in str(node.target)]
    assert manifest["hints"]["forward"][0]["debug_handles"] == [node.meta["debug_handle"] for node in norms]


def test_stages_have_names_of_their_own():
    names = [getattr(errors, name) for name in dir(errors) if name.isupper() and not name.startswith("_")]
    assert len(names) == len(set(names))


def test_permuted_buffers_are_exported_as_what_they_hold(tmp_path: Path):
    """A buffer has another memory order, such as a position encoding in channels-last format."""
    (tmp_path / "net.py").write_text(
        "import torch\n"
        "class Net(torch.nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.register_buffer('positions', torch.randn(4, 4, 8).permute(2, 0, 1).unsqueeze(0))\n"
        "    def forward(self, x):\n"
        "        return x + self.positions.flatten(2)\n"
        "    def get_example_inputs(self):\n"
        "        return (torch.randn(1, 8, 16),)\n"
    )
    for backend in ("xnnpack", "portable"):
        completed = export_model(Request(f"{tmp_path / 'net.py'}:Net", backend=backend, outdir=tmp_path / backend))
        assert completed.check.verdict == "pass"


@pytest.mark.parametrize(
    "example", ["torch.randn(8, 2).t()", "torch.randn(2, 16)[:, ::2]", "torch.randn(8).expand(2, 8)"]
)
def test_example_inputs_of_any_memory_order_are_exported(tmp_path: Path, example: str):
    path = tmp_path / "net.py"
    path.write_text(
        NET.format(forward="return self.linear(x)").replace("torch.linspace(-1, 1, 16).reshape(2, 8)", example)
    )
    assert main([f"{path}:Net", "--outdir", str(tmp_path / "out")]) == 0
