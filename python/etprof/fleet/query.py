"""Queries over a fleet, which DuckDB runs: the `.sql` files in this package, or the user's own."""

from __future__ import annotations

import contextlib
import csv
import datetime
import decimal
import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TextIO

import duckdb
import pyarrow as pa

from etprof import artifacts
from etprof.errors import printable
from etprof.fleet import schema
from etprof.fleet.problem import FleetError
from etprof.fleet.store import Fleet

SHIPPED = Path(__file__).resolve().parent / "sql"
# DuckDB reads paths as patterns. Brackets escape these characters.
_GLOB = re.compile(r"[*?\[]")
_HIVE = "hive_partitioning = true, hive_types = {'day': DATE, 'model': VARCHAR}"


def names() -> dict[str, str]:
    """Return the first comment line of each shipped query by its name."""
    return {
        file.stem: file.read_text(encoding="utf-8").splitlines()[0].lstrip("- ")
        for file in sorted(SHIPPED.glob("*.sql"))
    }


def read_sql(name: str) -> str:
    """Return the SQL of a shipped query, or of a file.

    Raises:
        FleetError: no query and no file has this name
    """
    shipped = names()
    if name in shipped:
        return (SHIPPED / f"{name}.sql").read_text(encoding="utf-8")
    if name.endswith(".sql"):
        try:
            artifacts.require_regular_file(Path(name))
            return Path(name).read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise FleetError(f"`{name}` cannot be read: {reason}", "give a file of SQL") from error
    raise FleetError(f"there is no query `{name}`", f"give a .sql file, or one of {', '.join(shipped)}", 2)


def connect(fleet: Fleet, tables: Iterable[str] = tuple(schema.BY_NAME)) -> duckdb.DuckDBPyConnection:
    """Return a DuckDB in memory with a view per table, which reads only files that belong to the fleet.

    Raises:
        FleetError: a file is damaged, or DuckDB would read other files, days, or models
    """
    _check_readable(fleet.root)
    listed_files = fleet.files()
    fleet.verify(file for name in tables for file in listed_files[name])
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute("SET enable_progress_bar = false")
    if not fleet.local:
        connection.register_filesystem(fleet.fs)
    connection.execute(f"CREATE MACRO bucket_ns(bucket) AS 2 * pow({schema.GAMMA!r}, bucket) / ({schema.GAMMA!r} + 1)")
    for name in tables:
        files = listed_files[name]
        listed = ", ".join("'" + _GLOB.sub(r"[\g<0>]", path).replace("'", "''") + "'" for path in fleet.urls(files))
        if files:
            connection.execute(f"CREATE VIEW {name} AS FROM read_parquet([{listed}], {_HIVE})")
        else:
            connection.register(name, schema.empty_view(schema.BY_NAME[name]))
    return connection


def _check_readable(root: str) -> None:
    """Refuse paths that DuckDB misreads: a backslash separates folders, and any folder `day=...` is a partition."""
    for part in root.split("/"):
        if "\\" in part or part.startswith(tuple(f"{column.name}=" for column in schema.PARTITIONS)):
            raise FleetError(
                f"DuckDB cannot read a fleet in the folder `{part}`",
                "rename or move it: its path must have no `\\`, `day=`, and `model=`",
            )


@dataclass(frozen=True)
class Answer:
    """The result of a query, which is also a table for any Arrow library: `polars.DataFrame(answer)`."""

    table: pa.Table

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return self.table.column_names

    @cached_property
    def rows(self) -> list[tuple]:
        """The rows as Python values."""
        return list(zip(*(column.to_pylist() for column in self.table.columns), strict=True))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Export the result as an Arrow stream without a copy."""
        return self.table.__arrow_c_stream__(requested_schema)


def ask(fleet: Fleet, sql: str, variables: Mapping[str, Any] | None = None) -> Answer:
    """Run SQL and return the result, which may have no rows. In the SQL, `getvariable('NAME')` is the value of NAME.

    Raises:
        FleetError: DuckDB refuses the SQL, a required file is damaged, or a compaction removed files during the query
    """
    try:
        # DuckDB's threads must end before Python does, because they may hold files of an object store's client.
        with contextlib.closing(connect(fleet, _tables_in(sql))) as connection:
            for name, value in (variables or {}).items():
                if not re.fullmatch(r"\w+", name):
                    raise FleetError(f"`{name}` is not a name of a variable", "give --set NAME=VALUE", 2)
                connection.execute(f"SET VARIABLE {name} = ?", [value])
            relation = connection.sql(sql)
            answer = pa.table({}) if relation is None else relation.to_arrow_table()
            del relation
    except duckdb.IOException as error:
        raise FleetError(
            f"a file cannot be read: {_first_line(error)}", "ask again: it may just have been compacted"
        ) from error
    except duckdb.Error as error:
        if isinstance(error, duckdb.InvalidInputException) and ".parquet" in str(error):
            raise FleetError(
                f"a file is not one of a fleet, or is damaged: {_first_line(error)}",
                "move it out of the fleet's folder; if etprof wrote it, add its runs again",
            ) from error
        raise FleetError(f"DuckDB: {_first_line(error)}", "docs/reference/fleet.md has tables and columns") from error
    return Answer(answer)


def _tables_in(sql: str) -> list[str]:
    """Return the fleet's tables that a query reads, or all tables if that is unknown."""
    try:
        with contextlib.closing(duckdb.connect()) as connection:
            used = {name.lower() for name in connection.get_table_names(sql)}
    except duckdb.Error:  # several statements
        used = set()
    return [name for name in schema.BY_NAME if name in used] or list(schema.BY_NAME)


def _first_line(error: BaseException) -> str:
    return str(error).strip().splitlines()[0]


def show(columns: list[str], rows: Iterable[tuple], form: str, out: TextIO) -> None:
    """Write rows as a table for people, CSV, or JSON (a list of objects)."""
    if form == "json":
        objects = [{name: _json_value(value) for name, value in zip(columns, row, strict=True)} for row in rows]
        json.dump(objects, out, indent=2, ensure_ascii=False)
        out.write("\n")
    elif form == "csv":
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows([_csv_cell(value) for value in row] for row in rows)
    else:
        _show_table(columns, rows, out)


def _json_value(value: Any) -> Any:
    if isinstance(value, datetime.date | datetime.datetime):
        return value.isoformat()
    if isinstance(value, decimal.Decimal):  # DuckDB returns sums of integers as decimals
        return int(value) if value == int(value) else float(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None  # JSON has no such numbers
    if isinstance(value, list):
        return [_json_value(item) for item in value]
    return value if isinstance(value, bool | int | float | str | None) else str(value)


def _csv_cell(value: Any) -> Any:
    """Return a CSV cell. As in etprof's other CSV, a text that a spreadsheet would compute starts with an apostrophe."""
    value = _json_value(value)
    if isinstance(value, str) and re.match(r"[=@]|[+-].*[(|!=]", value):
        return "'" + value
    return value


def _show_table(columns: list[str], rows: Iterable[tuple], out: TextIO) -> None:
    rows = list(rows)
    numeric = [all(isinstance(row[i], int | float | None) for row in rows) for i in range(len(columns))]
    texts = [columns] + [[_cell(value) for value in row] for row in rows]
    widths = [max(len(row[i]) for row in texts) for i in range(len(columns))]
    for row in texts:
        cells = (
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(row, widths, numeric, strict=True)
        )
        out.write("  ".join(cells).rstrip() + "\n")


def _cell(value: Any) -> str:
    if value is None:
        return "—"
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1e4 else f"{value:.0f}"
    return printable(str(_json_value(value)), one_line=True)
