"""The list of operators that XNNPACK can take, compared with the partitioner's own list."""

import json
import os
import subprocess
import textwrap
from pathlib import Path

import pytest

from etprof.export import Request, export_model
from etprof.exporting import explain

REPOSITORY = Path(__file__).resolve().parents[3]
ETPROF = Path(os.environ.get("ETPROF", REPOSITORY / "build/etprof"))
PROGRAM = Path(os.environ.get("ETPROF_CATEGORIZE", REPOSITORY / "build/release/tests/tools/etprof_categorize"))


def read_delegable(names: list[str]) -> dict[str, bool]:
    if not PROGRAM.is_file():
        pytest.skip(f"{PROGRAM} is not there: build etprof_categorize")
    completed = subprocess.run([PROGRAM], input="\n".join(names) + "\n", capture_output=True, text=True, check=True)
    rows = [line.split("\t") for line in completed.stdout.splitlines()]
    return {row[0]: row[4] == "delegable" for row in rows}


def test_delegable_is_what_the_partitioner_takes():
    from executorch.backends.xnnpack.partition.config import ALL_PARTITIONER_CONFIGS

    delegable_names = {config.target_name.split(".")[0] for config in ALL_PARTITIONER_CONFIGS}
    # Operators of torchao's library: they have no portable kernel that could run instead.
    delegable_names -= {"choose_qparams_affine", "quantize_affine", "dequantize_affine"}
    portable = {"argmax", "sort", "topk", "embedding", "native_layer_norm", "select_copy", "where", "gather", "erf"}
    assert not delegable_names & portable
    answers = read_delegable(sorted(delegable_names | portable))
    assert {name for name, delegable in answers.items() if delegable} == delegable_names
    # Names of kernels in different forms.
    answers = read_delegable(["add.out", "aten::add.Tensor", "addition.out", "argmax.out"])
    assert list(answers.values()) == [True, True, False, False]


# An operator in a form that the partitioner refuses, the reason, and a form that it takes. `x` is the output of a
# convolution, (1, 8, 8, 8). `w` and `v` are inputs, (8, 8) and (1, 8, 8, 8). `n` has a dynamic last size, (1, 8, 9..16).
FORMS = {
    "add.out": ("torch.add(x, v, alpha=2)", "no factor", "torch.add(x, v)"),
    "sub.out": ("torch.sub(x, v, alpha=2)", "no factor", "torch.sub(x, v)"),
    "mul.Scalar_out": ("torch.ops.aten.mul.Scalar(x, 2.5)", "of two tensors", "x * v"),
    "div.out_mode": ("torch.div(x, v, rounding_mode='floor')", "no division that rounds", "torch.div(x, v)"),
    "clamp.Tensor_out": ("torch.clamp(x, min=v)", "bounds that are numbers", "torch.clamp(x, min=0.5)"),
    "pow.Tensor_Scalar_out": ("x.pow(3)", "no power but the square", "x.pow(2)"),
    "_softmax.out": ("torch.softmax(x, 1)", "over the last dimension only", "torch.softmax(x, -1)"),
    "mean.out": ("x.mean(-1)", "a mean of four dimensions", "x.mean((2, 3), keepdim=True)"),
    "max.dim_max": ("x.max(3, keepdim=True).indices", "its indices are not used", "x.max(3, keepdim=True).values"),
    "max.unary_out": ("x.max()", "along one of four dimensions", "x.max(3, keepdim=True).values"),
    "unsqueeze_copy.out": ("x.unsqueeze(0)", "at the end only", "x.unsqueeze(-1)"),
    "slice_copy.Tensor_out": ("x[:, :, :, ::2]", "of step 1 only", "x[:, :, :, 1:]"),
    "constant_pad_nd.out": ("functional.pad(x, (-1, 0))", "no negative padding", "functional.pad(x, (1, 0))"),
    "avg_pool2d.out": ("functional.avg_pool2d(x, 3, padding=1)", "counts its padding", "functional.avg_pool2d(x, 3)"),
    "max_pool2d_with_indices.out": (
        "functional.max_pool2d(x, 2, stride=3)",
        "stride is larger",
        "functional.max_pool2d(x, 2)",
    ),
    "_to_dim_order_copy.out": (
        "x.to(torch.float16)",
        "converts no data types",
        "x.to(memory_format=torch.channels_last)",
    ),
    "cat.out": ("torch.cat([x, x])", "two different tensors", "torch.cat([x, v])"),
    "mm.out": ("torch.mm(w, w)", "only where one is constant", "torch.mm(w, self.matrix)"),
    "addmm.out": ("torch.addmm(w[0], w, w)", "constant weights only", "self.linear(w)"),
    "convolution.out": ("functional.conv2d(v, x[:, :, :3, :3])", "constant weights only", "self.layer(v)"),
    "convolution.out, three dimensions": ("self.volume(v.unsqueeze(1))", "of one and two dimensions", "self.layer(v)"),
    "view_copy.out": ("n.reshape(n.shape[2], 8)", "computed at run time", "n.reshape(8, -1)"),
}


def export_and_list_kernels(folder: Path, expressions: list[str], dtype: str = "fp32") -> set[tuple[str, str]]:
    """Returns the operators that are not delegated, each with the reason."""
    model = folder / "forms.py"
    body = """
        import torch
        from torch.nn import functional

        class Forms(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = torch.nn.Conv2d(8, 8, 3, padding=1)
                self.volume = torch.nn.Conv3d(1, 2, 3)
                self.linear = torch.nn.Linear(8, 8)
                self.matrix = torch.nn.Parameter(torch.ones(8, 8))
            def forward(self, v, w, n):
                x = self.layer(v)
                return x, self.linear(n.transpose(1, 2)), EXPRESSION
            def get_example_inputs(self):
                return (torch.ones(1, 8, 8, 8), torch.ones(8, 8), torch.ones(1, 8, 11))
            def get_dynamic_shapes(self):
                return (None, None, {2: torch.export.Dim("n", min=9, max=16)})
    """
    model.write_text(textwrap.dedent(body).replace("EXPRESSION", ", ".join(expressions)))
    request = Request(f"{model}:Forms", dtype=dtype, check=False, outdir=folder / "out", command=["pytest"])
    export_model(request)
    completed = subprocess.run([ETPROF, "inspect", request.pte, "--json"], check=True, capture_output=True, text=True)
    (method,) = json.loads(completed.stdout)["methods"]
    return {(operator["name"], operator["why_not_delegated"]) for operator in method["operators"]}


def kernel_name(form: str) -> str:
    name = form.split(",")[0]
    return f"dim_order_ops::{name}" if name.startswith("_to_dim_order") else f"aten::{name}"


def test_refusals_of_the_partitioner_are_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    # Without this check, the export refuses programs with 3-D convolutions and negative padding, which do not run.
    monkeypatch.setattr(explain, "no_kernel", lambda _edge: None)
    refused = export_and_list_kernels(tmp_path, [form[0] for form in FORMS.values()])
    for form, (_, why, _) in FORMS.items():
        reasons = [reason for name, reason in refused if name == kernel_name(form)]
        assert any(why in (reason or "") for reason in reasons), f"{form}: {reasons}"
    delegable_names = {name for name, _ in export_and_list_kernels(tmp_path, [form[2] for form in FORMS.values()])}
    assert not delegable_names & {kernel_name(form) for form in FORMS}


def test_a_linear_layer_of_a_portable_export_is_not_called_one_without_constant_weights():
    """The layer is an addmm whose weights another kernel transposes."""
    pte = REPOSITORY / "tests" / "fuzz" / "corpus" / "program" / "portable.pte"
    completed = subprocess.run([ETPROF, "inspect", pte, "--json"], check=True, capture_output=True, text=True)
    (method,) = json.loads(completed.stdout)["methods"]
    why = {operator["name"]: operator["why_not_delegated"] for operator in method["operators"]}
    assert why["aten::addmm.out"] == why["aten::convolution.out"]
    assert "no XNNPACK delegate" in why["aten::addmm.out"]


def test_gelu_of_half_precision_is_explained(tmp_path: Path):
    assert ("aten::gelu.out", "XNNPACK takes no GELU of float16") in export_and_list_kernels(
        tmp_path, ["functional.gelu(x)"], "fp16"
    )
    assert "aten::gelu.out" not in {name for name, _ in export_and_list_kernels(tmp_path, ["functional.gelu(x)"])}
