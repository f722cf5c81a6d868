"""The summary that an export prints: how much is delegated, and whether the outputs are right."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from etprof import errors
from etprof.exporting import agreement
from etprof.exporting.check import FAIL, HELD_OUT, PASS, Check, CheckedCase, MethodDelegation
from etprof.exporting.hints import Hint
from etprof.results import counted

# Below these shares there is a warning of low delegation. Multiply-adds take most of the time of convolutions and matrix
# products, and each operator that is not delegated costs leaving a delegate and entering the next one.
_MIN_MACS_SHARE = 0.9
_MIN_OPERATORS_SHARE = 0.5

_LABEL_WIDTH = 14  # characters


def lines(
    backend: str,
    delegation: list[MethodDelegation] | str,
    check: Check | None,
    notes: Sequence[str] = (),
    places: Mapping[str, Sequence[str]] = MappingProxyType({}),
    hints: Mapping[str, Sequence[Hint]] = MappingProxyType({}),
) -> list[str]:
    """Return the summary as lines of text."""
    if isinstance(delegation, str):
        texts = [_line("delegated", f"not known: {delegation}")]
    else:
        texts = [
            line for method in delegation for line in _delegation(backend, method, len(delegation) > 1, places, hints)
        ]
    texts += [_line("note", note) for note in notes]
    return texts + ([] if check is None else _check(check))


def _line(label: str, text: str) -> str:
    return f"  {label:<{_LABEL_WIDTH}}{text}"


def _delegation(
    backend: str,
    method: MethodDelegation,
    has_several: bool,
    places: Mapping[str, Sequence[str]],
    hints: Mapping[str, Sequence[Hint]],
) -> list[str]:
    name = f"{method.method}: " if has_several else ""
    if not method.delegates:
        texts = [
            _line("delegated", f"{name}nothing; {counted(method.other_operators, 'operator')} by portable kernels")
        ]
        if backend == "portable":
            return texts
    else:
        texts = [_line("delegated", name + _share(method))]
    by_reason: dict[str, list[str]] = {}
    for operator in sorted(method.not_delegated, key=lambda operator: -operator["calls"]):
        by_reason.setdefault(operator["why"] or "why is not known", []).append(
            f"{operator['calls']} {operator['name']}"
        )
    texts += [_line("not delegated", f"{name}{', '.join(names)}: {reason}") for reason, names in by_reason.items()]
    if method.delegates and method.not_delegated:
        texts += [_line("at", name + place) for place in places.get(method.method, ())]
    if (low_delegation := _low_delegation(method)) is not None:
        texts.append(f"warning: {name}Low delegation: {low_delegation}")
    if "XnnpackBackend" in method.delegates:
        texts += [errors.hint(name + _hint(hint, method)) for hint in hints.get(method.method, ())]
    return texts


def _hint(hint: Hint, method: MethodDelegation) -> str:
    concerned = f"{hint['operators']} of the {method.other_operators} operators that are not delegated"
    return f"{hint['text']}: {concerned}{' ' + hint['place'] if hint['place'] else ''}"


def _share(method: MethodDelegation) -> str:
    delegates = " and ".join(counted(count, f"{name} delegate") for name, count in method.delegates.items())
    macs = method.delegated_share_of_macs
    shares = f", {100 * macs:.1f}% of MACs" if macs is not None else ""
    # Operators that move data or normalize have no MACs, and may take most of the time.
    bytes_share = method.delegated_share_of_bytes
    shares += (
        f", {100 * bytes_share:.0f}% of the bytes read and written"
        if bytes_share is not None and method.not_delegated
        else ""
    )
    nodes, share = method.delegated_operators, method.delegated_share_of_operators
    if nodes is None or share is None:
        return f"to {delegates}, whose operators are not known; {counted(method.other_operators, 'other operator')}"
    return f"{nodes} of {nodes + method.other_operators} operators ({100 * share:.0f}%){shares}, in {delegates}"


def _low_delegation(method: MethodDelegation) -> str | None:
    macs, operators = method.delegated_share_of_macs, method.delegated_share_of_operators
    if macs is not None and macs < _MIN_MACS_SHARE:
        return f"{100 * (1 - macs):.0f}% of MACs run on portable kernels"
    if operators is not None and operators < _MIN_OPERATORS_SHARE:
        return f"{100 * (1 - operators):.0f}% of operators run on portable kernels"
    return None


def _check(check: Check) -> list[str]:
    texts = [_line("compared", text) for text in _cases(check.cases)]
    texts += [_line("numbers", warning) for warning in check.warnings]
    if check.verdict == PASS:
        is_numeric = any(output.max_abs_diff is not None for case in check.cases for output in case.outputs)
        requirement = f"at least {check.min_sqnr_db:g} dB is required" if is_numeric else "all elements are equal"
        return [*texts, _line("check", f"passed: {requirement}")]
    verdict = "FAILED" if check.verdict == FAIL else "undecided"
    texts.append(_line("check", f"{verdict}: {check.why}"))
    if check.verdict == FAIL and any(output.underflow_problem() for case in check.cases for output in case.outputs):
        texts.append(
            errors.hint("if the weights are random, use etprof.wrappers.calibrated. See docs/guides/models.md#wrappers")
        )
    return texts


def _cases(cases: Sequence[CheckedCase]) -> list[str]:
    """Return a text for each case, and a text for the worst held-out case of each method."""
    held_out: dict[str, list[CheckedCase]] = {}
    for case in cases:
        if case.inputs.startswith(HELD_OUT):
            held_out.setdefault(case.method, []).append(case)
    texts = [_case(case, len(cases) > 1) for case in cases if not case.inputs.startswith(HELD_OUT)]
    return texts + [_case(min(group, key=_rank), True, len(group)) for group in held_out.values()]


def _rank(case: CheckedCase) -> tuple[bool, float]:
    """Return a sort key; the worst case has the least."""
    failures = (output.problem is not None or output.nonfinite_mismatches > 0 for output in case.outputs)
    return not any(failures), min((agreement.rank(output.sqnr_db) for output in case.outputs), default=math.inf)


def _case(case: CheckedCase, has_several: bool, worst_of: int = 1) -> str:
    """Describe the worst of a case's outputs."""
    label = f"{case.method}, {case.inputs}" if has_several else ""
    label += (f", the worst of {worst_of}" if worst_of > 1 else "") + (": " if label else "")
    numbered = [(number, output) for number, output in enumerate(case.outputs) if output.max_abs_diff is not None]
    if not numbered:
        return label + _without_numbers(case)
    number, worst = min(numbered, key=lambda item: (not item[1].nonfinite_mismatches, agreement.rank(item[1].sqnr_db)))
    if len(case.outputs) > 1:
        label += f"output {number}, the worst of {len(case.outputs)}: "
    text = f"{label}largest difference {worst.max_abs_diff:.3g}, relative {worst.max_rel_diff:.3g}, "
    text += "identical" if worst.sqnr_db is None else f"SQNR {worst.sqnr_db:.1f} dB"
    if worst.cosine is not None:
        text += f", cosine {worst.cosine:.6f}"
    same_type_db = case.pytorch_same_type[number].sqnr_db if case.pytorch_same_type else None
    text += "" if same_type_db is None else f" (PyTorch in the same type: {same_type_db:.1f} dB)"
    return text + (f". Output {number} {underflow_problem}" if (underflow_problem := worst.underflow_problem()) else "")


def _without_numbers(case: CheckedCase) -> str:
    """Describe a case whose outputs have no floating-point number that is finite in both."""
    if any(output.problem is not None for output in case.outputs):
        return "not comparable"
    differing = [output.differing for output in case.outputs if output.differing is not None]
    if len(differing) < len(case.outputs):
        return "no element that is finite in both"
    return f"integers: {sum(differing)} differ" if any(differing) else "integers: all equal"
