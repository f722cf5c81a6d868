"""etprof, a profiler for ExecuTorch models.

    import etprof
    dump = etprof.read_etdump("model.etdump")  # NumPy columns
    dump.to_pandas()                           # as ExecuTorch's Inspector has it
    etprof.compare("off.etdump", "on.etdump").interval

Importing this package imports neither torch nor ExecuTorch nor NumPy, so that `etprof export --help` answers at once.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from etprof.comparison import Comparison, compare
    from etprof.etdump import Etdump, Profile, read_etdump
    from etprof.history import History
    from etprof.workflows import analyze, check, check_programs, diff, inspect, kernels, report, trace, validate

__version__ = "0.1.0"
__all__ = [
    "Comparison",
    "Etdump",
    "History",
    "Profile",
    "__version__",
    "analyze",
    "check",
    "check_programs",
    "compare",
    "diff",
    "inspect",
    "kernels",
    "read_etdump",
    "report",
    "trace",
    "validate",
]

# In a checkout the compiled part is where script/bootstrap has built it.
__path__.append(os.path.join(__path__[0], "..", "..", "build", "release", "python", "native"))  # noqa: PTH118

_WHERE = {
    "Comparison": "comparison",
    "compare": "comparison",
    "Etdump": "etdump",
    "Profile": "etdump",
    "History": "history",
    "read_etdump": "etdump",
    **dict.fromkeys(
        ("analyze", "check", "check_programs", "diff", "inspect", "kernels", "report", "trace", "validate"),
        "workflows",
    ),
}


def __getattr__(name: str) -> Any:
    """Import what is asked for when it is first asked for."""
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)
