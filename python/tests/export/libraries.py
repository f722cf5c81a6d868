"""The optional model libraries."""

import importlib.util
import os

import pytest

NEED_LIBRARIES = {"edgetam"}  # example models


def need_libraries(model: str = "") -> None:
    """Skips the test if transformers or timm is not installed. With a name: only if this model needs them."""
    if model and model not in NEED_LIBRARIES:
        return
    if missing := [name for name in ("timm", "torchvision", "transformers") if importlib.util.find_spec(name) is None]:
        reason = f"{', '.join(missing)} not installed: run script/bootstrap --models"
        pytest.fail(reason) if os.environ.get("CI", "") == "true" else pytest.skip(reason)
