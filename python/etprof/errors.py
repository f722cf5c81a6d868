"""The one error that an export ends with."""

from __future__ import annotations

import argparse
import os
import re
import sys
import urllib.error
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NoReturn, TextIO

# What commands exit with, as the C++ ones do (src/core/error.h).
EXIT_DONE = 0
EXIT_CHECK_FAILED = 1
EXIT_USAGE = 2
EXIT_BAD_INPUT = 3
EXIT_FAILED = 4
EXIT_UNDECIDED = 5
EXIT_INTERRUPTED = 130

# The stages of an export, in their order.
FIND_MODEL = "find model"
BUILD_MODEL = "build model"
EXAMPLE_INPUTS = "example inputs"
TORCH_EXPORT = "torch.export"
CALIBRATE = "calibrate"
QUANTIZE = "quantize"
LOWER = "lower"
WRITE = "write"
CHECK = "check"

_FAILED = {  # {} is the model
    FIND_MODEL: "Could not find model `{}`",
    BUILD_MODEL: "Building model `{}` failed",
    EXAMPLE_INPUTS: "The example inputs of `{}` cannot be used",
    TORCH_EXPORT: "torch.export failed for `{}`",
    CALIBRATE: "Calibrating `{}` failed",
    QUANTIZE: "Quantizing `{}` failed",
    LOWER: "Lowering `{}` failed",
    WRITE: "Writing `{}` failed",
    CHECK: "Checking `{}` failed",
}

_LONGEST_REASON = 300  # characters: torch's messages run over pages, and a terminal shows one line


class ExportError(Exception):
    """An export that could not be done: for which model, at which stage, why, and what to do about it."""

    def __init__(self, model: str, stage: str, why: str, what_to_do: str) -> None:
        super().__init__(f"{_FAILED[stage].format(model)}: {why}")
        self.model = model
        self.stage = stage
        self.why = why
        self.what_to_do = what_to_do


def report(problem: str, what_to_do: str, to: TextIO) -> None:
    """The two lines that every failure of etprof ends with."""
    print(printable(f"error: {_capitalized(problem)}\n{hint(what_to_do)}"), file=to)


# As src/core/text/escape.h has it: what controls a terminal, reverses text, or is a byte that is not UTF-8.
_HARMFUL = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)


def printable(text: str, *, one_line: bool = False) -> str:
    """A text with names from files or the command line, for a terminal; line ends and tabs stay unless it is `one_line`."""
    escaped = _HARMFUL.sub(_escape, text)
    return escaped.replace("\t", "\\t").replace("\n", "\\n") if one_line else escaped


def is_utf8(text: str) -> bool:
    """Whether a text can be written into a file: os.fsdecode makes texts of any bytes."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _escape(found: re.Match) -> str:
    code = ord(found[0])
    if 0xDC80 <= code <= 0xDCFF:  # what os.fsdecode makes of a byte
        return f"\\x{code - 0xDC00:02x}"
    return f"\\x{code:02x}" if code < 0x20 else f"\\u{code:04x}"


class PrintableStream:
    """A stream for people: what is written is printable."""

    def __init__(self, to: TextIO) -> None:
        self._to = to

    def write(self, text: str) -> int:
        """Write it."""
        return self._to.write(printable(text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._to, name)


class Parser(argparse.ArgumentParser):
    """One whose usage errors are two lines, as all are."""

    def parse_known_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> Any:
        """As argparse, for arguments that are texts: what is not would end where it is written into a file."""
        for argument in sys.argv[1:] if args is None else args:
            if not is_utf8(argument):
                self.error(f"`{argument}` is not UTF-8")
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        """Report it, and end the process."""
        what_to_do = f"see `{self.prog} --help`"
        if choice := re.fullmatch(r"argument ([^:]+): invalid choice: '(.*)' \(choose from (.*)\)", message):
            message = f"`{choice[1]}` does not take `{choice[2]}`"
            what_to_do = f"give one of {choice[3].replace(chr(39), '')}. See `{self.prog} --help`"
        elif missing := re.fullmatch(r"the following arguments are required: (.*)", message):
            message = f"missing: {missing[1]}"
        report(message, what_to_do, sys.stderr)
        self.exit(EXIT_USAGE)


def exit_code_of(command: Callable[[], int]) -> int:
    """A command's own exit code; done where whoever reads its output has seen enough, failed where that is full or a disk is.

    What the command prints is printable.
    """
    try:
        with redirect_stdout(PrintableStream(sys.stdout)), redirect_stderr(PrintableStream(sys.stderr)):
            code = command()
        sys.stdout.flush()
    except BrokenPipeError:
        code = EXIT_DONE
    except OSError as error:
        problem = f"`{error.filename}`: {error.strerror}" if error.filename else one_line(error)
        report(problem, "check the folder, its space, and your access to it", sys.stderr)
        code = EXIT_FAILED
    else:
        return code
    # Python writes what is left once more when it ends.
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return code


def hint(what_to_do: str) -> str:
    """The line that says what to do, as a sentence."""
    return f"hint: {_capitalized(what_to_do)}{'' if what_to_do.endswith(('.', '?', '!')) else '.'}"


def _capitalized(text: str) -> str:
    """Unless it begins with a name, such as torch.export."""
    first = text.partition(" ")[0]
    return text[:1].upper() + text[1:] if first.isalpha() else text


@contextmanager
def failing_as(
    model: str,
    stage: str,
    what_to_do: str,
    explained: Callable[[BaseException], tuple[str, str] | None] = lambda _error: None,
) -> Iterator[None]:
    """Turn whatever is raised inside into an ExportError of this stage; an ExportError passes unchanged.

    `explained` says of an error why it came and what to do, None where it does not know it.

    SystemExit counts as a failure: a user's model file may call sys.exit, and an export must not end silently.
    """
    try:
        yield
    except ExportError:
        raise
    except (Exception, SystemExit) as error:
        known = _explain(error, what_to_do) or explained(error) or (one_line(error), what_to_do)
        raise ExportError(model, stage, *known) from error


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error and what it was raised from, the first cause last."""
    while error is not None:
        yield error
        error = error.__cause__


def _install(package: str) -> str:
    """How to get a package without getting another PyTorch, which pip would do for some of them."""
    if package in ("timm", "torchvision", "transformers"):
        return "run `script/bootstrap --models`, which leaves PyTorch as it is"
    try:
        kept = f" torch=={version('torch')}"
    except PackageNotFoundError:
        kept = ""
    return f"run `{sys.executable} -m pip install {package}{kept}`" + (", which keeps PyTorch" if kept else "")


def one_line(error: BaseException) -> str:
    """`Type: first line of the message`, cut to what a terminal line bears."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
    return text if len(text) <= _LONGEST_REASON else text[: _LONGEST_REASON - 3] + "..."


def _explain(error: BaseException, what_to_do: str) -> tuple[str, str] | None:
    """Of errors that are no matter of a stage, why it failed and what to do; None: of others."""
    # ExecuTorch's examples wrap a missing package into an error of their own, and transformers any that an import ends with.
    causes = list(_causes(error))
    missing = next((e for e in causes if isinstance(e, ModuleNotFoundError) and e.name), None)
    if missing is not None:
        package = missing.name.partition(".")[0]
        return f"it needs the Python package {package}, which is not installed", _install(package)
    if isinstance(error, ModuleNotFoundError) and causes[-1] is not error:
        return f"an import failed: {one_line(causes[-1])}", what_to_do
    if isinstance(error, urllib.error.URLError):
        return f"a download failed: {error.reason}", "export where its weights can be downloaded, or put them in place"
    if isinstance(error, OSError) and error.strerror is not None:
        return f"{error.strerror}: {error.filename}" if error.filename else error.strerror, what_to_do
    return None
