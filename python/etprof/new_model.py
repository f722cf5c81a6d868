"""`etprof new-model` creates a package with a working model, which the user replaces by their own model.

`etprof new-model ...` runs this file as `python -m etprof.new_model ...`. It does not import PyTorch. The package is a copy of
`template`, in which the model is named my_model.
"""

from __future__ import annotations

import argparse
import importlib.machinery
import keyword
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from etprof import errors, models
from etprof.errors import EXIT_BAD_INPUT, EXIT_DONE, EXIT_USAGE
from etprof.exporting import find, local

TEMPLATE = Path(__file__).resolve().parent / "template"
TEMPLATE_NAME = "my_model"


class CannotMakeError(Exception):
    """The package cannot be created; the error has the reason and the remedy."""

    def __init__(self, why: str, what_to_do: str, exit_code: int) -> None:
        super().__init__(why)
        self.what_to_do = what_to_do
        self.exit_code = exit_code


def make(name: str, folder: Path) -> list[Path]:
    """Write the package `folder`/`name` and return its files. A failure leaves no partial package.

    Raises:
        CannotMakeError: The name is not usable, the package exists, or the folder cannot be written to.
    """
    _check_name(name)
    package = folder / name
    if os.path.lexists(package):
        raise CannotMakeError(
            f"`{package}` exists, and is left as it is", "give another name or another --output", EXIT_BAD_INPUT
        )
    if others := local.registered(folder).get(name):
        raise CannotMakeError(
            f"`{name}` is registered by {others[0]}", f"give another name, such as my_{name}", EXIT_BAD_INPUT
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".etprof-", dir=folder) as temporary:
            staged = Path(temporary) / name
            staged.mkdir()
            for source in sorted(TEMPLATE.iterdir()):
                if source.is_file():
                    text = source.read_text(encoding="utf-8").replace(TEMPLATE_NAME, name)
                    (staged / source.name.replace(TEMPLATE_NAME, name)).write_text(text, encoding="utf-8")
            staged.rename(package)
    except OSError as error:
        why = f"{error.strerror}: {error.filename}" if error.filename else str(error.strerror)
        raise CannotMakeError(why, f"make {folder} writable or give another --output", EXIT_BAD_INPUT) from error
    return sorted(package.iterdir())


def _check_name(name: str) -> None:
    shown = "".join(letter if letter.isprintable() else "?" for letter in name)
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        fitting = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_")
        fitting = f"net_{fitting}" if fitting[:1].isdigit() else fitting
        hint = f", such as {fitting}" if fitting else ""
        raise CannotMakeError(
            f"`{shown}` is not a Python identifier", f"a name is made of letters, digits and '_'{hint}", EXIT_USAGE
        )
    if keyword.iskeyword(name) or keyword.issoftkeyword(name):
        raise CannotMakeError(f"`{name}` is a keyword of Python", f"give another name, such as {name}_net", EXIT_USAGE)
    another = f"give another name, such as my_{name}"
    if name in models.EXAMPLES or name in find.executorch_examples():
        whose = "etprof" if name in models.EXAMPLES else "ExecuTorch"
        raise CannotMakeError(f"`{name}` is an example model of {whose}", another, EXIT_USAGE)
    if _is_installed(name):
        raise CannotMakeError(
            f"`{name}` is the name of a Python module, which the package would hide", another, EXIT_USAGE
        )


def _is_installed(name: str) -> bool:
    # The current folder is on sys.path, but its modules are the user's, not installed ones.
    here = Path.cwd()
    path = [entry for entry in sys.path if entry and Path(entry) != here]
    return name in sys.stdlib_module_names or importlib.machinery.PathFinder.find_spec(name, path) is not None


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return the exit code."""
    parser = errors.Parser(prog="etprof new-model", allow_abbrev=False)
    parser.add_argument("name")
    parser.add_argument("--output", type=Path, default=Path())
    chosen = parser.parse_args(argv)
    return errors.exit_code_of(lambda: _make(chosen))


def _make(chosen: argparse.Namespace) -> int:
    try:
        files = make(chosen.name, chosen.output)
    except CannotMakeError as error:
        errors.report(str(error), error.what_to_do, sys.stderr)
        return error.exit_code
    print(*files, sep="\n", flush=True)
    where = "" if chosen.output == Path() else f"cd {shlex.quote(str(chosen.output))} && "
    print(f"next: {where}etprof export {chosen.name}", file=sys.stderr)
    return EXIT_DONE


if __name__ == "__main__":
    sys.exit(main())
