import math

import pytest
import torch
from safetensors.torch import load

from etprof.exporting import inputs
from inputs_file import parse_inputs


def round_trip(args: tuple, kwargs: dict | None = None) -> list:
    return parse_inputs(inputs.encode({"forward": inputs.flatten(args, kwargs or {})}))


DTYPES = ["float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool"]


@pytest.mark.parametrize("dtype", [getattr(torch, name) for name in DTYPES])
@pytest.mark.parametrize("shape", [(2, 3), (), (0, 4), (1,)])
def test_a_tensor_of_any_dtype_and_shape_comes_back(dtype: torch.dtype, shape: tuple[int, ...]):
    tensor = (torch.randn(shape) * 3).to(dtype)
    (read,) = round_trip((tensor,))
    assert read.dtype == dtype
    assert torch.equal(read, tensor)
    assert read.shape == tensor.shape


def test_strides_do_not_reach_the_file():
    tensor = torch.arange(24, dtype=torch.float32).reshape(1, 2, 3, 4)
    transposed = tensor.transpose(1, 3)
    channels_last = tensor.to(memory_format=torch.channels_last)
    assert not transposed.is_contiguous()
    assert not channels_last.is_contiguous()
    read = round_trip((transposed, channels_last))
    assert torch.equal(read[0], transposed)
    assert torch.equal(read[1], tensor)


def test_a_tensor_with_gradient_and_shared_storage():
    base = torch.randn(4, requires_grad=True)
    read = round_trip((base, base[1:3]))
    assert torch.equal(read[1], base[1:3])


def test_other_inputs_keep_type_value_and_place():
    original = (torch.ones(1), 3, True, 0.5, 'text "quoted" ü', None, -(2**63), False)
    read = round_trip(original)
    assert torch.equal(read[0], original[0])
    assert read[1:] == list(original[1:])
    assert [type(value) for value in read[1:]] == [type(value) for value in original[1:]]


def test_doubles_that_json_lacks():
    nan, positive, negative = round_trip((math.nan, math.inf, -math.inf))
    assert math.isnan(nan)
    assert (positive, negative) == (math.inf, -math.inf)


def test_nested_inputs_are_numbered_in_pytree_order():
    a, b, c, d = (torch.full((2,), float(value)) for value in range(4))
    read = round_trip((a, {"z": b, "a": [c, 7]}), {"bias": d})
    expected = [a, b, c, 7, d]
    assert len(read) == len(expected)
    assert all(
        torch.equal(x, y) if isinstance(y, torch.Tensor) else x == y for x, y in zip(read, expected, strict=True)
    )


def test_more_than_ten_inputs_stay_in_order():
    read = round_trip(tuple(torch.tensor(number) for number in range(12)))
    assert [int(tensor) for tensor in read] == list(range(12))


def test_equal_inputs_give_equal_bytes_and_others_do_not():
    def encoded(value: float) -> bytes:
        return inputs.encode({"forward": inputs.flatten((torch.full((3,), value), 1, "a", None), {})})

    assert len({encoded(1.0) for _ in range(20)}) == 1
    assert encoded(1.0) != encoded(2.0)


def test_the_safetensors_package_reads_it():
    tensors = (torch.randn(2, 3), torch.tensor([1, 2]), torch.tensor([True]), torch.randn(3).half())
    read = load(inputs.encode({"forward": [*tensors, 5]}))
    assert sorted(read) == ["forward/0", "forward/1", "forward/2", "forward/3"]
    assert all(torch.equal(read[f"forward/{number}"], tensor) for number, tensor in enumerate(tensors))


@pytest.mark.parametrize(
    ("value", "word"),
    [
        (torch.ones(2, dtype=torch.complex64), "complex64"),
        (torch.ones(2, 2).to_sparse(), "sparse"),
        (2**63, "64 bits"),
        (object(), "object"),
    ],
)
def test_unsupported_inputs_are_refused_by_number(value: object, word: str):
    with pytest.raises(TypeError, match=f"input 1 .*{word}"):
        inputs.flatten((torch.ones(1), value), {})
