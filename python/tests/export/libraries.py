"""The model libraries, which not every installation has."""

import importlib.util
import os

import pytest

NEED_LIBRARIES = {"edgetam"}  # of the example models


def need_libraries(model: str = "") -> None:
    """Skip the test where transformers or timm is not installed; of a model's name, where that model needs them."""
    if model and model not in NEED_LIBRARIES:
        return
    if missing := [name for name in ("timm", "torchvision", "transformers") if importlib.util.find_spec(name) is None]:
        reason = f"{', '.join(missing)} not installed: run script/bootstrap --models"
        pytest.fail(reason) if os.environ.get("CI", "") == "true" else pytest.skip(reason)
