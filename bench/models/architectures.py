"""Architectures of transformers, timm and torchvision with random weights and small inputs.

bench/models/models.py --libraries measures them as they are. python/tests/export/test_architectures.py exports each with few layers.
"""

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
    skips_calibration = False  # for networks that cannot be calibrated, such as those with a cache
    types: tuple[str, ...] = ("fp32", "fp16", "int8")  # supported data types
    options: dict = {}  # noqa: RUF012 - options of network()
    small_options: dict | None = None  # options that differ with few layers; None: the library has no smaller network

    def network(self) -> nn.Module:
        raise NotImplementedError

    def get_eager_model(self) -> nn.Module:
        with seeded():
            network = self.network().eval()
            if self.skips_calibration:
                return network
            # Calibrate with several images, since a channel's variance over one small map is random.
            batch = [
                torch.cat([tensor, *(torch.randn_like(tensor) for _ in range(7))])
                if tensor.is_floating_point()
                else tensor
                for tensor in self.example()
            ]
            return wrappers.calibrated(network, *batch)

    def get_example_inputs(self) -> tuple[torch.Tensor, ...]:
        with seeded():
            return self.example()

    def example(self) -> tuple[torch.Tensor, ...]:
        return (_image(64),)


class _Timm(_Network):
    name = ""
    side = 64

    def network(self) -> nn.Module:
        import timm

        return timm.create_model(self.name, pretrained=False, **self.options)

    def example(self) -> tuple[torch.Tensor, ...]:
        return (_image(self.side),)


class TimmRepvit(_Timm):
    name = "repvit_m1"
    small_options = {"embed_dim": (16, 32), "depth": (1, 1)}  # noqa: RUF012


class TimmMobilenetv3(_Timm):
    name = "mobilenetv3_small_050"


class TimmVit(_Timm):
    name = "vit_tiny_patch16_224"
    options = {"img_size": 64, "depth": 2}  # noqa: RUF012
    small_options = {"depth": 1}  # noqa: RUF012


class TimmConvnext(_Timm):
    name = "convnext_atto"
    small_options = {"depths": (1, 1, 1, 1), "dims": (8, 16, 24, 32)}  # noqa: RUF012


class TimmEfficientnet(_Timm):
    name = "efficientnet_lite0"


class TimmLevit(_Timm):
    name = "levit_128s"
    options = {"img_size": 224}  # noqa: RUF012
    small_options = {"img_size": 64, "embed_dim": (32,), "num_heads": (2,), "depth": (1,)}  # noqa: RUF012

    def example(self) -> tuple[torch.Tensor, ...]:
        return (_image(self.options["img_size"]),)


class TimmSwin(_Timm):
    types = ("fp32",)
    name = "swin_tiny_patch4_window7_224"
    options = {"img_size": 64, "window_size": 4, "embed_dim": 48, "depths": (2, 2), "num_heads": (2, 4)}  # noqa: RUF012


class TimmMobilevit(_Timm):
    types = ("fp32", "fp16")
    name = "mobilevit_xxs"


class TimmMobilenetv4(_Timm):
    types = ("fp32",)
    name = "mobilenetv4_conv_small_050"


class TimmFastvit(_Timm):
    types = ("fp32",)
    name = "fastvit_t8"


class TimmEdgenext(_Timm):
    types = ("fp32",)
    name = "edgenext_xx_small"


class TvResnet18(_Network):
    options = {"layers": [2, 2, 2, 2]}  # noqa: RUF012
    small_options = {"layers": [1, 1, 1, 1]}  # noqa: RUF012

    def network(self) -> nn.Module:
        from torchvision.models import resnet

        return resnet.ResNet(resnet.BasicBlock, **self.options)


class TvMobilenetV3Small(_Network):
    options = {"arch": "mobilenet_v3_small"}  # noqa: RUF012
    small_options = {"blocks": 3}  # noqa: RUF012

    def network(self) -> nn.Module:
        from torchvision.models import mobilenetv3

        blocks, last = mobilenetv3._mobilenet_v3_conf(self.options["arch"])
        return mobilenetv3.MobileNetV3(blocks[: self.options.get("blocks")], last)


class TvMobilenetV2(_Network):
    small_options = {"inverted_residual_setting": [[1, 16, 1, 1], [6, 24, 2, 2]]}  # noqa: RUF012

    def network(self) -> nn.Module:
        import torchvision

        return torchvision.models.mobilenet_v2(weights=None, **self.options)


class TvSqueezenet(_Network):
    def network(self) -> nn.Module:
        import torchvision

        return torchvision.models.squeezenet1_1(weights=None)


class TvShufflenet(_Network):
    options = {"stages_repeats": [4, 8, 4]}  # noqa: RUF012
    small_options = {"stages_repeats": [2, 1, 1]}  # noqa: RUF012

    def network(self) -> nn.Module:
        import torchvision

        return torchvision.models.ShuffleNetV2(stages_out_channels=[24, 48, 96, 192, 1024], **self.options)


class _Tv(_Network):
    types: tuple[str, ...] = ("fp32",)
    name = ""

    def network(self) -> nn.Module:
        import torchvision

        return torchvision.models.get_model(self.name, weights=None, **self.options)


class TvEfficientnet(_Tv):
    types = ("fp32", "fp16")
    name = "efficientnet_b0"


class TvDensenet(_Tv):
    options = {"growth_rate": 16, "block_config": (3, 3), "num_init_features": 32}  # noqa: RUF012

    def network(self) -> nn.Module:
        import torchvision

        return torchvision.models.DenseNet(**self.options)


class TvRegnet(_Tv):
    name = "regnet_y_400mf"


class TvLraspp(_Tv):
    name = "lraspp_mobilenet_v3_large"
    options = {"weights_backbone": None}  # noqa: RUF012

    def network(self) -> nn.Module:
        return wrappers.Select(super().network(), "out")


class TvSsdlite(_Network):
    """A detector with its post-processing, which no export takes."""

    skips_calibration = True
    types = ("fp32",)
    options = {"side": 320}  # noqa: RUF012
    small_options = {"side": 32}  # noqa: RUF012

    def network(self) -> nn.Module:
        from torchvision.models import detection

        if self.options["side"] == 320:
            return detection.ssdlite320_mobilenet_v3_large(weights=None, weights_backbone=None)
        # The same detector on a small backbone.
        backbone = nn.Conv2d(3, 8, 3, stride=8)
        backbone.out_channels = [8]
        anchors = detection.anchor_utils.DefaultBoxGenerator([[2]])
        return detection.ssd.SSD(backbone, anchors, (32, 32), num_classes=3)

    def example(self) -> tuple[list[torch.Tensor]]:
        return ([torch.randn(3, self.options["side"], self.options["side"])],)


_TOKEN_TYPES = ("fp32", "fp16", "int8dyn")
_SIZES = {"vocab_size": 256, "num_attention_heads": 4, "hidden_size": 64}


class _Layers(_Network):
    options = {"num_hidden_layers": 2}  # noqa: RUF012
    small_options = {"num_hidden_layers": 1}  # noqa: RUF012


class _Tokens(_Layers):
    types = _TOKEN_TYPES

    def example(self) -> tuple[torch.Tensor, ...]:
        return (torch.randint(0, 256, (1, 16)),)


class HfDistilbert(_Tokens):
    def network(self) -> nn.Module:
        from transformers import DistilBertConfig, DistilBertForSequenceClassification

        config = DistilBertConfig(
            vocab_size=256, dim=64, n_heads=4, **self.options, hidden_dim=128, max_position_embeddings=32
        )
        return wrappers.Select(DistilBertForSequenceClassification(config), "logits")


class HfBert(_Tokens):
    def network(self) -> nn.Module:
        from transformers import BertConfig, BertForSequenceClassification

        config = BertConfig(**_SIZES, **self.options, intermediate_size=128, max_position_embeddings=32)
        return wrappers.Select(BertForSequenceClassification(config), "logits")


class HfLlama(_Tokens):
    def network(self) -> nn.Module:
        from transformers import LlamaConfig, LlamaForCausalLM

        config = LlamaConfig(
            **_SIZES,
            **self.options,
            intermediate_size=128,
            num_key_value_heads=2,
            max_position_embeddings=32,
            use_cache=False,
        )
        return wrappers.Select(LlamaForCausalLM(config), "logits")


class HfLlamaStaticCache(_Layers):
    skips_calibration = True
    types = _TOKEN_TYPES

    def network(self) -> nn.Module:
        from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM
        from transformers.integrations.executorch import TorchExportableModuleWithStaticCache

        model = LlamaForCausalLM(
            LlamaConfig(**_SIZES, **self.options, intermediate_size=128, num_key_value_heads=2)
        ).eval()
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


class HfVit(_Layers):
    def network(self) -> nn.Module:
        from transformers import ViTConfig, ViTForImageClassification

        sizes = {key: value for key, value in _SIZES.items() if key != "vocab_size"}
        return wrappers.Select(
            ViTForImageClassification(ViTConfig(**sizes, **self.options, intermediate_size=128, image_size=64)),
            "logits",
        )


class _Hf(_Layers):
    """A network of transformers, made from the names of its class and its configuration."""

    config = ""
    network_class = ""
    sizes: dict = {}  # noqa: RUF012
    selected = "last_hidden_state"

    def network(self) -> nn.Module:
        import transformers

        config = getattr(transformers, self.config)(**self.sizes, **self.options)
        return wrappers.Select(self.exported_part(getattr(transformers, self.network_class)(config)), self.selected)

    def exported_part(self, network: nn.Module) -> nn.Module:
        """Returns the part of the network that is exported."""
        return network


class _HfTokens(_Hf):
    types = ("fp32",)
    small_options = None
    length = 16
    sizes = {**_SIZES, "intermediate_size": 128, "max_position_embeddings": 32}  # noqa: RUF012

    def example(self) -> tuple[torch.Tensor, ...]:
        return (torch.randint(0, 256, (1, self.length)),)


class HfAlbert(_HfTokens):
    config, network_class = "AlbertConfig", "AlbertModel"
    sizes = {**_HfTokens.sizes, "embedding_size": 32}  # noqa: RUF012


class HfGpt2(_HfTokens):
    config, network_class = "GPT2Config", "GPT2Model"
    options = {"n_layer": 2}  # noqa: RUF012
    sizes = {"vocab_size": 256, "n_embd": 64, "n_head": 4, "n_positions": 32, "use_cache": False}  # noqa: RUF012


class HfGemma(_HfTokens):
    config, network_class = "GemmaConfig", "GemmaModel"
    sizes = {**_HfTokens.sizes, "num_key_value_heads": 1, "head_dim": 16, "use_cache": False}  # noqa: RUF012


class HfMixtral(_HfTokens):
    config, network_class = "MixtralConfig", "MixtralModel"
    sizes = {  # noqa: RUF012
        **_HfTokens.sizes,
        "num_key_value_heads": 2,
        "num_local_experts": 4,
        "use_cache": False,
        "experts_implementation": "batched_mm",
    }


class HfMamba(_HfTokens):
    config, network_class = "MambaConfig", "MambaModel"
    sizes = {"vocab_size": 256, "hidden_size": 64, "state_size": 8, "use_cache": False}  # noqa: RUF012


class HfT5Encoder(_HfTokens):
    config, network_class = "T5Config", "T5EncoderModel"
    options = {"num_layers": 2}  # noqa: RUF012
    sizes = {"vocab_size": 256, "d_model": 64, "d_kv": 16, "d_ff": 128, "num_heads": 4}  # noqa: RUF012


class HfWhisperEncoder(_Hf):
    types = ("fp32", "fp16")
    small_options = None
    config, network_class = "WhisperConfig", "WhisperModel"
    options = {"encoder_layers": 2, "decoder_layers": 1}  # noqa: RUF012
    sizes = {  # noqa: RUF012
        "d_model": 64,
        "encoder_attention_heads": 4,
        "decoder_attention_heads": 4,
        "encoder_ffn_dim": 128,
        "decoder_ffn_dim": 128,
        "max_source_positions": 150,
        "vocab_size": 256,
        "pad_token_id": 0,
    }

    def exported_part(self, network: nn.Module) -> nn.Module:
        return network.encoder

    def example(self) -> tuple[torch.Tensor, ...]:
        return (torch.randn(1, 80, 2 * self.sizes["max_source_positions"]),)


class _HfImages(_Hf):
    types = ("fp32",)
    small_options = None

    def example(self) -> tuple[torch.Tensor, ...]:
        return (_image(self.sizes.get("image_size", 64)),)


class HfSegformer(_HfImages):
    config, network_class = "SegformerConfig", "SegformerForSemanticSegmentation"
    selected = "logits"
    options = {"depths": (1, 1, 1, 1)}  # noqa: RUF012
    sizes = {"hidden_sizes": (16, 32, 64, 96), "decoder_hidden_size": 64}  # noqa: RUF012


class HfSiglipVision(_HfImages):
    config, network_class = "SiglipVisionConfig", "SiglipVisionModel"
    sizes = {  # noqa: RUF012
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_attention_heads": 4,
        "image_size": 64,
        "patch_size": 16,
    }


class HfDinov2(_HfImages):
    config, network_class = "Dinov2Config", "Dinov2Model"
    sizes = {"hidden_size": 64, "num_attention_heads": 4, "image_size": 64, "patch_size": 16}  # noqa: RUF012


_networks = {
    name: network
    for name, network in globals().items()
    if isinstance(network, type) and issubclass(network, _Network) and not name.startswith("_")
}
# The data types in which each is exported.
TYPES = {name: network.types for name, network in _networks.items()}
# The same networks with few layers: SmallTvResnet18 for TvResnet18.
SMALL = {
    f"Small{name}": type(f"Small{name}", (network,), {"options": {**network.options, **network.small_options}})
    for name, network in _networks.items()
    if network.small_options is not None
}
globals().update(SMALL)
