"""Advice of an export: each change that it names works, and it does not name changes that do not work."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.nn import functional

from etprof import backends, wrappers
from etprof.exporting import find, hints, lower
from etprof.exporting.find import BuiltModel
from etprof.models.seeded import seeded


class RootMeanSquare(nn.Module):
    """Gemma's normalization, whose weights are differences from 1."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.rand(16))
        self.eps = 1e-6

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * (1.0 + self.weight)


class Activation(nn.Module):
    """The same as transformers' GELUActivation."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return functional.gelu(x)


class Net(nn.Module):
    """Modules that have a substitute, and modules that are similar and have none."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(16)
        self.image_norm = nn.LayerNorm((8, 16))  # normalization over two dimensions has no substitute
        self.root = RootMeanSquare()
        self.linear = nn.Linear(16, 16)
        self.silu = nn.SiLU()
        self.gelu = Activation()
        self.pool = nn.AdaptiveAvgPool2d((4, 8))
        self.uneven = nn.AdaptiveAvgPool2d((3, 8))

    def forward(self, x: torch.Tensor, ids: torch.Tensor) -> tuple[torch.Tensor, ...]:
        x = self.image_norm(self.root(self.norm(self.linear(x))))
        heads = x.reshape(1, 8, 4, 4).transpose(1, 2)
        mask = torch.ones(8, 8, dtype=torch.bool).tril()
        mixed = functional.scaled_dot_product_attention(heads, heads[:, :2], heads[:, :2], mask, enable_gqa=True)
        positions = (ids + 3).to(x.dtype) * 0.25  # integer arithmetic stays in integers
        distances = torch.log(torch.arange(1, 9).float()) * 4  # constant in every run, as in T5
        state = x.unsqueeze(-1).expand(1, 8, 16, 3) * self.linear.weight[0, :3]  # as in Mamba, not attention
        images = self.pool(x[None]), self.uneven(x[None])
        return self.gelu(self.silu(x)) * 3, functional.gelu(x), mixed, positions, distances, state, *images


INPUTS = (torch.linspace(-1, 1, 128).reshape(1, 8, 16), torch.arange(8))


def find_hints_and_undelegated(model: nn.Module, dtype: str, inputs: tuple = INPUTS) -> tuple[list[hints.Hint], int]:
    """Returns the advice, and the number of operators that are not delegated."""
    built = lower.with_precision({"forward": BuiltModel(model.eval(), inputs, {}, None)}, dtype)
    exported = {name: lower.trace(method) for name, method in built.items()}
    edge = lower.to_edge(exported, backends.partitioners("net", "xnnpack", None), False)
    lowered = {"forward": edge.exported_program("forward")}
    kernels = [node for node in lowered["forward"].graph.nodes if hasattr(node.target, "_schema")]
    undelegated = [node for node in kernels if "delegate" not in str(node.target)]
    advice = hints.find_hints(lowered, exported, built)["forward"]
    handles = {node.meta["debug_handle"] for node in undelegated}
    assert all(set(hint["debug_handles"]) <= handles for hint in advice)
    return advice, len(undelegated)


def apply_hints(model: nn.Module, found: list[hints.Hint]) -> nn.Module:
    """Applies each change that consists of code, and returns the model."""
    for hint in sorted(
        found, key=lambda hint: "Substitute" in hint["text"]
    ):  # Substitute wraps the model, so it comes last
        if code := re.match(r"Use `(.*?)`", hint["text"]):
            names = {"model": model, "nn": nn, "functional": functional, "wrappers": wrappers, "pool": model.pool}
            substitute = eval(code[1], names)  # noqa: S307  our own code
            if "fixed_pool" in code[1]:
                model.pool = substitute
            else:
                model = substitute
    return model


@pytest.fixture
def model() -> Callable[[], nn.Module]:
    def make() -> nn.Module:
        with seeded():
            return Net()

    return make


EVERYWHERE = {
    "wrappers.Substitute(model, {functional.scaled_dot_product_attention: wrappers.attention})",
    "wrappers.replace_modules(model, {nn.LayerNorm: wrappers.LayerNorm.of})",
    'wrappers.replace_modules(model, {"RootMeanSquare": wrappers.RMSNorm.of})',
    "wrappers.fixed_pool(8, 16)(pool)",
}
IN_HALF = {
    "wrappers.replace_modules(model, {nn.SiLU: wrappers.Silu.of})",
    'wrappers.replace_modules(model, {"Activation": wrappers.TanhGelu.of})',
}


INTEGERS = "Write 3.0 for 3 in arithmetic: an integer is converted in every run"
NUMBERS = "Make numbers in arithmetic registered buffers, as wrappers.Hardsigmoid does"


@pytest.mark.parametrize(("dtype", "expected"), [("fp32", EVERYWHERE), ("fp16", EVERYWHERE | IN_HALF)])
def test_advice_applies(model, dtype: str, expected: set[str]):
    found, before = find_hints_and_undelegated(model(), dtype)
    code = {named[1] for hint in found if (named := re.match(r"Use `(.*?)`", hint["text"]))}
    assert code == expected
    others = {hint["text"]: hint["place"] for hint in found if not hint["text"].startswith("Use `")}
    assert set(others) == {INTEGERS} | ({NUMBERS} if dtype == "fp16" else set())
    assert all(re.fullmatch(r"\(.*test_hints\.py, line \d+\)", place) for place in others.values())
    # After these changes the advice does not repeat them, and at least as many operators are delegated as the advice named.
    remaining, after = find_hints_and_undelegated(apply_hints(model(), found), dtype)
    assert not any(hint["text"].startswith("Use `") for hint in remaining)
    named = sum(hint["operators"] for hint in found if hint["text"].startswith("Use `"))
    assert named > 10 and before - after >= named - 1  # the boolean mask remains as one operator


def test_the_guide_shows_where_the_code_of_hints_goes(tmp_path: Path):
    """Without the code of the guide, the export gives a hint for each call. With the code, it gives none."""
    guide = Path(__file__).resolve().parents[3] / "docs" / "guides" / "models.md"
    (text,) = [
        block for block in re.findall(r"```python\n(.*?)```", guide.read_text(), re.S) if "class Faster" in block
    ]
    _, first, *calls, last = re.search(r"get_eager_model.*?\n\n", text, re.S)[0].strip().split("\n")
    assert (first.strip(), last.strip()) == ("model = Net().eval()", "return model")

    def code(lines: list[str]) -> set[str]:
        (tmp_path / "faster.py").write_text(text.replace("\n".join(calls) + "\n", "".join(f"{x}\n" for x in lines)))
        (method,) = find.build_methods(find.find_model(f"{tmp_path / 'faster.py'}:Faster")).values()
        found, _ = find_hints_and_undelegated(method.module, "fp32", method.args)
        return {named[1] for hint in found if (named := re.match(r"Use `(.*?)`", hint["text"]))}

    assert code([]) == {re.sub(r"^ *model\S* = |(?<=\()model\.", "", call) for call in calls}
    assert code(calls) == set()
