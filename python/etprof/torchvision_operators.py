"""Lets torchvision be imported beside a PyTorch that its C++ operators were not compiled for.

On PyPI torchvision's Linux builds are for CUDA. Beside the CPU build of PyTorch their library does not load, which torchvision
accepts; but then its import fails where it registers shape functions for operators that are not there. timm and transformers
import torchvision, so they fail, too. Networks do not call these operators (they belong to the post-processing of detectors).
"""

from __future__ import annotations

import re
import sys
from importlib.abc import MetaPathFinder
from pathlib import Path
from typing import Any

_REGISTERS = "torchvision._meta_registrations"
_SCHEMA = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"  # of nms and qnms


def declare_when_missing() -> None:
    """From now on, importing torchvision declares those of its operators that it has not loaded; to call one is an error.

    It imports nothing itself, and may be called again.
    """
    if not any(isinstance(finder, _Declarer) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Declarer())


class _Declarer(MetaPathFinder):
    """Finds nothing itself: it acts just before the module that needs the operators is imported."""

    def __init__(self) -> None:
        self.library: Any = None  # the declarations live as long as it does

    def find_spec(self, name: str, path: Any, target: Any = None) -> None:  # noqa: ARG002
        if name != _REGISTERS or self.library is not None:
            return
        import torch

        source = (Path(next(iter(path))) / "_meta_registrations.py").read_text()
        wanted = re.findall(r'register_fake\("torchvision::(\w+)"\)', source)
        self.library = torch.library.Library("torchvision", "FRAGMENT")
        for operator in wanted:
            if not hasattr(torch.ops.torchvision, operator):
                self.library.define(operator + _SCHEMA)
