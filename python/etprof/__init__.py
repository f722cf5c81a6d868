"""etprof, a profiler for ExecuTorch models.

    import etprof
    dump = etprof.read_etdump("model.etdump")  # NumPy columns
    dump.to_pandas()                           # as ExecuTorch's Inspector has it
    etprof.compare("off.etdump", "on.etdump").interval
    etprof.profile("model.pte", "isa=-avx2")   # measures both, and returns the report

Importing this package imports neither torch nor ExecuTorch nor NumPy, so that `etprof export --help` answers at once.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from etprof import torchvision_operators

if TYPE_CHECKING:
    from etprof.comparison import *  # noqa: F403
    from etprof.etdump import *  # noqa: F403
    from etprof.history import *  # noqa: F403
    from etprof.workflows import *  # noqa: F403

# Maps each public name of this package to the module that defines it.
_MODULES = {
    name: module
    for module, names in {
        "comparison": "Comparison compare",
        "etdump": "Etdump Profile read_etdump",
        "history": "History",
        "workflows": """analyze bisect build build_executorch check check_programs devices diff doctor generate inspect isa
                        kernels peaks profile quick_test recover report run suite trace validate versions""",
    }.items()
    for name in names.split()
}

__version__ = "0.1.0"
__all__ = ["__version__", *_MODULES]

# In a checkout, script/bootstrap builds the native module in this folder.
__path__.append(os.path.join(__path__[0], "..", "..", "build", "release", "python", "native"))  # noqa: PTH118, F405


# This makes `import timm` work after this import, which exported models need.
torchvision_operators.declare_when_missing()


def __dir__() -> list[str]:
    """Return the public names, including those that are not loaded yet."""
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    """Import the module of a public name when the name is first used."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
