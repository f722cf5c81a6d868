"""`etprof fleet ...` runs this module as `python -m etprof.fleet ...`."""

from __future__ import annotations

import contextlib
import json
import re
import sys
from argparse import Namespace
from collections.abc import Callable, Sequence

from etprof import errors
from etprof.errors import EXIT_BAD_INPUT, EXIT_CHECK_FAILED, EXIT_DONE, EXIT_FAILED, EXIT_INTERRUPTED
from etprof.fleet import options
from etprof.fleet.problem import FleetError
from etprof.results import counted

_DIGEST = re.compile("[0-9a-f]{32}")
# Modules of object stores' clients, which also raise errors other than OSError.
_CLIENTS = {"adlfs", "aiobotocore", "aiohttp", "azure", "botocore", "gcsfs", "google"}


def _print_status(text: str) -> None:
    print(text, file=sys.stderr)


def _require_readable_path(paths: Sequence[str], open_run: Callable[[str], object]) -> None:
    """Raise FleetError of the last path if no path can be opened, so that wrong paths alone do not create a fleet."""
    for path in paths[:-1]:
        with contextlib.suppress(FleetError):
            open_run(path)
            return
    open_run(paths[-1])


def _add(args: Namespace) -> int:
    from etprof.fleet import ingest, store

    _require_readable_path(args.runs, ingest.open_run)
    labels = ingest.Labels(args.device, args.device_class, args.version, args.model, args.day)
    added = ingest.add(store.Fleet(args.uri, create=True), args.runs, labels, args.events)
    known = f"; {counted(added.known, 'run was', 'runs were')} there already" if added.known else ""
    _print_status(
        f"{counted(added.runs, 'run')} added: {counted(added.launches, 'launch', 'launches')}, "
        f"{counted(added.operators, 'operator row')}{known}"
    )
    for error in added.refused[:-1]:
        _print_status(f"left out: {error}")
    if added.refused:
        raise added.refused[-1]
    return EXIT_DONE


def _remove(args: Namespace) -> int:
    from etprof.fleet import ingest, store

    digests: dict[str, set[str]] = {
        run: {run} if _DIGEST.fullmatch(run) else ingest.open_run(run).digests for run in args.runs
    }
    found = store.Fleet(args.uri).remove(set().union(*digests.values()))
    if found:
        _print_status(f"{counted(len(found), 'run')} removed")
    if missing := [run for run, run_digests in digests.items() if not run_digests & found]:
        more = f" (and {len(missing) - 1} more)" if len(missing) > 1 else ""
        raise FleetError(f"`{missing[0]}`{more} is not in the fleet", "`etprof fleet query` of a file with `FROM runs`")
    return EXIT_DONE


def _compact(args: Namespace) -> int:
    from etprof.fleet import store

    compacted = store.Fleet(args.uri).compact(args.least_files, args.grace * 3600)
    _print_status(
        f"{counted(compacted.before, 'batch', 'batches')} became {compacted.after}; {counted(compacted.removed_files, 'file')} removed"
    )
    return EXIT_DONE


def _files(args: Namespace) -> int:
    from etprof.fleet import store

    fleet = store.Fleet(args.uri)
    print(json.dumps({table: fleet.urls(files) for table, files in fleet.files().items()}, indent=2))
    return EXIT_DONE


def _query(args: Namespace) -> int:
    from etprof.fleet import query, store

    if not args.query:
        query.show(["query", "answers"], query.names().items(), args.format, sys.stdout)
        return EXIT_DONE
    sql = query.read_sql(args.query)
    answer = query.ask(store.Fleet(args.uri), sql, dict(args.variables))
    query.show(answer.columns, answer.rows, args.format, sys.stdout)
    return EXIT_DONE


def _verdict(args: Namespace) -> int:
    from etprof.fleet import query, store, verdict

    judged = verdict.judge(store.Fleet(args.uri), verdict.Question.of(args))
    columns, rows = verdict.table(judged)
    query.show(columns, rows, args.format, sys.stdout)
    for line in verdict.notes(judged):
        _print_status(line)
    return EXIT_CHECK_FAILED if args.fail_if_slower and verdict.slower(judged) else EXIT_DONE


def _traces(args: Namespace) -> int:
    from etprof.fleet import query, store, traces

    fleet = store.Fleet(args.uri)
    files = traces.write(fleet, query.read_sql(args.query), args.folder, args.most)
    for file in files:
        print(file)
    return EXIT_DONE


def _tables(args: Namespace) -> int:
    from etprof.fleet import schema

    del args
    sys.stdout.write(schema.page())
    return EXIT_DONE


_ACTIONS: dict[str, Callable[[Namespace], int]] = {
    "add": _add,
    "remove": _remove,
    "compact": _compact,
    "files": _files,
    "query": _query,
    "verdict": _verdict,
    "traces": _traces,
    "tables": _tables,
}


def _import_failed(error: ImportError) -> tuple[str, str]:
    """Return the problem and the remedy of a failed import."""
    if error.name is None or error.name.partition(".")[0] == "etprof":
        return f"etprof's native module cannot be loaded: {errors.one_line(error)}", "run `script/bootstrap`"
    return (
        f"`etprof fleet` needs the Python package {error.name}, which is not installed",
        "run `script/bootstrap --fleet`, or `pip install 'etprof[fleet]'`",
    )


def main(arguments: list[str]) -> int:
    """Run the command and return the exit code."""
    args = options.parse(arguments)
    return errors.run_command(lambda: _do(args))


def _do(args: Namespace) -> int:
    try:
        return _ACTIONS[args.action](args)
    except ImportError as error:
        errors.report(*_import_failed(error), sys.stderr)
        return EXIT_BAD_INPUT
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except Exception as error:
        if isinstance(error, OSError) or type(error).__module__.partition(".")[0] not in _CLIENTS:
            raise
        errors.report(errors.one_line(error), "check the endpoint and your credentials, and try again", sys.stderr)
        return EXIT_FAILED


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
