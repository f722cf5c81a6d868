"""The command line of `etprof fleet`. The build of etprof imports this module, so it needs only the standard library."""

from __future__ import annotations

import argparse
from datetime import datetime

from etprof import errors

_EXAMPLES = """examples:
  etprof fleet add out_*/runs/* --to fleet --version 1.5
  etprof fleet query device_classes --from fleet
  etprof fleet verdict --baseline 1.4 --candidate 1.5 --from fleet
  etprof fleet compact --to s3://bucket/fleet

exit codes: 0 done, 1 a device class is slower (`verdict --fail-if-slower`), 2 usage, 3 bad input, 130 interrupted.
docs/guides/fleet.md has the details.
"""


def _count(text: str) -> int:
    value = int(text)
    if value < 0:
        raise ValueError(text)
    return value


def _share(text: str) -> float:
    value = float(text.removesuffix("%")) / 100 if text.endswith("%") else float(text)
    if not 0 < value < 1:
        raise ValueError(text)
    return value


def _variable(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise ValueError(text)
    return name, value


def _day(text: str) -> str:
    return datetime.strptime(text, "%Y-%m-%d").date().isoformat()


# argparse names a type by the function's __name__ in its message about an invalid value.
_count.__name__, _share.__name__, _variable.__name__, _day.__name__ = "number", "share", "NAME=VALUE", "day"


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of `etprof fleet`, from which its completion and docs/reference/cli.md are generated, too."""
    parser = errors.Parser(
        prog="etprof fleet",
        description="Keep the runs of many devices as Parquet files, query them, and judge versions.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True, parser_class=errors.Parser)
    for add in (_add, _remove, _compact, _files, _query, _verdict, _traces, _tables):
        add(actions)
    return parser


def _action(actions: argparse._SubParsersAction, name: str, summary: str) -> argparse.ArgumentParser:
    return actions.add_parser(name, help=summary, description=summary, allow_abbrev=False)


def _add_uri(parser: argparse.ArgumentParser, option: str, more: str = "", required: bool = True) -> None:
    parser.add_argument(option, dest="uri", metavar="URI", required=required, help=f"Folder or URL of the fleet{more}")


def _add_format(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--format", choices=("table", "csv", "json"), default="table", help="Output format (default: table)"
    )


def _add(actions: argparse._SubParsersAction) -> None:
    parser = _action(
        actions, "add", "Add results directories and ETDumps. Runs that the fleet already has change nothing"
    )
    parser.add_argument("runs", nargs="+", metavar="RUN", help="Results directory, or ETDump of one traced launch")
    _add_uri(parser, "--to", ". It is created if it does not exist")
    parser.add_argument("--device", help="Name of this device (default: the manifest's)")
    parser.add_argument("--device-class", help="Class of device (default: the processor's name)")
    parser.add_argument("--version", help="Version that verdicts compare (default: the version of ExecuTorch)")
    parser.add_argument("--model", help="Model of the ETDumps (default: unknown). A results directory names its own")
    parser.add_argument(
        "--day", type=_day, metavar="DAY", help="Day of the ETDumps, such as 2026-11-01 (default: none)"
    )
    parser.add_argument(
        "--events",
        type=_count,
        default=0,
        metavar="N",
        help="Keep the events of N traced runs per experiment (default: 0)",
    )


def _remove(actions: argparse._SubParsersAction) -> None:
    parser = _action(actions, "remove", "Take runs out of the fleet, such as those that were added with wrong labels")
    parser.add_argument(
        "runs", nargs="+", metavar="RUN", help="Results directory, ETDump, or digest (column `run` of the table runs)"
    )
    _add_uri(parser, "--from")


def _compact(actions: argparse._SubParsersAction) -> None:
    parser = _action(
        actions, "compact", "Merge the files of each day and model into one, and remove files that killed commands left"
    )
    _add_uri(parser, "--to")
    parser.add_argument(
        "--least-files", type=_count, default=2, metavar="N", help="Minimum number of files to merge (default: 2)"
    )
    parser.add_argument(
        "--grace",
        type=_count,
        default=24,
        metavar="HOURS",
        help="Minimum age in hours of leftover files to remove, since commands that still run have younger ones (default: 24)",
    )


def _files(actions: argparse._SubParsersAction) -> None:
    parser = _action(actions, "files", "List the fleet's files as JSON, for another query engine")
    _add_uri(parser, "--from")


def _query(actions: argparse._SubParsersAction) -> None:
    parser = _action(actions, "query", "Run a built-in query or a file of SQL, with DuckDB")
    parser.add_argument(
        "query", nargs="?", metavar="QUERY", help="Built-in query or file of SQL (default: list the built-in queries)"
    )
    _add_uri(parser, "--from", required=False)
    parser.add_argument(
        "--set",
        dest="variables",
        type=_variable,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="Value of getvariable('NAME') in the SQL. May be repeated",
    )
    _add_format(parser)


def _verdict(actions: argparse._SubParsersAction) -> None:
    parser = _action(actions, "verdict", "Show which device classes became faster or slower, with confidence intervals")
    parser.add_argument("--baseline", required=True, metavar="VERSION", help="Version to compare with")
    parser.add_argument("--candidate", required=True, metavar="VERSION", help="Version to judge")
    _add_uri(parser, "--from")
    parser.add_argument("--model", help="Judge only this model (default: all)")
    parser.add_argument("--since", metavar="DAY", help="First day, such as 2026-11-01 (default: all)")
    parser.add_argument("--until", metavar="DAY", help="Last day (default: all)")
    parser.add_argument(
        "--margin",
        type=_share,
        default=0.01,
        metavar="SHARE",
        help='Differences within ±SHARE count as "same" (default: 1%%)',
    )
    parser.add_argument(
        "--detect",
        type=_share,
        default=0.02,
        metavar="SHARE",
        help="Change to detect, for which the number of devices is planned (default: 2%%)",
    )
    parser.add_argument("--fail-if-slower", action="store_true", help="Exit with code 1 if a device class is slower")
    _add_format(parser)


def _traces(actions: argparse._SubParsersAction) -> None:
    parser = _action(actions, "traces", "Write the runs that a query selects as traces for Perfetto")
    parser.add_argument("query", metavar="QUERY", help="Built-in query or file of SQL with a column `run`")
    _add_uri(parser, "--from")
    parser.add_argument("--to", dest="folder", metavar="DIR", required=True, help="Folder for the DIGEST.pftrace files")
    parser.add_argument("--most", type=_count, default=100, metavar="N", help="Maximum number of runs (default: 100)")


def _tables(actions: argparse._SubParsersAction) -> None:
    _action(actions, "tables", "Describe tables and columns as Markdown")


def parse(arguments: list[str]) -> argparse.Namespace:
    """Parse the command line. A wrong command line ends the process with exit code 2, as in argparse."""
    parser = make_parser()
    options = parser.parse_args(arguments)
    if options.action == "query" and options.query and not options.uri:
        parser.error("`query NAME` needs `--from URI`")
    return options
