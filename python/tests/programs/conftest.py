"""Exports of pairs.py's models, and the programs that read and run them."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from exports import Exported

# Of a model of pairs.py, beside the name of a backend.
FORMS: dict[str, dict[str, str]] = {"fp16": {"dtype": "fp16"}, "int8": {"quantize": "static"}}


@pytest.fixture(scope="session")
def needs_build() -> None:
    """Skips where etprof or its runner is not built, and fails there with CI=true."""
    for name in ("etprof", "etprof-runner"):
        program = Path(__file__).parents[3] / "build" / name
        if not program.is_file():
            message = f"{program} is not built (script/bootstrap builds it)"
            if os.environ.get("CI", "") == "true":
                pytest.fail(message)
            pytest.skip(message)


@pytest.fixture(scope="session")
def variant(exported: Exported) -> Callable[[str], Path]:
    """variant("Base"), or variant("Base FORM"), gives the path of pairs.py's model, exported and not checked."""

    def export(text: str) -> Path:
        name, _, form = text.partition(" ")
        model = f"{Path(__file__).with_name('pairs.py')}:{name}"
        return exported(model, check=False, **FORMS.get(form, {"backend": form or "xnnpack"}))

    return export
