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


class CreationError(errors.CommandError):
    """The package cannot be created."""


def make(name: str, folder: Path) -> list[Path]:
    """Write the package `folder`/`name` and return its files. A failure leaves no partial package.

    Raises:
        CreationError: The name is not usable, the package exists, or the folder cannot be written to.
    """
    _check_name(name)
    package = folder / name
    if os.path.lexists(package):
        raise CreationError(
            f"`{package}` exists, and is left as it is", "give another name or another --output", EXIT_BAD_INPUT
        )
    if existing := local.registered(folder).get(name):
        raise CreationError(
            f"`{name}` is registered by {existing[0]}", f"give another name, such as my_{name}", EXIT_BAD_INPUT
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
        reason = f"{error.strerror}: {error.filename}" if error.filename else str(error.strerror)
        raise CreationError(reason, f"make {folder} writable or give another --output", EXIT_BAD_INPUT) from error
    return sorted(package.iterdir())


def _check_name(name: str) -> None:
    printable_name = "".join(letter if letter.isprintable() else "?" for letter in name)
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        suggestion = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_")
        suggestion = f"net_{suggestion}" if suggestion[:1].isdigit() else suggestion
        hint = f", such as {suggestion}" if suggestion else ""
        raise CreationError(
            f"`{printable_name}` is not a Python identifier",
            f"a name is made of letters, digits and '_'{hint}",
            EXIT_USAGE,
        )
    if keyword.iskeyword(name) or keyword.issoftkeyword(name):
        raise CreationError(f"`{name}` is a keyword of Python", f"give another name, such as {name}_net", EXIT_USAGE)
    remedy = f"give another name, such as my_{name}"
    if name in models.EXAMPLES or name in find.executorch_examples():
        owner = "etprof" if name in models.EXAMPLES else "ExecuTorch"
        raise CreationError(f"`{name}` is an example model of {owner}", remedy, EXIT_USAGE)
    if _is_installed(name):
        raise CreationError(
            f"`{name}` is the name of a Python module, which the package would hide", remedy, EXIT_USAGE
        )


def _is_installed(name: str) -> bool:
    # The current folder is on sys.path, but its modules are the user's, not installed ones.
    folder = Path.cwd()
    path = [entry for entry in sys.path if entry and Path(entry) != folder]
    return name in sys.stdlib_module_names or importlib.machinery.PathFinder.find_spec(name, path) is not None


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return the exit code."""
    parser = errors.Parser(prog="etprof new-model", allow_abbrev=False)
    parser.add_argument("name")
    parser.add_argument("--output", type=Path, default=Path())
    settings = parser.parse_args(argv)
    return errors.run_command(lambda: _make(settings))


def _make(settings: argparse.Namespace) -> int:
    files = make(settings.name, settings.output)
    print(*files, sep="\n", flush=True)
    change_folder = "" if settings.output == Path() else f"cd {shlex.quote(str(settings.output))} && "
    print(f"next: {change_folder}etprof export {settings.name}", file=sys.stderr)
    return EXIT_DONE


if __name__ == "__main__":
    sys.exit(main())
