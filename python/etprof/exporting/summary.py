"""What an export says at its end: how much is delegated, and whether the outputs are right."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from etprof import errors
from etprof.exporting.check import FAIL, HELD_OUT, PASS, Check, CheckedCase, MethodDelegation
from etprof.exporting.hints import Hint

# Below these shares a model is said to lower badly: multiply-adds are where the time of a convolution or a matrix goes, and
# each operator left out costs a way out of a delegate and into the next one.
_FEW_MACS = 0.9
_FEW_OPERATORS = 0.5

_LABELS = 14  # characters


def lines(
    backend: str,
    delegation: list[MethodDelegation] | str,
    check: Check | None,
    notes: Sequence[str] = (),
    places: Mapping[str, Sequence[str]] = MappingProxyType({}),
    hints: Mapping[str, Sequence[Hint]] = MappingProxyType({}),
) -> list[str]:
    """For a person, on stderr."""
    if isinstance(delegation, str):
        said = [_line("delegated", f"not known: {delegation}")]
    else:
        said = [
            line for method in delegation for line in _delegation(backend, method, len(delegation) > 1, places, hints)
        ]
    said += [_line("note", note) for note in notes]
    return said + ([] if check is None else _check(check))


def _line(label: str, text: str) -> str:
    return f"  {label:<{_LABELS}}{text}"


def _delegation(
    backend: str,
    method: MethodDelegation,
    several: bool,
    places: Mapping[str, Sequence[str]],
    hints: Mapping[str, Sequence[Hint]],
) -> list[str]:
    name = f"{method.method}: " if several else ""
    if not method.delegates:
        said = [_line("delegated", f"{name}nothing; {_count(method.other_operators, 'operator')} by portable kernels")]
        if backend == "portable":
            return said
    else:
        said = [_line("delegated", name + _share(method))]
    by_reason: dict[str, list[str]] = {}
    for operator in sorted(method.not_delegated, key=lambda operator: -operator["calls"]):
        by_reason.setdefault(operator["why"] or "why is not known", []).append(
            f"{operator['calls']} {operator['name']}"
        )
    said += [_line("not delegated", f"{name}{', '.join(names)}: {why}") for why, names in by_reason.items()]
    if method.delegates and method.not_delegated:
        said += [_line("at", name + place) for place in places.get(method.method, ())]
    if (bad := _lowers_badly(method)) is not None:
        said.append(f"warning: {name}Low delegation: {bad}")
    if "XnnpackBackend" in method.delegates:
        said += [errors.hint(name + _hint(hint, method)) for hint in hints.get(method.method, ())]
    return said


def _hint(hint: Hint, method: MethodDelegation) -> str:
    of = f"{hint['operators']} of the {method.other_operators} operators that are not delegated"
    return f"{hint['text']}: {of}{' ' + hint['place'] if hint['place'] else ''}"


def _share(method: MethodDelegation) -> str:
    delegates = " and ".join(_count(count, f"{name} delegate") for name, count in method.delegates.items())
    macs = method.delegated_share_of_macs
    of_macs = f", {100 * macs:.1f}% of MACs" if macs is not None else ""
    # What moves data or normalizes has no MACs, and may take most of the time.
    moved = method.delegated_share_of_bytes
    of_macs += (
        f", {100 * moved:.0f}% of the bytes read and written" if moved is not None and method.not_delegated else ""
    )
    nodes, share = method.delegated_operators, method.delegated_share_of_operators
    if nodes is None or share is None:
        return f"to {delegates}, whose operators are not known; {_count(method.other_operators, 'other operator')}"
    return f"{nodes} of {nodes + method.other_operators} operators ({100 * share:.0f}%){of_macs}, in {delegates}"


def _lowers_badly(method: MethodDelegation) -> str | None:
    macs, operators = method.delegated_share_of_macs, method.delegated_share_of_operators
    if macs is not None and macs < _FEW_MACS:
        return f"{100 * (1 - macs):.0f}% of MACs run on portable kernels"
    if operators is not None and operators < _FEW_OPERATORS:
        return f"{100 * (1 - operators):.0f}% of operators run on portable kernels"
    return None


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def _check(check: Check) -> list[str]:
    said = [_line("compared", text) for text in _cases(check.cases)]
    said += [_line("numbers", warning) for warning in check.warnings]
    if check.verdict == PASS:
        judged = any(output.max_abs_diff is not None for case in check.cases for output in case.outputs)
        asked = f"at least {check.min_sqnr_db:g} dB is required" if judged else "all elements are equal"
        return [*said, _line("check", f"passed: {asked}")]
    verdict = "FAILED" if check.verdict == FAIL else "undecided"
    said.append(_line("check", f"{verdict}: {check.why}"))
    if check.verdict == FAIL and any(output.faded() for case in check.cases for output in case.outputs):
        said.append(
            errors.hint("if the weights are random, use etprof.wrappers.calibrated. See docs/guides/models.md#wrappers")
        )
    return said


def _cases(cases: Sequence[CheckedCase]) -> list[str]:
    """A text for each case; of a method's held-out inputs for the worst."""
    held_out: dict[str, list[CheckedCase]] = {}
    for case in cases:
        if case.inputs.startswith(HELD_OUT):
            held_out.setdefault(case.method, []).append(case)
    said = [_case(case, len(cases) > 1) for case in cases if not case.inputs.startswith(HELD_OUT)]
    return said + [_case(min(group, key=_rank), True, len(group)) for group in held_out.values()]


def _rank(case: CheckedCase) -> tuple[bool, float]:
    """Less is worse."""
    worse = (output.problem is not None or output.nonfinite_mismatches > 0 for output in case.outputs)
    return not any(worse), min((_ratio(output.sqnr_db) for output in case.outputs), default=math.inf)


def _case(case: CheckedCase, several: bool, worst_of: int = 1) -> str:
    """The worst of a case's outputs."""
    where = f"{case.method}, {case.inputs}" if several else ""
    where += (f", the worst of {worst_of}" if worst_of > 1 else "") + (": " if where else "")
    numbered = [(number, output) for number, output in enumerate(case.outputs) if output.max_abs_diff is not None]
    if not numbered:
        return where + _without_numbers(case)
    number, worst = min(numbered, key=lambda one: (not one[1].nonfinite_mismatches, _ratio(one[1].sqnr_db)))
    if len(case.outputs) > 1:
        where += f"output {number}, the worst of {len(case.outputs)}: "
    said = f"{where}largest difference {worst.max_abs_diff:.3g}, relative {worst.max_rel_diff:.3g}, "
    said += "identical" if worst.sqnr_db is None else f"SQNR {worst.sqnr_db:.1f} dB"
    if worst.cosine is not None:
        said += f", cosine {worst.cosine:.6f}"
    same = case.pytorch_same_type[number].sqnr_db if case.pytorch_same_type else None
    said += "" if same is None else f" (PyTorch in the same type: {same:.1f} dB)"
    return said + (f". Output {number} {faded}" if (faded := worst.faded()) else "")


def _ratio(sqnr_db: float | None) -> float:
    return math.inf if sqnr_db is None else sqnr_db


def _without_numbers(case: CheckedCase) -> str:
    """Of a case whose outputs have no number that is floating-point and finite on both sides."""
    if any(output.problem is not None for output in case.outputs):
        return "not comparable"
    differing = [output.differing for output in case.outputs if output.differing is not None]
    if len(differing) < len(case.outputs):
        return "no element that is finite in both"
    return f"integers: {sum(differing)} differ" if any(differing) else "integers: all equal"
