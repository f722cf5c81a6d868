"""Two measurements compared, as `etprof compare` does."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from etprof import _native
from etprof.results import comparison_row, html_table, plot, summary, without_internals

if TYPE_CHECKING:
    import pandas as pd

    from etprof.arrow import Records


@dataclass(frozen=True)
class Comparison:
    """The comparison of two experiments: its entry of analysis_summary.json (docs/reference/files.md) as `data`."""

    data: dict

    def __repr__(self) -> str:
        return f"<Comparison: {summary(comparison_row(self.data))}>"

    def _repr_html_(self) -> str:
        rows = [{"name": "latency", **self.data["latency"]}, *self.data["groups"]]
        speedups = plot(((row["name"], row["ratio"], row["ratio_low"], row["ratio_high"]) for row in rows), "x", 1)
        return html_table([comparison_row(self.data)]) + speedups + html_table(self.data["operators"], "operators")

    @property
    def verdict(self) -> str:
        """Verdict of the latency: "faster", "slower", "same", "inconclusive", "contended" or "emulated"."""
        return self.data["latency"]["verdict"]

    @property
    def ratio(self) -> float | None:
        """Latency of the baseline divided by that of the candidate: above 1, the candidate is faster. None: too few runs."""
        return self.data["latency"]["ratio"]

    @property
    def interval(self) -> tuple[float, float] | None:
        """Confidence interval of `ratio`, at the level `data["latency"]["confidence"]`. None: too few runs."""
        low, high = self.data["latency"]["ratio_low"], self.data["latency"]["ratio_high"]
        return None if low is None or high is None else (low, high)

    def operators(self) -> pd.DataFrame:
        """Return one row per operator: names and times of both variants (ms), ratio, interval, verdict."""
        import pandas as pd

        return pd.DataFrame(without_internals(self.data["operators"]))

    def groups(self) -> pd.DataFrame:
        """Return one row per group (Convolution, GEMM, ...), with the columns of `operators`."""
        import pandas as pd

        return pd.DataFrame(without_internals(self.data["groups"]))

    def rows(self, name: str = "operators") -> Records:
        """Return a list of `data` ("operators", "groups", ...) as rows that any Arrow library takes, without exact sums."""
        from etprof.arrow import Records  # imported here, because it needs NumPy

        return Records(without_internals(self.data[name]))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Export the operators as an Arrow stream: `polars.DataFrame(comparison)`."""
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
