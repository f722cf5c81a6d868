"""Small programs that test edge cases of etprof-runner. This module needs torch and executorch.

`python models.py FOLDER [NAME]...` writes all programs, or those with the given names. A program has the name of its function.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import EdgeCompileConfig, ExecutorchBackendConfig, to_edge_transform_and_lower
from executorch.exir.passes import MemoryPlanningPass
from torch.export import Dim, export


class Function(torch.nn.Module):
    """A module that calls one function."""

    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: Any) -> Any:
        return self.function(*args)


def lower(
    module: torch.nn.Module,
    args: tuple[Any, ...],
    *,
    xnnpack: bool = False,
    planned: bool = True,
    dynamic_shapes: Any = None,
) -> bytes:
    """Returns the bytes of the module's .pte."""
    program = export(module.eval(), args, dynamic_shapes=dynamic_shapes, strict=False)
    edge = to_edge_transform_and_lower(
        program,
        partitioner=[XnnpackPartitioner()] if xnnpack else [],
        compile_config=EdgeCompileConfig(_check_ir_validity=False),
    )
    planning = MemoryPlanningPass(alloc_graph_input=planned, alloc_graph_output=True)
    return edge.to_executorch(ExecutorchBackendConfig(memory_planning_pass=planning)).buffer


def portable_add() -> bytes:
    """float + float, without a backend."""
    return lower(Function(lambda x, y: x + y), (torch.ones(2, 3), torch.ones(2, 3)))


def missing_operator() -> bytes:
    """Calls an operator that no library has."""
    library = torch.library.Library("etprof_test", "DEF")
    library.define("nowhere(Tensor x) -> Tensor")
    library.define("nowhere.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)")
    library.impl("nowhere", lambda x: x.clone(), "CompositeExplicitAutograd")
    library.impl("nowhere.out", lambda x, out: out.copy_(x), "CompositeExplicitAutograd")
    torch.library.register_fake("etprof_test::nowhere", lambda x: torch.empty_like(x))
    return lower(Function(lambda x: torch.ops.etprof_test.nowhere(x) + 1), (torch.ones(4),))


def quantized() -> bytes:
    """Quantizes a tensor and back in kernels that are not delegated."""
    from executorch.kernels import quantized  # noqa: F401  their out variants

    def quantize_and_dequantize(x: torch.Tensor) -> torch.Tensor:
        settings = (0.5, 0, -128, 127, torch.int8)
        ops = torch.ops.quantized_decomposed
        return ops.dequantize_per_tensor(ops.quantize_per_tensor(x, *settings), *settings)

    return lower(Function(quantize_and_dequantize), (torch.ones(4),))


def every_dtype() -> bytes:
    """One input of each type that an exporter can give; each output is its input, copied."""
    types = [
        torch.float32,
        torch.float64,
        torch.float16,
        torch.bfloat16,
        torch.int64,
        torch.int32,
        torch.int16,
        torch.int8,
        torch.uint8,
        torch.bool,
    ]
    return lower(Function(lambda *xs: tuple(x.clone() for x in xs)), tuple(torch.ones(2, 3).to(t) for t in types))


def not_tensors() -> bytes:
    """Inputs that are not tensors: an int, a double, a bool, a string, None."""

    def function(x: Any, n: int, f: float, b: bool, s: str, none: Any) -> Any:  # noqa: ARG001
        return x * n + f if b else x

    return lower(Function(function), (torch.ones(2, 2), 3, 0.5, True, "text", None))


def writes_its_input(planned: bool) -> bytes:
    """Adds 1 to its input in place and returns the sum. Two runs are equal only if the input is set again."""

    def function(x: Any) -> Any:
        x.add_(1)
        return x.sum()

    return lower(Function(function), (torch.zeros(4),), planned=planned)


def dynamic() -> bytes:
    """A dynamic first dimension of 1 to 8, delegated to XNNPACK."""
    return lower(
        torch.nn.Linear(4, 2), (torch.ones(8, 4),), xnnpack=True, dynamic_shapes=({0: Dim("batch", min=1, max=8)},)
    )


def embedding() -> bytes:
    """An input of indices, of which only 0 and 1 are valid."""
    return lower(torch.nn.Embedding(2, 4), (torch.zeros(1, 5, dtype=torch.long),))


def makes_nan() -> bytes:
    """The logarithm of the input: -inf at 0, nan for negative numbers."""
    return lower(Function(torch.log), (torch.ones(4),))


def several_delegates() -> bytes:
    """XNNPACK, a portable operator, XNNPACK again."""

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            torch.manual_seed(0)
            self.a = torch.nn.Linear(64, 64)
            self.b = torch.nn.Linear(64, 8)

        def forward(self, x: Any) -> Any:
            return self.b(torch.cumsum(self.a(x), dim=1)).relu()

    return lower(Model(), (torch.randn(16, 64),), xnnpack=True)


def channels_last() -> bytes:
    """A convolution with a channels-last input."""
    torch.manual_seed(0)
    model = torch.nn.Conv2d(3, 4, 3).to(memory_format=torch.channels_last)
    return lower(model, (torch.randn(1, 3, 8, 8).to(memory_format=torch.channels_last),))


def two_linears(once: bool) -> bytes:
    """Two delegates, separated by cumsum, which is not delegated. With `once`, both contain the same layer."""
    torch.manual_seed(0)
    first = torch.nn.Linear(256, 256)
    second = first if once else torch.nn.Linear(256, 256)

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = first, second

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.second(torch.cumsum(self.first(x), 1))

    return lower(Model(), (torch.ones(4, 256),), xnnpack=True)


def masked() -> bytes:
    """A product, its maximum with a constant that is always larger, and a sum: one delegate."""

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("factors", torch.linspace(0.5, 1.0, 64))
            self.register_buffer("mask", torch.full((64,), 10.0))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.maximum(x * self.factors, self.mask) + x

    return lower(Model(), (torch.ones(64),), xnnpack=True)


ALL = {
    "masked": masked,
    "portable_add": portable_add,
    "missing_operator": missing_operator,
    "quantized": quantized,
    "every_dtype": every_dtype,
    "not_tensors": not_tensors,
    "writes_planned": lambda: writes_its_input(planned=True),
    "writes_unplanned": lambda: writes_its_input(planned=False),
    "dynamic": dynamic,
    "embedding": embedding,
    "makes_nan": makes_nan,
    "several_delegates": several_delegates,
    "channels_last": channels_last,
    "one_linear_twice": lambda: two_linears(once=True),
    "two_linears": lambda: two_linears(once=False),
}

if __name__ == "__main__":
    folder = Path(sys.argv[1])
    failed = 0
    for name in sys.argv[2:] or ALL:
        try:
            (folder / f"{name}.pte").write_bytes(ALL[name]())
        except Exception as error:
            print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr)
            failed += 1
    sys.exit(1 if failed else 0)
