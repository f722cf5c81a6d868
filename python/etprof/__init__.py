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

# The names of this package, and the module that each comes from.
_WHERE = {
    name: module
    for module, names in {
        "comparison": "Comparison compare",
        "etdump": "Etdump Profile read_etdump",
        "history": "History",
        "workflows": """analyze bisect build build_executorch check check_programs devices diff doctor inspect isa
                        kernels peaks profile quick_test recover report run suite trace validate""",
    }.items()
    for name in names.split()
}

__version__ = "0.1.0"
__all__ = ["__version__", *_WHERE]

# In a checkout the compiled part is where script/bootstrap has built it.
__path__.append(os.path.join(__path__[0], "..", "..", "build", "release", "python", "native"))  # noqa: PTH118, F405


# So that `import timm` works after this import, as in models that are exported.
torchvision_operators.declare_when_missing()


def __dir__() -> list[str]:
    """The public names, loaded or not."""
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    """Import what is asked for when it is first asked for."""
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)
