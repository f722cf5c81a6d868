"""Modules with different kinds of matrix products, exported together by a scheme of data types."""

from __future__ import annotations

import copy
import logging
from pathlib import Path
from typing import Any

import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import (
    XnnpackDynamicallyQuantizedPartitioner,
    XnnpackPartitioner,
)
from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
from executorch.exir import EdgeCompileConfig, to_edge_transform_and_lower
from torch import nn
from torchao.quantization import Int8DynamicActivationIntxWeightConfig, PerGroup, quantize_
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e


class MatrixProduct(nn.Module):
    def forward(self, matrix: torch.Tensor) -> torch.Tensor:
        return torch.matmul(matrix, matrix.transpose(-1, -2))


def image(channels: int) -> torch.Tensor:
    return torch.randn(1, channels, 12, 12)


def modules() -> dict[str, tuple[nn.Module, torch.Tensor]]:
    """Returns each module and its input by name."""
    conv, transposed = nn.Conv2d, nn.ConvTranspose2d
    return {
        "conv": (conv(16, 32, 3, padding=1), image(16)),
        "strided": (conv(16, 32, 3, stride=2), image(16)),
        "dilated": (conv(16, 32, 3, dilation=2), image(16)),
        "grouped": (conv(16, 32, 3, groups=2), image(16)),
        "two_in": (conv(2, 8, 3), image(2)),
        "odd": (conv(13, 7, 5, bias=False), image(13)),
        "one_in": (conv(1, 8, 3), image(1)),
        "depthwise": (conv(16, 16, 3, groups=16, padding=1), image(16)),
        "depthwise_wide": (conv(16, 16, 11, groups=16), image(16)),
        "multiplied": (conv(16, 32, 3, groups=16), image(16)),
        "pointwise": (conv(16, 32, 1), image(16)),
        "pointwise_strided": (conv(16, 32, 1, stride=2), image(16)),
        "pointwise_grouped": (conv(16, 32, 1, groups=2), image(16)),
        "pointwise_one_in": (conv(1, 8, 1), image(1)),
        "transposed": (transposed(16, 32, 3), image(16)),
        "transposed_strided": (transposed(16, 32, 2, stride=2), image(16)),
        "linear": (nn.Linear(64, 48), torch.randn(8, 64)),
        "linear_row": (nn.Linear(64, 48, bias=False), torch.randn(1, 64)),
        "batched": (MatrixProduct(), torch.randn(1, 8, 16)),
        "unbatched": (MatrixProduct(), torch.randn(8, 16)),
    }


class CombinedModel(nn.Module):
    def __init__(self, parts: dict[str, nn.Module]) -> None:
        super().__init__()
        self.parts = nn.ModuleDict(parts)

    def forward(self, *inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return tuple(part(tensor) for part, tensor in zip(self.parts.values(), inputs, strict=True))


SCHEMES = {
    "fp32": None,
    "fp16": None,
    "per_channel": {"is_per_channel": True},
    "per_tensor": {"is_per_channel": False},
    "dynamic": {"is_per_channel": True, "is_dynamic": True},
    "dynamic_4_bits": {"is_per_channel": True, "is_dynamic": True, "weight_qmin": -8, "weight_qmax": 7},
    "dynamic_groups": None,  # groups of 32 weights with 4 bits each, by torchao
}


def export(scheme: str, path: Path) -> None:
    """Writes a .pte of all modules with the data types of a key of SCHEMES."""
    torch.manual_seed(1)
    parts = modules()
    model = CombinedModel({name: module for name, (module, _) in parts.items()}).eval()
    write(scheme, model, tuple(tensor for _, tensor in parts.values()), path)


def write(scheme: str, model: nn.Module, inputs: tuple[torch.Tensor, ...], path: Path, shapes: Any = None) -> None:
    """Writes a .pte of a model with the data types of a key of SCHEMES."""
    logging.disable(logging.ERROR)
    if scheme == "fp16":
        model, inputs = copy.deepcopy(model).half(), tuple(tensor.half() for tensor in inputs)
    if scheme == "dynamic_groups":
        quantize_(
            model, Int8DynamicActivationIntxWeightConfig(weight_dtype=torch.int4, weight_granularity=PerGroup(32))
        )
    program = torch.export.export(model, inputs, dynamic_shapes=shapes, strict=True)
    if (options := SCHEMES[scheme]) is not None:
        config, quantizer = get_symmetric_quantization_config(**options), XNNPACKQuantizer()
        if "weight_qmin" in options:  # XNNPACK supports 4 bits only for fully connected layers
            quantizer.set_module_type(nn.Linear, config)
        else:
            quantizer.set_global(config)
        prepared = prepare_pt2e(program.module(), quantizer)
        prepared(*inputs)
        program = torch.export.export(convert_pt2e(prepared), inputs, dynamic_shapes=shapes, strict=True)
    partitioners = [XnnpackPartitioner()]
    if scheme.startswith("dynamic"):
        partitioners.insert(0, XnnpackDynamicallyQuantizedPartitioner())
    edge = to_edge_transform_and_lower(
        program, partitioner=partitioners, compile_config=EdgeCompileConfig(_check_ir_validity=False)
    )
    path.write_bytes(edge.to_executorch().buffer)
