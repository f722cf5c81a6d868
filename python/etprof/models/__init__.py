"""The registry of models. Their names are the values of `etprof export --model`.

A model is a class of ExecuTorch's EagerModelBase shape: it is made without arguments, `get_eager_model()` gives the
torch.nn.Module and `get_example_inputs()` the tuple of inputs that it is traced (and, for int8, calibrated) with.
`get_example_kwarg_inputs()` and `get_dynamic_shapes()` are used where a class has them. A program of several methods is a
class with `get_methods()` instead: {name: (module, (input, ...))}.

A package of the user calls `register_model` in its __init__.py. etprof finds such packages in the current folder
(etprof.exporting.local).
"""

from __future__ import annotations

import importlib

_registered: dict[str, type | str] = {}


def register_model(name: str, model_class: type | str) -> None:
    """Make `model_class` known as `name`, replacing an earlier model of that name.

    A string, "package.module:Class", is imported when the model is first used, so that registering it does not import torch.

    Raises:
        ValueError: The name cannot be a part of a file name.
        TypeError: `model_class` is neither a class nor a string.
    """
    if not name or not name.replace("_", "").replace("-", "").isalnum():
        raise ValueError(f"a model's name is made of letters, digits, '_' and '-', not {name!r}")
    if not isinstance(model_class, type | str):
        raise TypeError(f"register_model takes a class or 'package.module:Class', not {model_class!r}")
    _registered[name] = model_class


def model_names() -> list[str]:
    """Return the registered names, sorted, without ExecuTorch's built-in examples."""
    return sorted(_registered)


def registered_class(name: str) -> type:
    """Return the class registered as `name`, which is imported if necessary.

    Raises:
        KeyError: The model is not registered.
    """
    entry = _registered[name]
    if isinstance(entry, type):
        return entry
    module, _, class_name = entry.partition(":")
    return getattr(importlib.import_module(module), class_name)


register_model("edgetam", "etprof.models.edgetam:EdgeTamModel")
register_model("image_encoder", "etprof.models.image_encoder:ImageEncoderModel")
register_model("llm_decoder", "etprof.models.llm_decoder:LlmDecoderModel")
register_model("mixed_delegates", "etprof.models.mixed_delegates:MixedDelegatesModel")
register_model("mobilenet_v3_small", "etprof.models.mobilenet_v3_small:MobileNetV3SmallModel")
register_model("stateful_decoder", "etprof.models.stateful_decoder:StatefulDecoderModel")
register_model("toy_cnn", "etprof.models.toy_cnn:ToyCnnModel")
register_model("transformer_layer", "etprof.models.transformer_layer:TransformerLayerModel")
register_model("vit_block", "etprof.models.vit_block:VitBlockModel")

EXAMPLES = frozenset(_registered)  # etprof's models; models that are registered later are the user's
