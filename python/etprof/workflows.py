"""The commands of etprof as functions. Each returns the command's --json output (docs/reference/json.md)."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Mapping
from inspect import Parameter, signature
from pathlib import Path
from typing import Any

from etprof import _native, programs
from etprof.results import Result, parse

Path_ = str | os.PathLike[str]
Progress = Callable[[dict[str, Any]], object]


def analyze(path: Path_) -> Result:
    """Analyze where the time goes in an ETDump, a timeline CSV, or a results directory.

    Files of the analysis that are missing or outdated are written into the results directory.

    Raises:
        ValueError: an input cannot be read; the message says which and why (also for the functions below)
    """
    return parse(_native.analyze(os.fspath(path)))


def report(path: Path_, out: Path_ | None = None) -> list[Path]:
    """Regenerate report.md and report.html of a results directory or a trace, in the folder or as the file `out`."""
    return [Path(file) for file in _native.report(os.fspath(path), os.fspath(out) if out is not None else "")]


def inspect(model: Path_) -> Result:
    """Show the contents of a .pte: instructions, delegates, tensors, sizes, MACs."""
    return parse(_native.inspect(os.fspath(model)))


def check_programs(baseline: Path_, candidate: Path_, thresholds: Path_ | None = None) -> Result:
    """Compare two .pte without running them, with the limits in a file if given: `etprof check --static`."""
    return parse(_native.check_programs(os.fspath(baseline), os.fspath(candidate), os.fspath(thresholds or "")))


def diff(baseline: Path_, candidate: Path_, *runs: Path_) -> Result:
    """Show the differences between two .pte, with the times that `runs` measured."""
    return parse(_native.diff(os.fspath(baseline), os.fspath(candidate), [os.fspath(run) for run in runs]))


def kernels(*paths: Path_, filter_op: str = "") -> Result:
    """Show the microkernels in logs of kernel-log runs or in results directories."""
    return parse(_native.kernels([os.fspath(path) for path in paths], filter_op))


def trace(*paths: Path_, out: Path_, model: Path_ | None = None) -> Path:
    """Write the runs of a results directory or of traces as a timeline: Perfetto's, or Chrome's for a .json."""
    return Path(_native.trace([os.fspath(path) for path in paths], os.fspath(out), os.fspath(model or "")))


def validate(run: Path_) -> Result:
    """Verify the integrity of a results directory; see "ok" and "findings"."""
    return parse(_native.validate(os.fspath(run)))


# Functions that measure take the options of their commands (`max_seconds` is --max-seconds). C++ describes these options.

_RAISES = """
`progress` is called with a dict about the current step: "kind", "device", "text", "done", and "total".

Raises:
    ValueError: an argument or input is wrong
    RuntimeError: the command failed; results that were measured are kept
    KeyboardInterrupt: after Ctrl-C, once the results so far are stored (resume=True continues)
    Exception: an exception from `progress` ends the measurement, too"""


# Time limits that depend on the measurement, as in docs/reference/cli.md. A limit that begins with a number has that value for
# one pair, step, or model.
_TIME_LIMITS = {
    "profile": "60 for each pair",
    "run": "the configuration's, or 60 for each pair",
    "versions": "60 for each pair",
    "isa": "15 for each level and number of threads, at least 60",
    "generate": "60 and 60 for each variant",
    "check": "60 for each pair, 120 with generate",
    "bisect": "60 for each step",
}


def _with_options(function: Callable[..., Result]) -> Callable[..., Result]:
    """Add the described options to the signature and the documentation of a function that takes `**options`."""
    original = signature(function)
    *parameters, _options = original.parameters.values()
    explicit_names = {parameter.name for parameter in parameters}
    lines = [function.__doc__ or "", "", "Options:"]
    for name, schema in json.loads(_native.options(function.__name__)).items():
        if name == "max_seconds" and function.__name__ in _TIME_LIMITS:
            limit = _TIME_LIMITS[function.__name__]
            schema["description"] += f" (default: {limit})"
            schema["default"] = 60.0 if limit.startswith("60 ") else None
        if name not in explicit_names and "description" in schema:
            parameters.append(_parameter(name, schema))
            lines.append(f"    {name}: {schema['description']}")
    function.__signature__ = original.replace(parameters=parameters)  # type: ignore[attr-defined]
    function.__doc__ = "\n".join([*lines, _RAISES])
    return function


def _parameter(name: str, schema: dict[str, Any]) -> Parameter:
    """Return a keyword parameter of the schema's type. Its default is None if etprof chooses the value."""
    default, kind = schema["default"], _annotation(schema, schema.get("title", ""))
    if default in (None, "", []) or (type(default) is int and default < schema.get("minimum", default)):
        default, kind = None, f"{kind} | None"
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def _annotation(schema: dict[str, Any], title: str) -> str:
    if "anyOf" in schema:  # a value, or a list of values
        element = _annotation(schema["anyOf"][0], title)
        return f"{element} | Sequence[{element}]"
    if "enum" in schema:
        return f"Literal[{', '.join(map(repr, schema['enum']))}]"
    kind = schema["type"] if isinstance(schema["type"], str) else schema["type"][0]
    if kind == "string" and re.search(r"DIR|FILE|LIBRARY|PATH|\.pte", title):
        return "Path_"
    return {"boolean": "bool", "integer": "int", "number": "float", "string": "str"}[kind]


@_with_options
def profile(model: Path_, *vs: str, progress: Progress | None = None, **options: Any) -> Result:
    """Measure a .pte, or compare it with variants of it ("isa=-avx2", "threads=2"), and analyze the results."""
    return _do("profile", progress, options, model=model, vs=vs)


@_with_options
def run(
    config: Path_ | Mapping[str, Any], *, dry_run: bool = False, progress: Progress | None = None, **options: Any
) -> Result:
    """Measure the experiments of a configuration, a file or a dict with its keys, and analyze the results.

    `dry_run` returns the plan without measuring.
    """
    text = json.dumps(config, default=os.fspath) if isinstance(config, Mapping) else ""
    return _do("plan" if dry_run else "run", progress, options, config="config" if text else config, text=text)


@_with_options
def versions(model: Path_, *, progress: Progress | None = None, **options: Any) -> Result:
    """Measure a .pte, or a model that each release exports, with several ExecuTorch releases, each against the one before."""
    return _do("versions", progress, options, model=model)


@_with_options
def isa(model: Path_ | None = None, *, progress: Progress | None = None, **options: Any) -> Result:
    """Measure a .pte at each feature level of the CPU, and analyze the results; without a model, return the levels of the CPU."""
    return _do("isa", progress, options, model=model or "")


@_with_options
def generate(model: Path_, *vs: str, progress: Progress | None = None, **options: Any) -> Result:
    """Measure a language model, or compare it with variants of it: prompts, tokens by depth, and the first token."""
    return _do("generate", progress, options, model=model, vs=vs)


@_with_options
def check(
    baseline: Path_, candidate: Path_ | str | None = None, *, progress: Progress | None = None, **options: Any
) -> Result:
    """Compare two models or configurations, which are measured, or two results directories; see "result".

    The candidate of a model may be a variant of it ("isa=-avx2"); a configuration or a results directory alone has pairs.
    """
    return _do("check", progress, options, baseline=baseline, candidate=candidate or "")


@_with_options
def bisect(good: str, bad: str, command: list[str], *, progress: Progress | None = None, **options: Any) -> Result:
    """Find the commit that made a model or a runner slower; `command` builds a commit."""
    return _do("bisect", progress, options, good=good, bad=bad, command=command)


@_with_options
def suite(path: Path_, *, progress: Progress | None = None, **options: Any) -> Result:
    """Measure the models of a suite's file on its devices; a suite's folder is read."""
    return _do("suite", progress, options, path=path)


@_with_options
def peaks(*, progress: Progress | None = None, **options: Any) -> Result:
    """Measure what a device can compute and load at most."""
    return _do("peaks", progress, options)


@_with_options
def devices(*, progress: Progress | None = None, **options: Any) -> Result:
    """List this machine and the devices that can be reached."""
    return _do("devices", progress, options)


def doctor() -> Result:
    """Show what this machine has of what the commands need; see "ready"."""
    return _do("doctor", None, {})


@_with_options
def quick_test(*, progress: Progress | None = None, **options: Any) -> Result:
    """Take a small model from the export to the report, with the etprof program; see "passed"."""
    return _do("quick_test", progress, options)


@_with_options
def build(target: str, *, progress: Progress | None = None, **options: Any) -> Result:
    """Build etprof-runner for "linux-aarch64", "android", "macos-arm64", or "native", in a checkout of etprof."""
    return _do("build", progress, options, target=target)


@_with_options
def build_executorch(
    executorch: Path_, *, dry_run: bool = False, progress: Progress | None = None, **options: Any
) -> Result:
    """Build ExecuTorch's own executor_runner in a checkout of it; `dry_run`: the commands, and nothing is built."""
    return _do("build_executorch", progress, options, executorch=executorch, dry_run=dry_run)


def recover(path: Path_) -> Result:
    """Merge and analyze what a killed measurement left, and verify it; see "recovered" and "ok"."""
    return _do("recover", None, {}, run=path)


def _do(name: str, progress: Progress | None, options: dict[str, Any], **parameters: Any) -> Result:
    known = [option for option in json.loads(_native.options(name)) if option not in parameters]
    for option in options:
        if option == "vs" and "vs" in parameters:
            raise TypeError(f"{name}() takes variants by position: {name}(model, 'threads=2', 'isa=-avx2')")
        if option not in known:
            raise TypeError(f"{name}() got an unexpected keyword argument {option!r}; it takes {', '.join(known)}")
    if name in ("suite", "quick_test", "doctor"):  # these start Python for exports, or check whether exports work
        os.environ.setdefault("ETPROF_PYTHON", sys.executable)
    _native.set_program(os.fspath(programs.expected_path()))
    arguments = {key: value for key, value in (options | parameters).items() if value is not None}
    return parse(_native.measure(name, json.dumps(arguments, default=os.fspath), progress))
