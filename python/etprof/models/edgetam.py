"""edgetam: the image encoder of EdgeTAM (Zhou et al., arXiv:2501.07256): RepViT-M1 and a feature pyramid neck.

It is Hugging Face's, on timm's backbone (both Apache-2.0), with random weights and a smaller image than EdgeTAM's 1024 x 1024.
`script/bootstrap --models` installs the libraries.
"""

from __future__ import annotations

import torch
from torch import nn

from etprof import wrappers
from etprof.models.seeded import seeded

SIDE = 128  # pixels; every block runs at each multiple of 32


def deployed() -> nn.Module:
    """Return the encoder for deployment, in which the parallel branches of each RepViT block are merged into a convolution."""
    from timm.utils.model import reparameterize_model
    from transformers import EdgeTamVisionConfig, EdgeTamVisionModel, TimmWrapperConfig

    options = {"in_chans": 3, "features_only": True, "out_indices": [0, 1, 2, 3]}
    backbone = TimmWrapperConfig(architecture="repvit_m1", model_args=options)
    encoder = EdgeTamVisionModel(EdgeTamVisionConfig(backbone_config=backbone)).eval()
    encoder.backbone = reparameterize_model(encoder.backbone)
    return encoder


class EdgeTamModel:
    """`edgetam` in the registry."""

    def get_eager_model(self) -> nn.Module:
        """A normalized image (1, 3, H, W) to maps of 256 channels at 1/4, 1/8 and 1/16 of it, with seeded random weights."""
        with seeded():
            encoder = wrappers.calibrated(deployed(), torch.randn(1, 3, SIDE, SIDE))
        return wrappers.Select(encoder, "fpn_hidden_states.0", "fpn_hidden_states.1", "fpn_hidden_states.2").eval()

    def get_example_inputs(self) -> tuple[torch.Tensor, ...]:
        """One seeded random image (1, 3, 128, 128)."""
        with seeded():
            return (torch.randn(1, 3, SIDE, SIDE),)
