"""What script/bootstrap --models installs: that it fits, and that decoders of transformers export with it."""

import importlib.metadata
import importlib.util
import json
import re
import sys
from pathlib import Path

import pytest
import torch

from etprof import explain, torchvision_operators
from etprof.models.mobilenet_v3_small import MobileNetV3Small
from exports import Exported
from libraries import need_libraries

ROOT = Path(__file__).parents[2]
DECODER = """
import torch
from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM
from transformers.integrations.executorch import TorchExportableModuleWithStaticCache


class Llama:
    def get_eager_model(self):
        sizes = dict(vocab_size=64, hidden_size=32, intermediate_size=64, num_hidden_layers=1)
        heads = dict(num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=16)
        model = LlamaForCausalLM(LlamaConfig(**sizes, **heads)).eval()
        cache = dict(batch_size=1, max_cache_len=16)
        model.generation_config = GenerationConfig(
            use_cache=True, cache_implementation="static", max_length=16, cache_config=cache
        )
        return TorchExportableModuleWithStaticCache(model)

    def get_example_inputs(self):
        return ()

    def get_example_kwarg_inputs(self):
        return {"input_ids": torch.tensor([[1]]), "cache_position": torch.tensor([3])}
"""


@pytest.fixture(autouse=True)
def _libraries():
    need_libraries()


def test_the_libraries_have_left_pytorch_as_it_was():
    pinned = re.findall(r"^([\w-]+)==([\d.]+)", (ROOT / "requirements/models.txt").read_text(), re.MULTILINE)
    pinned += [("torch", re.search(r"^TORCH_VERSION=(.+)$", (ROOT / "script/bootstrap").read_text(), re.MULTILINE)[1])]
    assert len(pinned) == 4
    for package, version in pinned:
        assert importlib.metadata.version(package).partition("+")[0] == version
    assert torch.__version__.partition("+")[0] == pinned[-1][1]


def test_torchvision_and_timm_can_be_imported():
    torchvision_operators.declare_when_missing()
    finders = len(sys.meta_path)
    torchvision_operators.declare_when_missing()
    assert len(sys.meta_path) == finders
    import timm
    import torchvision

    ours = MobileNetV3Small()
    theirs = torchvision.models.mobilenet_v3_small()
    assert {name: value.shape for name, value in ours.state_dict().items()} == {
        name: value.shape for name, value in theirs.state_dict().items()
    }
    ours.load_state_dict(theirs.state_dict())
    image = torch.randn(1, 3, 64, 64)
    with torch.no_grad():
        torch.testing.assert_close(ours.eval()(image), theirs.eval()(image), rtol=1e-5, atol=1e-6)
    assert timm.is_model("repvit_m1")


def test_a_decoder_with_a_static_cache(exported: Exported, tmp_path: Path):
    path = tmp_path / "decoder.py"
    path.write_text(DECODER)
    pte = exported(f"{path}:Llama", quantize="dynamic")
    answer = json.loads(Path(f"{pte}.json").read_text())["check"]
    assert answer["verdict"] == "pass", answer["why"]
    assert answer["cases"][0]["outputs"][0]["shape"] == [1, 1, 64]


def test_a_detectors_post_processing_is_named():
    """The error that ssdlite320_mobilenet_v3_large ends with, which names all boxes."""
    boxes = Path(importlib.util.find_spec("torchvision").origin).parent / "ops" / "boxes.py"
    sizes = " + ".join(f"4*Min(300, u{number})" for number in range(90))
    said = f'Could not guard on data-dependent expression {sizes} > 4000 (unhinted: ...)\n  File "{boxes}", line 1'
    why, what_to_do = explain.not_traced(RuntimeError(said), {})
    assert len(why.splitlines()) == 1
    assert len(why) < 300 and "torchvision/ops/boxes.py, line 1" in why
    assert what_to_do.startswith("export backbone and head; post-processing cannot be exported. See ")
