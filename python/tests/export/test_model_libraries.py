"""The libraries that script/bootstrap --models installs are compatible. test_architectures.py tests exports with them."""

import importlib.metadata
import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from packaging.requirements import Requirement

from etprof import models, torchvision_operators
from etprof.exporting import explain
from libraries import need_libraries

ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def _libraries():
    need_libraries()


def test_the_libraries_have_left_pytorch_as_it_was():
    lines = (ROOT / "requirements/models.txt").read_text().splitlines()
    requirements = [Requirement(line) for line in lines if line and not line.startswith("#")]
    required = [
        requirement for requirement in requirements if requirement.marker is None or requirement.marker.evaluate()
    ]
    pinned = [(requirement.name, str(requirement.specifier).removeprefix("==")) for requirement in required]
    pinned += [("torch", re.search(r"^TORCH_VERSION=(.+)$", (ROOT / "script/bootstrap").read_text(), re.MULTILINE)[1])]
    assert len(pinned) == 4
    for package, version in pinned:
        assert importlib.metadata.version(package).partition("+")[0] == version
    assert torch.__version__.partition("+")[0] == pinned[-1][1]


def test_torchvision_and_timm_can_be_imported():
    """Imports them in a separate script after etprof, which does not import PyTorch."""
    script = "import sys, etprof; assert 'torch' not in sys.modules; import timm, torchvision; print(timm.is_model('repvit_m1'))"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout == "True\n"
    finders = len(sys.meta_path)
    torchvision_operators.declare_when_missing()
    assert len(sys.meta_path) == finders


def test_mobilenet_v3_small_is_one_model_with_and_without_torchvision(monkeypatch: pytest.MonkeyPatch):
    model = models.registered_class("mobilenet_v3_small")()
    torchvision_net = model.get_eager_model()
    assert type(torchvision_net).__module__ == "torchvision.models.mobilenetv3"
    monkeypatch.setitem(sys.modules, "torchvision", None)
    own_net = model.get_eager_model()
    assert type(own_net).__module__ == "etprof.models.mobilenet_v3_small"
    assert list(own_net.state_dict()) == list(torchvision_net.state_dict())
    assert all(
        torch.equal(own_value, torchvision_value)
        for own_value, torchvision_value in zip(
            own_net.state_dict().values(), torchvision_net.state_dict().values(), strict=True
        )
    )

    def graph(network: torch.nn.Module) -> str:
        return str(torch.export.export(network, model.get_example_inputs()).run_decompositions({}).graph)

    assert graph(own_net) == graph(torchvision_net)


def test_a_detectors_post_processing_is_named():
    """Explains the error of ssdlite320_mobilenet_v3_large, which lists all boxes."""
    boxes = Path(importlib.util.find_spec("torchvision").origin).parent / "ops" / "boxes.py"
    sizes = " + ".join(f"4*Min(300, u{number})" for number in range(90))
    message = f'Could not guard on data-dependent expression {sizes} > 4000 (unhinted: ...)\n  File "{boxes}", line 1'
    why, remedy = explain.not_traced(RuntimeError(message), {})
    assert len(why.splitlines()) == 1
    assert len(why) < 300 and "torchvision/ops/boxes.py, line 1" in why
    assert remedy.startswith("export backbone and head; post-processing cannot be exported. See ")
