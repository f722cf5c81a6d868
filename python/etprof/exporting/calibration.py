"""`--calibrate FILE`: sample inputs that determine the ranges of a quantized model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from etprof import artifacts, errors
from etprof.errors import ExportError, failing_as, one_line
from etprof.exporting import inputs
from etprof.exporting.find import BuiltModel
from etprof.exporting.shapes import input_names

SUFFIXES = (".inputs", ".pt", ".npz")

_REMEDY = "docs/reference/export.md says what such a file holds"

Sample = list[Any]  # the inputs of one call, flattened like the method's example inputs


def read_samples(model: str, method: str, built: BuiltModel, only_method: bool, files: list[Path]) -> list[Sample]:
    """Read the samples of all files, in order. Their inputs have the types and numbers of dimensions of the example inputs.

    Raises:
        ExportError: A file cannot be read, or does not hold inputs of this method.
    """
    samples: list[Sample] = []
    for path in files:
        with failing_as(model, errors.CALIBRATE, _REMEDY):
            try:
                found = _read(path, method, built, only_method)
                if not found:
                    raise _UnusableFileError("it holds no samples")
                samples += [_convert_sample(sample, built) for sample in found]
            except OSError:
                raise
            except Exception as error:
                reason = str(error) if isinstance(error, _UnusableFileError) else one_line(error)
                raise ExportError(model, errors.CALIBRATE, f"{path}: {reason}", _REMEDY) from error
    return samples


class _UnusableFileError(Exception):  # the message is a clause about the file
    pass


def _read(path: Path, method: str, built: BuiltModel, only_method: bool) -> list[Sample]:
    artifacts.require_regular_file(path)
    if path.suffix == ".inputs":
        methods = inputs.decode(path.read_bytes())
        if method not in methods:
            raise _UnusableFileError(f"it has inputs of {', '.join(methods) or 'no method'}, not of {method}")
        return [methods[method]]
    if not only_method:
        raise _UnusableFileError(f"a model of several methods is calibrated by .inputs files, not by {path.suffix}")
    if path.suffix == ".pt":
        return _samples_from_pt(path, built)
    if path.suffix == ".npz":
        return _samples_from_arrays(_load_npz(path), built)
    raise _UnusableFileError(f"calibration is read from {', '.join(SUFFIXES)} files")


def _load_npz(path: Path) -> dict[str, Any]:
    import numpy
    import torch

    with numpy.load(path, allow_pickle=False) as arrays:
        return {name: torch.from_numpy(arrays[name]) for name in arrays.files}


def _samples_from_pt(path: Path, built: BuiltModel) -> list[Sample]:
    """Read a .pt file: a tensor or a tuple of inputs is one sample, a list holds samples, and a dict has inputs by name."""
    import torch
    from torch.utils import _pytree

    value = torch.load(path, map_location="cpu", weights_only=True)
    if isinstance(value, dict):
        return _samples_from_arrays(value, built)
    samples = value if isinstance(value, list) else [value]
    return [sample for value_of_sample in samples for sample in _split(_pytree.tree_leaves(value_of_sample), built)]


def _samples_from_arrays(arrays: dict[str, Any], built: BuiltModel) -> list[Sample]:
    """Order inputs that are named by forward()'s parameters or by number; NumPy's default name arr_0 is number 0."""
    names = input_names(built)
    unknown = set(arrays)
    sample: Sample = []
    for number, name in enumerate(names):
        key = next((key for key in (name, str(number), f"arr_{number}") if key and key in arrays), None)
        if key is None:
            raise _UnusableFileError(f"it has no {name or number}; it has {', '.join(sorted(arrays)) or 'nothing'}")
        unknown.discard(key)
        sample.append(arrays[key])
    if unknown:
        raise _UnusableFileError(f"{', '.join(sorted(unknown))}: the model has no such input")
    return _split(sample, built)


def _split(leaves: list[Any], built: BuiltModel) -> list[Sample]:
    """Return one sample, or several if all tensors have an additional leading dimension, which counts the samples."""
    import torch

    example = inputs.flatten(built.args, built.kwargs)
    pairs = [
        (leaf, example_leaf)
        for leaf, example_leaf in zip(leaves, example, strict=False)
        if isinstance(leaf, torch.Tensor) and isinstance(example_leaf, torch.Tensor)
    ]
    if not pairs or not all(leaf.dim() == example_leaf.dim() + 1 for leaf, example_leaf in pairs):
        return [leaves]
    counts = {leaf.shape[0] for leaf, _ in pairs}
    if len(counts) > 1:
        raise _UnusableFileError(f"its inputs are of {' and '.join(map(str, sorted(counts)))} samples")
    return [[leaf[i] if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves] for i in range(counts.pop())]


def _convert_sample(sample: Sample, built: BuiltModel) -> Sample:
    import torch

    example = inputs.flatten(built.args, built.kwargs)
    if len(sample) != len(example):
        raise _UnusableFileError(f"it has {len(sample)} inputs, the model takes {len(example)}")
    converted: Sample = []
    for number, (leaf, example_leaf) in enumerate(zip(sample, example, strict=True)):
        if not isinstance(example_leaf, torch.Tensor):
            converted.append(example_leaf)  # inputs that are not tensors are fixed at export
            continue
        if not isinstance(leaf, torch.Tensor):
            raise _UnusableFileError(f"its input {number} is a {type(leaf).__name__}, not a tensor")
        if leaf.is_floating_point() != example_leaf.is_floating_point():
            raise _UnusableFileError(f"its input {number} is {leaf.dtype}, the model takes {example_leaf.dtype}")
        has_same_shape = list(leaf.shape) == list(example_leaf.shape)
        if not has_same_shape and (built.dynamic_shapes is None or leaf.dim() != example_leaf.dim()):
            raise _UnusableFileError(
                f"its input {number} has shape {list(leaf.shape)}, the model takes {list(example_leaf.shape)}"
            )
        if leaf.is_floating_point() and not bool(torch.isfinite(leaf).all()):
            raise _UnusableFileError(f"its input {number} holds NaN or Inf, and a range cannot")
        converted.append(leaf.to(example_leaf.dtype))
    return converted
