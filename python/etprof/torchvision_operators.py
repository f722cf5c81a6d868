"""Make torchvision importable with a PyTorch build for which its C++ operators were not compiled.

torchvision's Linux builds on PyPI are for CUDA. With the CPU build of PyTorch, their library does not load. torchvision
tolerates that, but its import then fails when it registers shape functions for the missing operators. timm and transformers
import torchvision, so they fail, too. Networks do not call these operators, which belong to the post-processing of detectors.
"""

from __future__ import annotations

import re
import sys
from importlib.abc import MetaPathFinder
from pathlib import Path
from typing import Any

_REGISTRATION_MODULE = "torchvision._meta_registrations"
_SCHEMA = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"  # of nms and qnms


def declare_when_missing() -> None:
    """Make later imports of torchvision declare the operators that it could not load. Calling such an operator is an error.

    This function imports nothing, and may be called repeatedly.
    """
    if not any(isinstance(finder, _Declarer) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Declarer())


class _Declarer(MetaPathFinder):
    """A finder that declares the operators just before the module that needs them is imported. It finds no module."""

    def __init__(self) -> None:
        self.library: Any = None  # owns the declarations

    def find_spec(self, name: str, path: Any, target: Any = None) -> None:  # noqa: ARG002
        if name != _REGISTRATION_MODULE or self.library is not None:
            return
        import torch

        source = (Path(next(iter(path))) / "_meta_registrations.py").read_text()
        operators = re.findall(r'register_fake\("torchvision::(\w+)"\)', source)
        self.library = torch.library.Library("torchvision", "FRAGMENT")
        for operator in operators:
            if not hasattr(torch.ops.torchvision, operator):
                self.library.define(operator + _SCHEMA)
