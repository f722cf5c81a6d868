"""Architectures of transformers, timm and torchvision, with few layers. The tests export, check, and trace them, and
compare their multiply-adds with PyTorch's own count.

bench/models/models.py --libraries measures them with all layers.
"""

import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from etprof.errors import ExportError
from etprof.exporting import find
from exports import Exported
from libraries import need_libraries

ROOT = Path(__file__).parents[3]
ETPROF = ROOT / "build" / "etprof"
RUNNER = ROOT / "build" / "etprof-runner"
FILE = ROOT / "bench" / "models" / "architectures.py"
sys.path.append(str(FILE.parent))

from architectures import SMALL  # noqa: E402

OPTIONS = {
    "fp32": {},
    "fp16": {"dtype": "fp16"},
    "int8": {"quantize": "static"},
    "int8dyn": {"quantize": "dynamic"},
}
DETECTORS = {"SmallTvSsdlite"}
# Each model is exported in one type, since an export takes seconds; with ETPROF_TEST_EVERY_TYPE in every useful type.
KINDS = {name: "fp32" for name in SMALL if name not in DETECTORS} | {
    "SmallHfBert": "int8dyn",
    "SmallHfLlamaStaticCache": "int8dyn",
    "SmallHfVit": "int8",
    "SmallTimmVit": "fp16",
    "SmallTvMobilenetV2": "fp16",
    "SmallTvResnet18": "int8",
}


EVERY = [(name, kind) for name, network in SMALL.items() if name not in DETECTORS for kind in network.types]
CASES = EVERY if os.environ.get("ETPROF_TEST_EVERY_TYPE") else list(KINDS.items())


# Eight bits are too few for these random weights, in PyTorch too.
TOO_COARSE = {("SmallTimmVit", "int8"), ("SmallHfVit", "int8")}


@pytest.fixture(autouse=True)
def _libraries():
    need_libraries()


def multiply_adds(built: find.BuiltModel) -> int:
    """Returns PyTorch's count plus batch normalizations after linear layers, which PyTorch does not count and which are not
    folded."""
    factors = []
    for norm in built.module.modules():
        if isinstance(norm, torch.nn.BatchNorm1d):
            norm.register_forward_hook(lambda _norm, _args, out: factors.append(out.numel()))
    # The counter does not know the attention kernel that PyTorch has for CPUs.
    with FlopCounterMode(display=False) as counter, torch.no_grad(), sdpa_kernel(SDPBackend.MATH):
        built.module(*built.args, **built.kwargs)
    return counter.get_total_flops() // 2 + sum(factors)


def test_three_libraries_have_at_least_twelve_architectures():
    assert len(KINDS) >= 12
    assert {name.removeprefix("Small")[:2] for name in KINDS} == {"Ti", "Tv", "Hf"}
    assert all(kind in SMALL[name].types for name, kind in KINDS.items())


def run(*command: object) -> str:
    completed = subprocess.run(list(map(str, command)), check=False, capture_output=True, text=True)
    assert completed.returncode == 0, completed.stderr
    return completed.stdout


def check_modules_and_macs(experiment: dict, model: str, delegation: dict):
    """Checks the module of each operator, all multiply-adds, and the reasons why operators are not delegated."""
    assert experiment["program"]["problem"] is None
    operators = experiment["operators"]
    # Several reshapes may match equally well.
    assert {operator["type"] for operator in operators if operator["program"]["join"] == "none"} <= {
        "Static Reshape (NC)"
    }
    built = find.build_model(find.find_model(model))
    assert sum(operator["program"]["macs"] or 0 for operator in operators) == multiply_adds(built)
    portable = [operator for operator in operators if operator["portable"]]
    modules = dict(built.module.named_modules())
    for operator in portable:
        assert operator["total_ns"] > 0
        if operator["type"] != "copy_":  # it stores the new value of a buffer and belongs to no module
            assert operator["program"]["layer"] in modules
    lines = [operator["program"]["source"] for operator in portable if operator["program"]["source"]]
    assert all(re.fullmatch(r".+\.py:\d+", line) for line in lines)
    assert 2 * len(lines) >= len(portable)
    reasons = Counter(operator["program"]["why_not_delegated"] for operator in portable)
    assert reasons == sum(
        (Counter({operator["why"]: operator["calls"]}) for operator in delegation["not_delegated"]), Counter()
    )


def read_delegation(pte: Path, *, too_coarse: bool = False) -> dict:
    manifest = json.loads(pte.with_name(f"{pte.name}.json").read_text())
    check = manifest["check"]
    if too_coarse:
        assert check["verdict"] == "fail" and "the type or the quantization is the cause" in check["why"]
    else:
        assert check["verdict"] == "pass", check["why"]
    (delegation,) = manifest["delegation"]
    assert delegation["delegated_share_of_macs"] == 1
    return delegation


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_an_architecture(exported: Exported, tmp_path: Path, name: str, kind: str):
    model = f"{FILE}:{name}"
    pte = exported(model, **OPTIONS[kind])
    etdump = tmp_path / "x.etdump"
    run(RUNNER, "--model_path", pte, "--num_executions", 5, "--cpu_threads", 1, "--etdump_path", etdump)
    (experiment,) = json.loads(run(ETPROF, "analyze", etdump, "--model", pte, "--json"))["experiments"]
    check_modules_and_macs(experiment, model, read_delegation(pte, too_coarse=(name, kind) in TOO_COARSE))


def test_edgetam_is_profiled(exported: Exported, tmp_path: Path):
    pte = exported("edgetam")
    limits = ["--launches", 2, "--runs", 2, "--warmup", 0, "--max-seconds", 1, "--no-peaks", "--output-root", tmp_path]
    run(ETPROF, "profile", pte, *limits)
    summary = json.loads((tmp_path / "analysis_summary.json").read_text())
    (experiment,) = summary["experiments"]
    assert experiment["all_runs"] > 0
    check_modules_and_macs(experiment, "edgetam", read_delegation(pte))
    (undelegated,) = [operator["type"] for operator in experiment["operators"] if operator["portable"]]
    assert undelegated == "upsample_nearest2d.vec_out"


@pytest.mark.parametrize("name", sorted(DETECTORS))
def test_a_detectors_post_processing_is_not_exported(exported: Exported, name: str):
    """Tests a limit that docs/guides/models.md documents."""
    with pytest.raises(ExportError, match=r"torch\.export failed") as raised:
        exported(f"{FILE}:{name}")
    assert len(str(raised.value).splitlines()) == 1
    assert raised.value.remedy.startswith("export backbone and head; post-processing cannot be exported. See ")
