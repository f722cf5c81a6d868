"""Check after an export whether the .pte computes what the model computes.

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
from etprof.exporting import agreement, inputs, noise
from etprof.exporting.agreement import Agreement

if TYPE_CHECKING:
    import torch

Count = Annotated[int, {"minimum": 1}]
Verdict = Literal["pass", "fail", "undecided"]
PASS: Verdict = "pass"  # noqa: S105 - a verdict
FAIL: Verdict = "fail"
UNDECIDED: Verdict = "undecided"
HELD_OUT = "held-out"  # start of the names of inputs that were not used for calibration; a number follows

_NOT_REGISTERED = "not registered"  # part of the runner's error if a backend or an operator is missing
# If the .pte has at most this much less than PyTorch in the same type, the lowering is not the cause (1.26 times the noise).
_MAX_LOWERING_LOSS_DB = 1
_CHECK_INPUTS = re.compile(r"\. Check the inputs \(saved [^)]*\), and the model in Python\.$")

_RUNNER_SECONDS = 1800  # a run that takes longer has hung


@dataclass(frozen=True)
class Case:
    """Inputs for the check of a method: the example inputs, or inputs with other values or shapes."""

    method: str
    name: str  # "example", "smallest", "largest", "held-out 1"
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


@dataclass(frozen=True)
class CheckedCase:
    """A case's outputs compared with eager fp32, and the error that the type or the quantization alone causes in PyTorch."""

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
    """The verdict, and the comparisons that it is based on. It contains no infinities."""

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


class CannotRun(Exception):  # noqa: N818 - a result, not a failure
    """The runner could not run the .pte. `elsewhere`: another runner may run it, since this runner lacks a backend or an operator."""

    def __init__(self, reason: str, elsewhere: bool) -> None:
        super().__init__(reason)
        self.elsewhere = elsewhere


def eager_outputs(module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Outputs:
    """Return the flat outputs of a module. Its buffers are restored afterwards, and its inputs are copies."""
    import torch
    from torch.utils import _pytree

    args, kwargs = _pytree.tree_map_only(torch.Tensor, torch.clone, (args, kwargs))
    with torch.no_grad(), noise.preserve_state(module):
        return _pytree.tree_leaves(module(*args, **kwargs))


def make_run(pte: Path, runner: Path) -> Run:
    """Return a function that runs a case with etprof-runner in a new process, and raises CannotRun."""

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
                process = subprocess.run(  # noqa: S603 - our own program
                    command, capture_output=True, text=True, errors="replace", timeout=_RUNNER_SECONDS, check=False
                )
            except subprocess.TimeoutExpired as error:
                raise CannotRun(f"it did not end within {_RUNNER_SECONDS} s", elsewhere=False) from error
            except OSError as error:
                raise CannotRun(f"{runner}: {error.strerror}", elsewhere=True) from error
            if process.returncode != 0:
                raise CannotRun(_runner_error(process), _NOT_REGISTERED in process.stderr)
            return inputs.decode((folder / "outputs").read_bytes())[case.method]

    return run


def _runner_error(process: subprocess.CompletedProcess[str]) -> str:
    """Return the runner's error without its name, or its exit code.

    The path of the saved inputs is removed, because their folder is deleted.
    """
    lines = [line for line in process.stderr.splitlines() if line.startswith("etprof-runner: ")]
    if not lines:
        return f"etprof-runner ended with {process.returncode}"
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
    """Run every case with `run` and compare its outputs with those of `eager` (fp32).

    `same_type` runs the exported program in PyTorch if it is not fp32. This part of a difference is not caused by the
    lowering. `computes_in` ("fp32", "fp16", "bf16", "int8") determines the limit unless `min_sqnr_db` is given.
    `as_lowered` returns the outputs of the exported program in PyTorch, the outputs that PyTorch computes in the backend's
    known way, and a text on the difference. This difference is the cause if the first outputs agree with the model and the
    second with the .pte.
    """
    min_db = agreement.MIN_SQNR_DB[computes_in] if min_sqnr_db is None else min_sqnr_db
    exact = computes_in == "fp32"
    checked = []
    known_cause = ""
    for case in cases:
        label = _label(case.method, case.name)
        try:
            expected = eager(case)
        except Exception as error:
            return Check(UNDECIDED, f"{label}: PyTorch itself fails: {one_line(error)}", [], min_db, checked)
        try:
            actual = run(case)
        except CannotRun as error:
            verdict = UNDECIDED if error.elsewhere else FAIL
            return Check(verdict, f"{label}: the .pte does not run: {error}", [], min_db, checked)
        same_type_agreements = (
            [agreement.compare(*pair) for pair in zip(same_type(case), expected, strict=True)] if same_type else []
        )
        checked.append(
            CheckedCase(case.method, case.name, _shapes(case), _compare_all(actual, expected), same_type_agreements)
        )
        if known_cause or _agrees(checked[-1].outputs, min_db, exact):
            continue
        if not _agrees(_compare_all(eager(case), expected), min_db, exact):
            reason = (
                f"{label}: PyTorch itself gives other outputs in a second run, so nothing can be compared. "
                "Pass random numbers as an input"
            )
            return Check(UNDECIDED, reason, [], min_db, checked)
        known_cause = _known_cause(as_lowered(case), expected, actual, min_db, exact)
    return _judge(checked, min_db, exact, known_cause)


def _known_cause(
    lowered_outputs: tuple[Outputs, Outputs, str] | None, expected: Outputs, actual: Outputs, min_db: float, exact: bool
) -> str:
    if lowered_outputs is None:
        return ""
    exported, lowered, cause = lowered_outputs
    pairs = ((exported, expected), (actual, lowered))
    return cause if all(_agrees(_compare_all(*pair), min_db, exact) for pair in pairs) else ""


def _agrees(outputs: Sequence[Agreement], min_db: float, exact: bool) -> bool:
    return all(output.disagreement(min_db, exact) is None for output in outputs)


def not_checked(reason: str) -> Check:
    """Return the result of a check that was not possible."""
    return Check(UNDECIDED, reason, [], 0.0)


def _compare_all(actual: Outputs, expected: Outputs) -> list[Agreement]:
    if len(actual) != len(expected):
        return [Agreement([], "", problem=f"{len(actual)} outputs instead of {len(expected)}")]
    return [agreement.compare(*pair) for pair in zip(actual, expected, strict=True)]


def _judge(cases: list[CheckedCase], min_db: float, exact: bool, known_cause: str = "") -> Check:
    failures, warnings = [], []
    for case in cases:
        for number, output in enumerate(case.outputs):
            place = f"{_label(case.method, case.inputs)}: output {number}"
            reason = output.disagreement(min_db, exact)
            if reason is not None:
                cause = f". {known_cause}" if known_cause else _describe_cause(case, number, min_db, exact)
                failures.append(f"{place}: {reason}{cause}")
            warnings += [f"{place}: {warning}" for warning in _health(output, exact)]
    if failures:
        more = f" (and {len(failures) - 1} more, in the .json)" if len(failures) > 1 else ""
        return Check(FAIL, failures[0] + more, warnings, min_db, cases)
    for case in cases:
        if not any(output.is_meaningful(exact) for output in case.outputs):
            reason = f"{_label(case.method, case.inputs)}: it gives no finite number to compare"
            return Check(UNDECIDED, reason, warnings, min_db, cases)
    return Check(PASS, None, warnings, min_db, cases)


def _describe_cause(case: CheckedCase, number: int, min_db: float, exact: bool) -> str:
    """Return a clause that says whether the lowering or the type is the cause."""
    if number >= len(case.pytorch_same_type):
        return ""
    actual, same = case.outputs[number].sqnr_db, case.pytorch_same_type[number].sqnr_db
    if actual is not None and same is not None and 0 <= same - actual < _MAX_LOWERING_LOSS_DB:
        return (
            f"; PyTorch in the same type has {same:.1f} dB: the type or the quantization is the cause, not the lowering"
        )
    if case.pytorch_same_type[number].disagreement(min_db, exact) is None:
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
    """The delegated part of a method. Unknown numbers are None."""

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
    """Return the delegation of each method as `etprof inspect` reports it, or why it is not known."""
    program = programs.etprof()
    if program is None:
        return "there is no etprof to ask: build it, or name it in ETPROF"
    process = subprocess.run([program, "inspect", "--json", pte], capture_output=True, check=False)  # noqa: S603
    if process.returncode != 0:
        return process.stderr.decode(errors="replace").strip().partition("\n")[0]
    return [_method_delegation(method) for method in json.loads(process.stdout)["methods"]]


def _method_delegation(method: dict[str, Any]) -> MethodDelegation:
    backends: dict[str, int] = {}
    nodes: int | None = 0
    for delegate in method["delegates"]:
        backends[delegate["backend"]] = backends.get(delegate["backend"], 0) + 1
        is_known = delegate["nodes"] is not None and nodes is not None
        nodes = nodes + delegate["nodes"] * delegate["calls"] if is_known else None
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
