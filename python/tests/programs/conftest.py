"""Exports of pairs.py's models, and the programs that read and run them."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from exports import Exported

# Forms of a model of pairs.py that are not names of a backend.
FORMS: dict[str, dict[str, str]] = {"fp16": {"dtype": "fp16"}, "int8": {"quantize": "static"}}


@pytest.fixture(scope="session")
def needs_build() -> None:
    """Skips the test if etprof or its runner is not built. With CI=true, fails instead."""
    for name in ("etprof", "etprof-runner"):
        program = Path(__file__).parents[3] / "build" / name
        if not program.is_file():
            message = f"{program} is not built (script/bootstrap builds it)"
            if os.environ.get("CI", "") == "true":
                pytest.fail(message)
            pytest.skip(message)


@pytest.fixture(scope="session")
def variant(exported: Exported) -> Callable[[str], Path]:
    """variant("Base") or variant("Base FORM") exports a model of pairs.py without a check, and returns the path."""

    def export(text: str) -> Path:
        name, _, form = text.partition(" ")
        model = f"{Path(__file__).with_name('pairs.py')}:{name}"
        return exported(model, check=False, **FORMS.get(form, {"backend": form or "xnnpack"}))

    return export
