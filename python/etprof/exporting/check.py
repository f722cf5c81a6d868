"""After an export: does the .pte compute what the model computes?

etprof-runner runs the .pte on the example inputs and, where shapes are dynamic, at the ends of their bounds; eager PyTorch in
fp32 runs the model on the same numbers.
"""

from __future__ import annotations

import json
import math
import re
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypedDict

from etprof import programs
from etprof.errors import one_line
from etprof.exporting import agreement, inputs
from etprof.exporting.agreement import Agreement

if TYPE_CHECKING:
    import torch

Count = Annotated[int, {"minimum": 1}]
Verdict = Literal["pass", "fail", "undecided"]
PASS: Verdict = "pass"  # noqa: S105 - a verdict
FAIL: Verdict = "fail"
UNDECIDED: Verdict = "undecided"
HELD_OUT = "held-out"  # of inputs that calibration has not seen, before their number

_NOT_REGISTERED = "not registered"  # of a backend or an operator, in the runner's error
# The lowering is not to blame for the last decibel: so much less than PyTorch in the same type is 1.26 times its noise.
_ALIKE_DB = 1
_CHECK_INPUTS = re.compile(r"\. Check the inputs \(saved [^)]*\), and the model in Python\.$")

_RUNNER_SECONDS = 1800  # a run that takes longer has hung


@dataclass(frozen=True)
class Case:
    """Inputs to check a method with: those it was exported with, or their like of other numbers or shapes."""

    method: str
    name: str  # "example", "smallest", "largest", "held-out 1"
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


@dataclass(frozen=True)
class CheckedCase:
    """A case's outputs against eager fp32, and what PyTorch itself loses by the type or the quantization alone."""

    method: Annotated[str, "name of the method"]
    inputs: Annotated[
        str, "example; smallest or largest: of the shapes; held-out and a number: drawn from another seed"
    ]
    shapes: Annotated[list[list[int] | None], "of the inputs; null: no tensor"]
    outputs: Annotated[list[Agreement], "of the .pte against eager fp32"]
    pytorch_same_type: Annotated[
        list[Agreement], "of the exported program in PyTorch against fp32; empty: the model is fp32"
    ]


@dataclass(frozen=True)
class Check:
    """The answer, and what it was found with. Infinities do not occur."""

    verdict: Annotated[
        Verdict, "whether the program computes what the model computes; undecided: it could not be checked"
    ]
    why: Annotated[str | None, "the first problem, or why it could not be checked; null: it passed"]
    warnings: Annotated[list[str], "what to know of the program, though it decides nothing"]
    min_sqnr_db: Annotated[float, "what was asked for: signal-to-noise ratio in dB; 0: not checked"]
    min_variation_sqnr_db: Annotated[float, "what was asked for, with the deviation from the mean as the signal"] = (
        field(init=False, default=agreement.MIN_VARIATION_SQNR_DB)
    )
    max_diff_over_largest: Annotated[
        float,
        "what was asked for: largest difference of one element over the largest magnitude of the reference",
    ] = field(init=False)
    cases: Annotated[list[CheckedCase], "each method on each kind of inputs, as far as the check came"] = field(
        default_factory=list
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "max_diff_over_largest", agreement.max_over_largest(self.min_sqnr_db))


Outputs = list[Any]
Run = Callable[[Case], Outputs]


class CannotRun(Exception):  # noqa: N818 - an answer
    """The runner could not run the .pte. `elsewhere`: another runner may, since this one lacks a backend or an operator."""

    def __init__(self, why: str, elsewhere: bool) -> None:
        super().__init__(why)
        self.elsewhere = elsewhere


def eager_outputs(module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Outputs:
    """What the module gives, flat. It finds its buffers as they were, and leaves them so; its inputs are copies."""
    import torch
    from torch.utils import _pytree

    before = {name: buffer.clone() for name, buffer in module.named_buffers()}
    args, kwargs = _pytree.tree_map_only(torch.Tensor, torch.clone, (args, kwargs))
    with torch.no_grad():
        try:
            return _pytree.tree_leaves(module(*args, **kwargs))
        finally:
            for name, buffer in module.named_buffers():
                buffer.copy_(before[name])


def runner_of(pte: Path, runner: Path) -> Run:
    """Runs a case by etprof-runner, in a process of its own; it raises CannotRun."""

    def run(case: Case) -> Outputs:
        with tempfile.TemporaryDirectory(prefix="etprof-check-") as name:
            folder = Path(name)
            (folder / "inputs").write_bytes(inputs.encode({case.method: inputs.flatten(case.args, case.kwargs)}))
            command = [
                str(runner),
                f"--model_path={pte}",
                f"--method_name={case.method}",
                "--input-kind=saved",
                f"--inputs={folder / 'inputs'}",
                f"--save-outputs={folder / 'outputs'}",
                "--print_output=none",
            ]
            try:
                done = subprocess.run(  # noqa: S603 - our own program
                    command, capture_output=True, text=True, errors="replace", timeout=_RUNNER_SECONDS, check=False
                )
            except subprocess.TimeoutExpired as error:
                raise CannotRun(f"it did not end within {_RUNNER_SECONDS} s", elsewhere=False) from error
            except OSError as error:
                raise CannotRun(f"{runner}: {error.strerror}", elsewhere=True) from error
            if done.returncode != 0:
                raise CannotRun(_error_of(done), _NOT_REGISTERED in done.stderr)
            return inputs.decode((folder / "outputs").read_bytes())[case.method]

    return run


def _error_of(done: subprocess.CompletedProcess[str]) -> str:
    """The runner's error without its name, or its exit code.

    The inputs are saved in a folder that is deleted, so that they are not named.
    """
    lines = [line for line in done.stderr.splitlines() if line.startswith("etprof-runner: ")]
    if not lines:
        return f"etprof-runner ended with {done.returncode}"
    return _CHECK_INPUTS.sub("", lines[0].removeprefix("etprof-runner: "))


def check(
    cases: Sequence[Case],
    run: Run,
    eager: Run,
    same_type: Run | None,
    computes_in: str,
    min_sqnr_db: float | None = None,
    as_lowered: Callable[[Case], tuple[Outputs, Outputs, str] | None] = lambda _case: None,
) -> Check:
    """Run every case by `run` and hold its outputs against those of `eager`, fp32.

    `same_type` runs the exported program in PyTorch, where it is not fp32: that part of a difference is not the
    lowering's. `computes_in` ("fp32", "fp16", "bf16", "int8") says how near is near enough, unless `min_sqnr_db` does.
    `as_lowered` gives the outputs of the exported program in PyTorch, those of the same as the backend is known to compute
    it, and what differs: where the former are those of the model, and the latter those of the .pte, that is the cause.
    """
    least = agreement.MIN_SQNR_DB[computes_in] if min_sqnr_db is None else min_sqnr_db
    exact = computes_in == "fp32"
    checked = []
    known = ""
    for case in cases:
        try:
            expected = eager(case)
        except Exception as error:
            why = f"{_label(case.method, case.name)}: PyTorch itself fails: {one_line(error)}"
            return Check(UNDECIDED, why, [], least, checked)
        try:
            actual = run(case)
        except CannotRun as error:
            verdict = UNDECIDED if error.elsewhere else FAIL
            return Check(
                verdict, f"{_label(case.method, case.name)}: the .pte does not run: {error}", [], least, checked
            )
        same = [agreement.compare(*pair) for pair in zip(same_type(case), expected, strict=True)] if same_type else []
        checked.append(CheckedCase(case.method, case.name, _shapes(case), _compare_all(actual, expected), same))
        if not known and not _near(checked[-1].outputs, least, exact):
            known = _cause_in(as_lowered(case), expected, actual, least, exact)
    return _judge(checked, least, exact, known)


def _cause_in(
    found: tuple[Outputs, Outputs, str] | None, expected: Outputs, actual: Outputs, least: float, exact: bool
) -> str:
    if found is None:
        return ""
    exported, lowered, what = found
    pairs = ((exported, expected), (actual, lowered))
    return what if all(_near(_compare_all(*pair), least, exact) for pair in pairs) else ""


def _near(outputs: Sequence[Agreement], least: float, exact: bool) -> bool:
    return all(output.why_not(least, exact) is None for output in outputs)


def not_checked(why: str) -> Check:
    """The check that could not be made."""
    return Check(UNDECIDED, why, [], 0.0)


def _compare_all(actual: Outputs, expected: Outputs) -> list[Agreement]:
    if len(actual) != len(expected):
        return [Agreement([], "", problem=f"{len(actual)} outputs instead of {len(expected)}")]
    return [agreement.compare(*pair) for pair in zip(actual, expected, strict=True)]


def _judge(cases: list[CheckedCase], least: float, exact: bool, known_cause: str = "") -> Check:
    whys, warnings = [], []
    for case in cases:
        for number, output in enumerate(case.outputs):
            place = f"{_label(case.method, case.inputs)}: output {number}"
            why = output.why_not(least, exact)
            if why is not None:
                cause = f". {known_cause}" if known_cause else _cause(case, number, least, exact)
                whys.append(f"{place}: {why}{cause}")
            warnings += [f"{place}: {warning}" for warning in _health(output, exact)]
    if whys:
        more = f" (and {len(whys) - 1} more, in the .json)" if len(whys) > 1 else ""
        return Check(FAIL, whys[0] + more, warnings, least, cases)
    for case in cases:
        if not any(output.judged(exact) for output in case.outputs):
            why = f"{_label(case.method, case.inputs)}: it gives no finite number to compare"
            return Check(UNDECIDED, why, warnings, least, cases)
    return Check(PASS, None, warnings, least, cases)


def _cause(case: CheckedCase, number: int, least: float, exact: bool) -> str:
    """Whether the lowering is to blame, or already the type."""
    if number >= len(case.pytorch_same_type):
        return ""
    actual, same = case.outputs[number].sqnr_db, case.pytorch_same_type[number].sqnr_db
    if actual is not None and same is not None and 0 <= same - actual < _ALIKE_DB:
        return (
            f"; PyTorch in the same type has {same:.1f} dB: the type or the quantization is the cause, not the lowering"
        )
    if case.pytorch_same_type[number].why_not(least, exact) is None:
        return "; PyTorch in the same type is near enough: the lowering is the cause"
    return "; so is PyTorch in the same type: the type or the quantization is the cause, not the lowering"


def _health(output: Agreement, exact: bool) -> list[str]:
    warnings = []
    for kind in ("nan", "inf"):
        eager, pte = getattr(output.expected, kind), getattr(output.actual, kind)
        if eager or pte:
            warnings.append(
                f"{'NaN' if kind == 'nan' else 'Inf'} in {eager} elements of PyTorch's, {pte} of the .pte's"
            )
    if output.differing and not exact:
        warnings.append(f"{output.differing} of {max(1, math.prod(output.shape))} integers differ")
    return warnings


def _label(method: str, case: str) -> str:
    if case == "example":
        return method
    return f"{method}, {case}" + ("" if case.startswith(HELD_OUT) else " shapes")


def _shapes(case: Case) -> list[list[int] | None]:
    leaves = inputs.flatten(case.args, case.kwargs)
    return [list(leaf.shape) if hasattr(leaf, "shape") else None for leaf in leaves]


class NotDelegated(TypedDict):
    """A kernel that no delegate runs."""

    name: Annotated[str, "of the operator"]
    calls: Annotated[int, "instructions that call its kernel", {"minimum": 1}]
    why: Annotated[str | None, "why it is not delegated; null: not known"]


@dataclass(frozen=True)
class MethodDelegation:
    """What of a method is delegated. A number that is not known is None."""

    method: Annotated[str, "name of the method"]
    delegates: Annotated[dict[str, Count], "by backend: how many the method has"]
    delegated_operators: Annotated[
        int | None, "nodes of the delegates' graphs, as often as each is called; null: not known"
    ]
    other_operators: Annotated[int, "calls of kernels"]
    delegated_share_of_operators: Annotated[
        float | None,
        "delegated_operators over the sum with other_operators; null: not known, or no operators",
        {"minimum": 0, "maximum": 1},
    ]
    delegated_share_of_macs: Annotated[
        float | None, "of the multiply-accumulates; null: not known", {"minimum": 0, "maximum": 1}
    ]
    not_delegated: Annotated[list[NotDelegated], "kernels that no delegate runs"]
    delegated_share_of_bytes: Annotated[
        float | None,
        "of what operators read and write at least, also those without multiply-accumulates; null: not known",
        {"minimum": 0, "maximum": 1},
    ] = None


def delegation(pte: Path) -> list[MethodDelegation] | str:
    """What `etprof inspect` says of each method, or why it could not be asked."""
    program = programs.etprof()
    if program is None:
        return "there is no etprof to ask: build it, or name it in ETPROF"
    done = subprocess.run([program, "inspect", "--json", pte], capture_output=True, check=False)  # noqa: S603
    if done.returncode != 0:
        return done.stderr.decode(errors="replace").strip().partition("\n")[0]
    return [_delegation_of(method) for method in json.loads(done.stdout)["methods"]]


def _delegation_of(method: dict[str, Any]) -> MethodDelegation:
    backends: dict[str, int] = {}
    nodes: int | None = 0
    for delegate in method["delegates"]:
        backends[delegate["backend"]] = backends.get(delegate["backend"], 0) + 1
        known = delegate["nodes"] is not None and nodes is not None
        nodes = nodes + delegate["nodes"] * delegate["calls"] if known else None
    others = sum(operator["calls"] for operator in method["operators"])
    return MethodDelegation(
        method["name"],
        backends,
        nodes,
        others,
        nodes / (nodes + others) if nodes is not None and nodes + others > 0 else None,
        method["delegated_share_of_macs"],
        [
            {"name": operator["name"], "calls": operator["calls"], "why": operator["why_not_delegated"]}
            for operator in method["operators"]
        ],
        method.get("delegated_share_of_bytes"),
    )
