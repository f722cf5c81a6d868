"""Tables that every Arrow library takes without a copy: pyarrow, Polars, DuckDB, pandas."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, is_dataclass
from typing import Any

import numpy as np

from etprof.results import html_table

# Maps NumPy's type names to formats of the Arrow C data interface.
_FORMATS = {
    "int8": "c",
    "uint8": "C",
    "int16": "s",
    "int32": "i",
    "uint32": "I",
    "int64": "l",
    "uint64": "L",
    "float64": "g",
    "datetime64[s]": "tss:UTC",
}


@dataclass(frozen=True)
class Coded:
    """A column of repeating texts, in which each row has the index of its text (Arrow's dictionary encoding)."""

    codes: np.ndarray
    texts: Sequence[str]


@dataclass(frozen=True)
class Nullable:
    """A column of numbers with missing values; `valid` is False where the number is missing."""

    values: np.ndarray
    valid: np.ndarray


@dataclass(frozen=True)
class Lists:
    """A column with a list of texts per row; None: the list is missing."""

    values: Sequence[Sequence[str] | None]


Column = np.ndarray | Coded | Nullable | Lists | Sequence[str | None]


class Table:
    """Columns of equal length, for `pyarrow.table(t)`, `polars.DataFrame(t)`, `duckdb.from_arrow(t)` and the like.

    Arrays are passed on without a copy. They live as long as any table that was made from them.
    """

    def __init__(self, columns: Mapping[str, Column]) -> None:
        self.columns = dict(columns)
        lengths = {_length(column) for column in self.columns.values()}
        if len(lengths) > 1:
            raise ValueError(f"columns of one table have {sorted(lengths)} rows")
        self._rows = lengths.pop() if lengths else 0

    def __len__(self) -> int:
        """Return the number of rows."""
        return self._rows

    def __repr__(self) -> str:
        return f"<Table: {len(self)} rows of {', '.join(self.columns)}>"

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Export the table as an Arrow stream. `requested_schema` is ignored, which the protocol permits."""
        del requested_schema
        from etprof import _native

        return _native.arrow_stream([_arrow_array(name, column) for name, column in self.columns.items()], len(self))


class Records:
    """Rows with the same keys, each a dict or a dataclass, that also work as a table: `polars.DataFrame(records)`.

    The class is not a Python Sequence, because libraries iterate over a Sequence before they ask for Arrow.
    In the table, None is null, and values that are neither plain Python types nor lists of texts are JSON.
    """

    def __init__(self, rows: Sequence[Any], types: Mapping[str, type] | None = None) -> None:
        """Take the rows as they are.

        Args:
            rows: dicts, or objects of one dataclass
            types: str, bool, int, or float for some columns; other columns have the type of their values, or text if
                all values are missing
        """
        self._rows = list(rows)
        self._types = dict(types or {})

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self._rows)

    def __getitem__(self, index: Any) -> Any:
        """Return one row, or a list of rows for a slice."""
        return self._rows[index]

    def __iter__(self) -> Iterator:
        """Iterate over the rows."""
        return iter(self._rows)

    def __eq__(self, other: object) -> bool:
        """Return whether the rows equal those of another Records or of a list."""
        return self._rows == (other._rows if isinstance(other, Records) else other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<Records: {len(self)} rows of {', '.join(self._keys(self._dicts()))}>"

    def _repr_html_(self) -> str:
        return html_table(self._dicts())

    def _dicts(self) -> list[dict[str, Any]]:
        return [asdict(row) if is_dataclass(row) else row for row in self._rows]

    def _keys(self, dicts: list[dict[str, Any]]) -> list[str]:
        return list(dict.fromkeys([*self._types, *(key for row in dicts for key in row)]))

    def table(self) -> Table:
        """Return the columns in the order in which their keys appear."""
        dicts = self._dicts()
        return Table({key: _column([row.get(key) for row in dicts], self._types.get(key)) for key in self._keys(dicts)})

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Export the rows as an Arrow stream."""
        return self.table().__arrow_c_stream__(requested_schema)


def _column(values: list, kind: type | None) -> Column:
    known = [value for value in values if value is not None]
    kind = kind or _type_of(known)
    if kind is list:
        return Lists(values)
    if kind is str or kind is None:
        return [value if isinstance(value, str | None) else json.dumps(value, default=str) for value in values]
    valid = np.array([value is not None for value in values], dtype=bool)
    numbers = np.array(
        [kind() if value is None else value for value in values],
        dtype={bool: bool, int: np.int64, float: np.float64}[kind],
    )
    return Nullable(numbers, valid)


def _type_of(known: list) -> type | None:
    """Return the type of the values, which contain no None. Return None for text."""
    kinds = {type(value) for value in known}
    if kinds in ({int, float}, {float}):
        return float
    if kinds == {list} and all(isinstance(text, str) for value in known for text in value):
        return list
    return kinds.pop() if kinds in ({bool}, {int}) else None


def _length(column: Column) -> int:
    if isinstance(column, Coded):
        return len(column.codes)
    return len(column.values if isinstance(column, Nullable | Lists) else column)


def _bits(flags: np.ndarray) -> np.ndarray:
    return np.packbits(flags, bitorder="little")


# An Arrow array: name, format, length, number of nulls, buffers, dictionary, children.
_ArrowArray = tuple[str, str, int, int, list[np.ndarray | None], Any, list]


def _arrow_array(name: str, column: Column) -> _ArrowArray:
    """Return a column as `arrow_stream` takes it, with the buffers in the order of Arrow's columnar format."""
    if isinstance(column, Coded):
        codes = np.ascontiguousarray(column.codes)
        return name, _format(codes), len(codes), 0, [None, codes], _texts("", column.texts), []
    if isinstance(column, Nullable):
        _, kind, length, _, (_, values), _, _ = _arrow_array(name, column.values)
        missing, valid = _validity(column.valid)
        return name, kind, length, missing, [valid, values], None, []
    if isinstance(column, Lists):
        return _lists(name, column.values)
    if isinstance(column, np.ndarray) and column.dtype.kind == "b":
        return name, "b", len(column), 0, [None, _bits(column)], None, []
    if isinstance(column, np.ndarray) and column.dtype.kind in "iufM":
        values = np.ascontiguousarray(column)
        # Arrays are passed on by DLPack, which has no type for times.
        buffer = values.view(np.int64) if column.dtype.kind == "M" else values
        return name, _format(column), len(column), 0, [None, buffer], None, []
    return _texts(name, column)


def _validity(valid: np.ndarray) -> tuple[int, np.ndarray | None]:
    """Return the number of missing values and Arrow's validity bitmap, or None if no value is missing."""
    missing = len(valid) - int(np.count_nonzero(valid))
    return missing, _bits(valid) if missing else None


def _offsets(sizes: Sequence[int]) -> np.ndarray:
    offsets = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, out=offsets[1:])
    return offsets


def _lists(name: str, values: Sequence[Sequence[str] | None]) -> _ArrowArray:
    missing, valid = _validity(np.array([value is not None for value in values], dtype=bool))
    offsets = _offsets([len(value or ()) for value in values]).astype(np.int32)
    texts = _texts("item", [text for value in values for text in value or ()])
    return name, "+l", len(values), missing, [valid, offsets], None, [texts]


def _format(values: np.ndarray) -> str:
    return _FORMATS[values.dtype.name]


def _texts(name: str, texts: Sequence[str | None]) -> _ArrowArray:
    encoded = [b"" if text is None else text.encode("utf-8", "replace") for text in texts]
    missing, valid = _validity(np.array([text is not None for text in texts], dtype=bool))
    offsets = _offsets([len(text) for text in encoded])
    data = np.frombuffer(b"".join(encoded), dtype=np.uint8)
    # Texts of 2 GiB and more need 64-bit offsets.
    kind, offsets = ("u", offsets.astype(np.int32)) if offsets[-1] < 2**31 else ("U", offsets)
    return name, kind, len(texts), missing, [valid, offsets, data], None, []
