"""Budgets of fp16 and 8da4w find faults that the test model contains, and agree with the device."""

import dataclasses
from pathlib import Path

import pytest
import torch

from etprof import accuracy
from etprof.errors import ExportError
from etprof.export import Request, export_model
from etprof.exporting import find, lower, noise, rounding
from etprof.exporting.find import BuiltModel
from test_noise import DEAD, NET, check_device_agrees, largest_site

FP16 = """
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(3)
        self.first = torch.nn.Linear(32, 32)
        self.second = torch.nn.Linear(32, 32)

    def forward(self, x):
        return self.second(self.first(x) + 900.0 - 900.0)

    def get_example_inputs(self):
        torch.manual_seed(0)
        return (torch.randn(64, 32),)
"""


def export_and_study(folder: Path, source: str, **request: object) -> tuple[accuracy.Export, accuracy.MethodStudy]:
    (folder / "net.py").write_text(source)
    exported, (studied,) = accuracy.study(Request(f"{folder / 'net.py'}:Net", outdir=folder / "out", **request))
    return exported, studied


def test_a_sum_that_loses_its_small_part_is_named_first_in_fp16(tmp_path: Path):
    exported, studied = export_and_study(tmp_path, FP16, dtype="fp16")
    site, share = largest_site(studied)
    assert (site.kind, site.operator) == ("activation", "add")
    assert share > 0.9 and studied.held_out and len(studied.inputs) == 4
    # Values that are exact in fp16 once the others are rounded are not in the budget: inputs, and differences of neighbors.
    assert {"x", "sub"}.isdisjoint(operand.name for operand in studied.budget.sites)
    (budget,) = accuracy.document(Request("net", dtype="fp16"), exported, [studied])["budgets"]
    assert budget["concentrated"] and budget["values"][0]["clipped"] == 0
    check_device_agrees(exported, studied)


def float_graph(module: torch.nn.Module, *args: torch.Tensor) -> torch.fx.GraphModule:
    return lower.trace(BuiltModel(module.eval(), args, {}, None)).module()


def test_values_beyond_fp16_are_named_and_stay_finite():
    class Large(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return (x * 1e5).reshape(2, 2) * 1e-5

    x = torch.tensor([0.5, 0.25, 1.5, 0.125])
    emulation = noise.Emulation(rounding.in_fp16(float_graph(Large(), x)))
    emulation.drop_exact([((x,), {})])
    budget = emulation.budget([((x,), {})])
    by_name = {site.name: number for number, site in enumerate(budget.sites)}
    assert "reshape" not in by_name  # reshape keeps the numbers
    assert budget.clipped[by_name["mul"]] == 0.25 and budget.clipped[by_name["mul_1"]] == 0
    # 150,000 saturates to 65,504, so the result is 0.655 instead of 1.5.
    assert budget.outputs[0].alone[by_name["mul"]] == pytest.approx((1.5 - 0.65504) ** 2, rel=1e-4)


def test_a_batch_normalization_is_rounded_with_what_it_is_fused_with():
    net = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4))
    module = rounding.in_fp16(float_graph(net, torch.randn(1, 3, 6, 6)))
    kinds = [site.operator for site in noise.Emulation(module).sites if site.kind == "activation"]
    assert kinds == ["input", "batch_norm"]


def test_a_weight_for_a_dead_input_is_named_first_in_8da4w_and_kept(tmp_path: Path):
    """A weight of 50 determines the range of its group of 32 weights."""
    source = NET.format(broken=DEAD, rest="", inputs="")
    exported, studied = export_and_study(tmp_path, source, quantize="8da4w")
    assert exported.paths[0].name == "net_xnnpack_8da4w.pte"
    site, share = largest_site(studied)
    assert (site.name, site.kind, share > 0.9) == ("third_weight", "weight", True)
    check_device_agrees(exported, studied)
    # A value is free if all layers that read it are kept: the relu's only reader is the third layer.
    unquantized_values = studied.find_unquantized(frozenset({"linear_2"}))
    assert unquantized_values == {"third_weight", "relu_1"}
    request = Request(f"{tmp_path / 'net.py'}:Net", quantize="8da4w", outdir=tmp_path, keep=["third"])
    kept_export = export_model(request)
    (case,) = kept_export.check.cases
    example = find.build_model(find.find_model(request.model)).args
    predicted = studied.emulation.sqnr_db([(example, {})], unquantized_values)[0]
    assert predicted == pytest.approx(case.outputs[0].sqnr_db, abs=0.5)
    with pytest.raises(ExportError, match="--keep relu changes nothing"):
        export_model(dataclasses.replace(request, keep=["relu"]))


def test_a_model_without_layers_of_whole_groups_is_refused(tmp_path: Path):
    with pytest.raises(ExportError, match=r"no nn\.Linear whose input features are a multiple of 32"):
        export_and_study(tmp_path, FP16.replace("32", "31"), quantize="8da4w")
