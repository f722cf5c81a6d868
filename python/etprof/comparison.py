"""Two measurements compared, as `etprof compare` does."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from etprof import _native
from etprof.results import comparison_row, html_table, summary, without_internals

if TYPE_CHECKING:
    import pandas as pd

    from etprof.arrow import Records


@dataclass(frozen=True)
class Comparison:
    """A pair of experiments: analysis_summary.json's entry of it (docs/reference/files.md), with names for what is asked most."""

    data: dict

    def __repr__(self) -> str:
        return f"<Comparison: {summary(comparison_row(self.data))}>"

    def _repr_html_(self) -> str:
        return html_table([comparison_row(self.data)]) + html_table(self.data["operators"], "operators")

    @property
    def verdict(self) -> str:
        """Verdict of the latency: "faster", "slower", "same", "inconclusive", "contended" or "emulated"."""
        return self.data["latency"]["verdict"]

    @property
    def ratio(self) -> float | None:
        """Latency of the baseline over that of the candidate: above 1 the candidate is faster. None: too few runs."""
        return self.data["latency"]["ratio"]

    @property
    def interval(self) -> tuple[float, float] | None:
        """Interval of `ratio`, at `data["latency"]["confidence"]`."""
        low, high = self.data["latency"]["ratio_low"], self.data["latency"]["ratio_high"]
        return None if low is None or high is None else (low, high)

    def operators(self) -> pd.DataFrame:
        """One row an operator: names and times of both variants (ms), ratio, interval, verdict."""
        import pandas as pd

        return pd.DataFrame(without_internals(self.data["operators"]))

    def groups(self) -> pd.DataFrame:
        """One row a group (Convolution, GEMM, ...), as `operators`."""
        import pandas as pd

        return pd.DataFrame(without_internals(self.data["groups"]))

    def rows(self, name: str = "operators") -> Records:
        """Return "operators", "groups", or another list of `data`, without exact sums: rows, and a table for any Arrow library."""
        from etprof.arrow import Records  # which needs NumPy

        return Records(without_internals(self.data[name]))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The operators as an Arrow stream: `polars.DataFrame(comparison)`."""
        return self.rows().__arrow_c_stream__(requested_schema)


def compare(baseline: str | os.PathLike[str], candidate: str | os.PathLike[str]) -> Comparison:
    """Compare the candidate with the baseline: ETDumps, timeline CSVs or results directories.

    Raises:
        ValueError: one of them cannot be read, there is nothing to compare, or several pairs of experiments could be; the
            message says which and why
    """
    pairs = json.loads(_native.compare(os.fspath(baseline), os.fspath(candidate)))["comparisons"]
    if not pairs:
        raise ValueError(f"nothing of {os.fspath(baseline)} can be compared with {os.fspath(candidate)}")
    if len(pairs) > 1:
        names = ", ".join(f"{pair['candidate_experiment']} with {pair['baseline_experiment']}" for pair in pairs)
        raise ValueError(f"several pairs can be compared ({names}): give the folders of two experiments")
    return Comparison(pairs[0])
