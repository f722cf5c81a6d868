"""The list of operators that XNNPACK can take, against the partitioner's own."""

import json
import os
import subprocess
import textwrap
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
ETPROF = Path(os.environ.get("ETPROF", REPOSITORY / "build/etprof"))
PROGRAM = Path(os.environ.get("ETPROF_CATEGORIZE", REPOSITORY / "build/release/tests/tools/etprof_categorize"))


def says_delegable(names: list[str]) -> dict[str, bool]:
    if not PROGRAM.is_file():
        pytest.skip(f"{PROGRAM} is not there: build etprof_categorize")
    done = subprocess.run([PROGRAM], input="\n".join(names) + "\n", capture_output=True, text=True, check=True)
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    return {row[0]: row[4] == "delegable" for row in rows}


def test_delegable_is_what_the_partitioner_takes():
    from executorch.backends.xnnpack.partition.config import ALL_PARTITIONER_CONFIGS

    taken = {config.target_name.split(".")[0] for config in ALL_PARTITIONER_CONFIGS}
    # Operators of torchao's library: they have no portable kernel that could run instead.
    taken -= {"choose_qparams_affine", "quantize_affine", "dequantize_affine"}
    portable = {"argmax", "sort", "topk", "embedding", "native_layer_norm", "select_copy", "where", "gather", "erf"}
    assert not taken & portable
    answers = says_delegable(sorted(taken | portable))
    assert {name for name, yes in answers.items() if yes} == taken
    # The form in which kernels are named.
    answers = says_delegable(["add.out", "aten::add.Tensor", "addition.out", "argmax.out"])
    assert list(answers.values()) == [True, True, False, False]


# An operator in a form that the partitioner refuses, what is said of it, and the form that it takes.
FORMS = {
    "gelu.out": ("fp16", "torch.nn.functional.gelu(x)", "no GELU of float16", ("fp32", "torch.nn.functional.gelu(x)")),
    "mean.out": ("fp32", "x.mean(-1)", "a mean of four dimensions", ("fp32", "x.mean((2, 3), keepdim=True)")),
    "mul.Scalar_out": ("fp32", "torch.ops.aten.mul.Scalar(x, 2.5)", "of two tensors", ("fp32", "x * x")),
}


@pytest.mark.parametrize("kernel", FORMS)
def test_what_the_partitioner_refuses_is_explained(tmp_path: Path, kernel: str):
    def kernels(dtype: str, expression: str) -> dict[str, str]:
        model = tmp_path / "forms.py"
        body = """
            import torch

            class Forms(torch.nn.Module):
                def __init__(self):
                    super().__init__()
                    self.layer = torch.nn.Conv2d(3, 8, 3)
                def forward(self, x):
                    x = self.layer(x)
                    return EXPRESSION
                def get_example_inputs(self):
                    return (torch.ones(1, 3, 8, 8),)
        """
        model.write_text(textwrap.dedent(body).replace("EXPRESSION", expression))
        command = [ETPROF, "export", f"{model}:Forms", "--dtype", dtype, "--no-check", "--outdir", tmp_path / "out"]
        subprocess.run(command, check=True, capture_output=True)
        pte = next((tmp_path / "out").glob(f"*_{dtype}.pte"))
        done = subprocess.run([ETPROF, "inspect", pte, "--json"], check=True, capture_output=True, text=True)
        (method,) = json.loads(done.stdout)["methods"]
        return {operator["name"]: operator["why_not_delegated"] for operator in method["operators"]}

    dtype, expression, why, taken = FORMS[kernel]
    refused = kernels(dtype, expression)
    assert why in refused[f"aten::{kernel}"]
    assert f"aten::{kernel}" not in kernels(*taken)
