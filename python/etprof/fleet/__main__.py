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

_DIGEST = re.compile("[0-9a-f]{32}")
# Modules of object stores' clients, which also raise errors other than OSError.
_CLIENTS = {"adlfs", "aiobotocore", "aiohttp", "azure", "botocore", "gcsfs", "google"}


def _say(text: str) -> None:
    print(text, file=sys.stderr)


def _counted(number: int, one: str, many: str = "") -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"


def _require_one(paths: Sequence[str], open_run: Callable[[str], object]) -> None:
    """Raise FleetError of the last path if no path can be opened, so that wrong paths alone do not create a fleet."""
    for path in paths[:-1]:
        with contextlib.suppress(FleetError):
            open_run(path)
            return
    open_run(paths[-1])


def _add(chosen: Namespace) -> int:
    from etprof.fleet import ingest, store

    _require_one(chosen.runs, ingest.open_run)
    labels = ingest.Labels(chosen.device, chosen.device_class, chosen.version, chosen.model, chosen.day)
    done = ingest.add(store.Fleet(chosen.uri, create=True), chosen.runs, labels, chosen.events)
    known = f"; {_counted(done.known, 'run was', 'runs were')} there already" if done.known else ""
    _say(
        f"{_counted(done.runs, 'run')} added: {_counted(done.launches, 'launch', 'launches')}, "
        f"{_counted(done.operators, 'operator row')}{known}"
    )
    for error in done.refused[:-1]:
        _say(f"left out: {error}")
    if done.refused:
        raise done.refused[-1]
    return EXIT_DONE


def _remove(chosen: Namespace) -> int:
    from etprof.fleet import ingest, store

    digests: dict[str, set[str]] = {
        run: {run} if _DIGEST.fullmatch(run) else ingest.open_run(run).digests for run in chosen.runs
    }
    found = store.Fleet(chosen.uri).remove(set().union(*digests.values()))
    if found:
        _say(f"{_counted(len(found), 'run')} removed")
    if missing := [run for run, known_as in digests.items() if not known_as & found]:
        more = f" (and {len(missing) - 1} more)" if len(missing) > 1 else ""
        raise FleetError(f"`{missing[0]}`{more} is not in the fleet", "`etprof fleet query` of a file with `FROM runs`")
    return EXIT_DONE


def _compact(chosen: Namespace) -> int:
    from etprof.fleet import store

    done = store.Fleet(chosen.uri).compact(chosen.least_files, chosen.grace * 3600)
    _say(
        f"{_counted(done.before, 'batch', 'batches')} became {done.after}; {_counted(done.removed_files, 'file')} removed"
    )
    return EXIT_DONE


def _files(chosen: Namespace) -> int:
    from etprof.fleet import store

    fleet = store.Fleet(chosen.uri)
    named = {
        table: files if fleet.local else [fleet.fs.unstrip_protocol(file) for file in files]
        for table, files in fleet.files().items()
    }
    print(json.dumps(named, indent=2))
    return EXIT_DONE


def _query(chosen: Namespace) -> int:
    from etprof.fleet import query, store

    if not chosen.query:
        query.show(["query", "answers"], query.names().items(), chosen.format, sys.stdout)
        return EXIT_DONE
    sql = query.text_of(chosen.query)
    answer = query.ask(store.Fleet(chosen.uri), sql, dict(chosen.variables))
    query.show(answer.columns, answer.rows, chosen.format, sys.stdout)
    return EXIT_DONE


def _verdict(chosen: Namespace) -> int:
    from etprof.fleet import query, store, verdict

    judged = verdict.judge(store.Fleet(chosen.uri), verdict.Question.of(chosen))
    columns, rows = verdict.table(judged)
    query.show(columns, rows, chosen.format, sys.stdout)
    for line in verdict.notes(judged):
        _say(line)
    return EXIT_CHECK_FAILED if chosen.fail_if_slower and verdict.slower(judged) else EXIT_DONE


def _traces(chosen: Namespace) -> int:
    from etprof.fleet import query, store, traces

    fleet = store.Fleet(chosen.uri)
    written = traces.write(fleet, query.text_of(chosen.query), chosen.folder, chosen.most)
    for file in written:
        print(file)
    return EXIT_DONE


def _tables(chosen: Namespace) -> int:
    from etprof.fleet import schema

    del chosen
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
    chosen = options.parse(arguments)
    return errors.exit_code_of(lambda: _do(chosen))


def _do(chosen: Namespace) -> int:
    try:
        return _ACTIONS[chosen.action](chosen)
    except FleetError as error:
        errors.report(str(error), error.what_to_do, sys.stderr)
        return error.exit_code
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
