"""etprof's Python side: from a PyTorch model to the files that etprof measures.

Importing this package imports neither torch nor ExecuTorch, so that `etprof export --help` answers at once.
"""

__version__ = "0.1.0"
