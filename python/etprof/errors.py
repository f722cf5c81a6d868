"""Errors of the commands that are written in Python, their exit codes, and their messages."""

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

# Exit codes, the same as those of the C++ commands (src/core/error.h).
EXIT_DONE = 0
EXIT_CHECK_FAILED = 1
EXIT_USAGE = 2
EXIT_BAD_INPUT = 3
EXIT_FAILED = 4
EXIT_UNDECIDED = 5
EXIT_INTERRUPTED = 130

# The stages of an export, in order.
FIND_MODEL = "find model"
BUILD_MODEL = "build model"
EXAMPLE_INPUTS = "example inputs"
TORCH_EXPORT = "torch.export"
CALIBRATE = "calibrate"
QUANTIZE = "quantize"
NOISE = "noise"  # of `etprof accuracy`
LOWER = "lower"
WRITE = "write"
CHECK = "check"

_FAILURE_TEXTS = {  # {} is replaced by the model's name
    FIND_MODEL: "Could not find model `{}`",
    BUILD_MODEL: "Building model `{}` failed",
    EXAMPLE_INPUTS: "The example inputs of `{}` cannot be used",
    TORCH_EXPORT: "torch.export failed for `{}`",
    CALIBRATE: "Calibrating `{}` failed",
    QUANTIZE: "Quantizing `{}` failed",
    NOISE: "Measuring the noise of `{}` failed",
    LOWER: "Lowering `{}` failed",
    WRITE: "Writing `{}` failed",
    CHECK: "Checking `{}` failed",
}

_MAX_REASON_LENGTH = 300  # characters; messages of torch can be pages long


class ExportError(Exception):
    """A failed export, with the model, the stage, the reason, and the remedy."""

    def __init__(self, model: str, stage: str, reason: str, remedy: str) -> None:
        super().__init__(f"{_FAILURE_TEXTS[stage].format(model)}: {reason}")
        self.model = model
        self.stage = stage
        self.reason = reason
        self.remedy = remedy


class CommandError(Exception):
    """A failed command, with the problem, the remedy, and the exit code."""

    def __init__(self, problem: str, remedy: str, exit_code: int = EXIT_BAD_INPUT) -> None:
        super().__init__(problem)
        self.remedy = remedy
        self.exit_code = exit_code


def report(problem: str, remedy: str, stream: TextIO) -> None:
    """Print the two lines with which etprof reports a failure: the problem and the remedy."""
    print(printable(f"error: {_capitalized(problem)}\n{hint(remedy)}"), file=stream)


# Characters that control a terminal or reverse text, and bytes that are not UTF-8, as in src/core/text/escape.h.
_UNPRINTABLE = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)


def printable(text: str, *, one_line: bool = False) -> str:
    """Escape a text with names from files or the command line for a terminal; `one_line` also escapes newlines and tabs."""
    escaped = _UNPRINTABLE.sub(_escape, text)
    return escaped.replace("\t", "\\t").replace("\n", "\\n") if one_line else escaped


def is_utf8(text: str) -> bool:
    """Return whether a text can be encoded as UTF-8. os.fsdecode also makes texts that cannot."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _escape(found: re.Match) -> str:
    code = ord(found[0])
    if 0xDC80 <= code <= 0xDCFF:  # os.fsdecode represents bytes that are not UTF-8 like this
        return f"\\x{code - 0xDC00:02x}"
    return f"\\x{code:02x}" if code < 0x20 else f"\\u{code:04x}"


class PrintableStream:
    """A stream that escapes all text for a terminal."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write the escaped text."""
        return self._stream.write(printable(text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class Parser(argparse.ArgumentParser):
    """An ArgumentParser whose usage errors have etprof's two lines: problem and remedy."""

    def parse_known_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> Any:
        """Refuse arguments that are not UTF-8, because writing them into a file would fail later."""
        for argument in sys.argv[1:] if args is None else args:
            if not is_utf8(argument):
                self.error(f"`{argument}` is not UTF-8")
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        """Report the error and exit."""
        remedy = f"see `{self.prog} --help`"
        if choice := re.fullmatch(r"argument ([^:]+): invalid choice: '(.*)' \(choose from (.*)\)", message):
            message = f"`{choice[1]}` does not take `{choice[2]}`"
            remedy = f"give one of {choice[3].replace(chr(39), '')}. See `{self.prog} --help`"
        elif missing := re.fullmatch(r"the following arguments are required: (.*)", message):
            message = f"missing: {missing[1]}"
        report(message, remedy, sys.stderr)
        self.exit(EXIT_USAGE)


def run_command(command: Callable[[], int]) -> int:
    """Run a command with escaped output, report its CommandError or interruption, and return its exit code.

    A reader that closes the pipe early is a success. A full disk is a failure.
    """
    try:
        with redirect_stdout(PrintableStream(sys.stdout)), redirect_stderr(PrintableStream(sys.stderr)):
            try:
                code = command()
            except CommandError as error:
                report(str(error), error.remedy, sys.stderr)
                code = error.exit_code
            except KeyboardInterrupt:
                print("Interrupted", file=sys.stderr)
                code = EXIT_INTERRUPTED
        sys.stdout.flush()
    except BrokenPipeError:
        code = EXIT_DONE
    except OSError as error:
        problem = f"`{error.filename}`: {error.strerror}" if error.filename else one_line(error)
        report(problem, "check the folder, its space, and your access to it", sys.stderr)
        code = EXIT_FAILED
    else:
        return code
    # Python flushes stdout again at exit, which must not fail.
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return code


def hint(remedy: str) -> str:
    """Return the hint line, as a sentence."""
    return f"hint: {_capitalized(remedy)}{'' if remedy.endswith(('.', '?', '!')) else '.'}"


def _capitalized(text: str) -> str:
    """Capitalize a text unless it begins with a name such as torch.export."""
    first = text.partition(" ")[0]
    return text[:1].upper() + text[1:] if first.isalpha() else text


@contextmanager
def failing_as(
    model: str,
    stage: str,
    remedy: str,
    explain: Callable[[BaseException], tuple[str, str] | None] = lambda _error: None,
) -> Iterator[None]:
    """Convert any exception raised inside to an ExportError of this stage; an ExportError passes unchanged.

    `explain` returns the reason and the remedy of an error, or None for an unknown error.

    SystemExit counts as a failure, because a user's model file may call sys.exit, and an export must not end silently.
    """
    try:
        yield
    except ExportError:
        raise
    except (Exception, SystemExit) as error:
        known = _explain(error, remedy) or explain(error) or (one_line(error), remedy)
        raise ExportError(model, stage, *known) from error


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield the error and its chain of causes, the first cause last."""
    while error is not None:
        yield error
        error = error.__cause__


def _install(package: str) -> str:
    """Return how to install a package without replacing PyTorch, which pip would do for some packages."""
    if package in ("timm", "torchvision", "transformers"):
        return "run `script/bootstrap --models`, which leaves PyTorch as it is"
    try:
        pinned = f" torch=={version('torch')}"
    except PackageNotFoundError:
        pinned = ""
    return f"run `{sys.executable} -m pip install {package}{pinned}`" + (", which keeps PyTorch" if pinned else "")


def one_line(error: BaseException) -> str:
    """Return `Type: first line of the message`, truncated."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return truncated(f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__, _MAX_REASON_LENGTH)


def truncated(text: str, max_length: int) -> str:
    """Return the text, with "..." at its end if it was longer than `max_length` characters."""
    return text if len(text) <= max_length else text[: max_length - 3] + "..."


def _explain(error: BaseException, remedy: str) -> tuple[str, str] | None:
    """Return the reason and the remedy of errors that any stage can have, or None for other errors."""
    # ExecuTorch's examples wrap the error of a missing package in their own error. transformers wraps any import error.
    causes = list(_causes(error))
    missing = next((e for e in causes if isinstance(e, ModuleNotFoundError) and e.name), None)
    if missing is not None:
        package = missing.name.partition(".")[0]
        return f"it needs the Python package {package}, which is not installed", _install(package)
    if isinstance(error, ModuleNotFoundError) and causes[-1] is not error:
        return f"an import failed: {one_line(causes[-1])}", remedy
    if isinstance(error, urllib.error.URLError):
        return f"a download failed: {error.reason}", "export where its weights can be downloaded, or put them in place"
    if isinstance(error, OSError) and error.strerror is not None:
        return f"{error.strerror}: {error.filename}" if error.filename else error.strerror, remedy
    return None
