"""Architectures of transformers, timm and torchvision with random weights and small inputs, for bench/models.py --libraries."""

from __future__ import annotations

import torch
from torch import nn

from etprof import wrappers
from etprof.models.seeded import seeded


def _image(side: int) -> torch.Tensor:
    return torch.randn(1, 3, side, side)


class _Network:
    """A class that `etprof export` takes."""

    inputs: tuple[torch.Tensor, ...] = ()
    weights_kept = False  # of what no calibration reaches, such as a cache
    types: tuple[str, ...] = ("fp32", "fp16", "int8")  # that make sense

    def network(self) -> nn.Module:
        raise NotImplementedError

    def get_eager_model(self) -> nn.Module:
        with seeded():
            made = self.network().eval()
            if self.weights_kept:
                return made
            # Of more than one, so that a channel's variance over a small map is none of chance.
            batch = [
                torch.cat([one, *(torch.randn_like(one) for _ in range(7))]) if one.is_floating_point() else one
                for one in self.example()
            ]
            return wrappers.calibrated(made, *batch)

    def get_example_inputs(self) -> tuple[torch.Tensor, ...]:
        with seeded():
            return self.example()

    def example(self) -> tuple[torch.Tensor, ...]:
        return (_image(64),)


class _Timm(_Network):
    name = ""
    side = 64
    options: dict = {}  # noqa: RUF012

    def network(self) -> nn.Module:
        import timm

        return timm.create_model(self.name, pretrained=False, **self.options)

    def example(self) -> tuple[torch.Tensor, ...]:
        return (_image(self.side),)


class TimmRepvit(_Timm):
    name = "repvit_m1"


class TimmMobilenetv3(_Timm):
    name = "mobilenetv3_small_050"


class TimmVit(_Timm):
    name = "vit_tiny_patch16_224"
    options = {"img_size": 64, "depth": 2}  # noqa: RUF012


class TimmConvnext(_Timm):
    name = "convnext_atto"


class TimmEfficientnet(_Timm):
    name = "efficientnet_lite0"


class TimmLevit(_Timm):
    name = "levit_128s"
    side = 224


class _Torchvision(_Network):
    name = ""

    def network(self) -> nn.Module:
        import torchvision

        return getattr(torchvision.models, self.name)(weights=None)


class TvResnet18(_Torchvision):
    name = "resnet18"


class TvMobilenetV3Small(_Torchvision):
    name = "mobilenet_v3_small"


class TvMobilenetV2(_Torchvision):
    name = "mobilenet_v2"


class TvSqueezenet(_Torchvision):
    name = "squeezenet1_1"


class TvShufflenet(_Torchvision):
    name = "shufflenet_v2_x0_5"


class TvSsdlite(_Network):
    """A detector with its post-processing, which no export takes."""

    weights_kept = True
    types = ("fp32",)

    def network(self) -> nn.Module:
        import torchvision

        return torchvision.models.detection.ssdlite320_mobilenet_v3_large(weights=None, weights_backbone=None)

    def example(self) -> tuple[list[torch.Tensor]]:
        return ([torch.randn(3, 320, 320)],)


_TOKEN_TYPES = ("fp32", "fp16", "int8dyn")
_SIZES = {"vocab_size": 256, "num_hidden_layers": 2, "num_attention_heads": 4, "hidden_size": 64}


class _Tokens(_Network):
    types = _TOKEN_TYPES

    def example(self) -> tuple[torch.Tensor, ...]:
        return (torch.randint(0, 256, (1, 16)),)


class HfDistilbert(_Tokens):
    def network(self) -> nn.Module:
        from transformers import DistilBertConfig, DistilBertForSequenceClassification

        config = DistilBertConfig(
            vocab_size=256, dim=64, n_heads=4, n_layers=2, hidden_dim=128, max_position_embeddings=32
        )
        return wrappers.Select(DistilBertForSequenceClassification(config), "logits")


class HfBert(_Tokens):
    def network(self) -> nn.Module:
        from transformers import BertConfig, BertForSequenceClassification

        config = BertConfig(**_SIZES, intermediate_size=128, max_position_embeddings=32)
        return wrappers.Select(BertForSequenceClassification(config), "logits")


class HfLlama(_Tokens):
    def network(self) -> nn.Module:
        from transformers import LlamaConfig, LlamaForCausalLM

        config = LlamaConfig(
            **_SIZES, intermediate_size=128, num_key_value_heads=2, max_position_embeddings=32, use_cache=False
        )
        return wrappers.Select(LlamaForCausalLM(config), "logits")


class HfLlamaStaticCache(_Network):
    weights_kept = True
    types = _TOKEN_TYPES

    def network(self) -> nn.Module:
        from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM
        from transformers.integrations.executorch import TorchExportableModuleWithStaticCache

        model = LlamaForCausalLM(LlamaConfig(**_SIZES, intermediate_size=128, num_key_value_heads=2)).eval()
        model.generation_config = GenerationConfig(
            use_cache=True,
            cache_implementation="static",
            max_length=32,
            cache_config={"batch_size": 1, "max_cache_len": 32},
        )
        return TorchExportableModuleWithStaticCache(model)

    def get_example_inputs(self) -> tuple[()]:
        return ()

    def get_example_kwarg_inputs(self) -> dict[str, torch.Tensor]:
        return {"input_ids": torch.tensor([[1]]), "cache_position": torch.tensor([3])}


class HfVit(_Network):
    def network(self) -> nn.Module:
        from transformers import ViTConfig, ViTForImageClassification

        sizes = {key: value for key, value in _SIZES.items() if key != "vocab_size"}
        return wrappers.Select(
            ViTForImageClassification(ViTConfig(**sizes, intermediate_size=128, image_size=64)), "logits"
        )


# What is exported of each.
TYPES = {
    name: network.types
    for name, network in list(globals().items())
    if isinstance(network, type) and issubclass(network, _Network) and not name.startswith("_")
}
