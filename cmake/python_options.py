"""Writes Python's descriptions of options and schemas as C++ code.

    python3 cmake/python_options.py MODULE OUT.inc OUT.d

If MODULE has schema(), its JSON Schema is written as a string literal. Otherwise MODULE.make_parser() is the parser of a
command (`etprof export`, `etprof fleet`), whose options are written as C++ values of OptionFacts. An action (`etprof fleet
add`) is a choice of the first positional, and the help of its options begins with its name.

OUT.d is a depfile, which names the modules of etprof that were imported.
This script needs only Python's standard library, because etprof can be built without PyTorch.
"""

import argparse
import importlib
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "python"))

PATHS = {
    "FILE": "kFiles",
    "DIR": "kFolders",
    "MODEL": "kFiles",
    "RUN": "kFolders",
    "URI": "kFolders",
    "NAME|FILE.sql": "kFiles",
}


def text(value: str) -> str:
    """A C++ string literal: JSON's escapes of quotes, backslashes and control characters are C++'s."""
    return json.dumps(value, ensure_ascii=False)


def texts(values: list[str]) -> str:
    """A list of them."""
    return "{" + ", ".join(map(text, values)) + "}"


def all_actions(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """The parser's options, and behind them those of its actions, each once."""
    found: dict[tuple, argparse.Action] = {}
    users: dict[tuple, list[str]] = {}
    for action in parser._actions:
        found[(*action.option_strings, action.dest)] = action
        if not isinstance(action, argparse._SubParsersAction):
            continue
        for name, inner in action.choices.items():
            for option in inner._actions:
                if "--help" in option.option_strings:
                    continue
                key = (*option.option_strings, option.metavar, option.help)
                found.setdefault(key, option)
                users.setdefault(key, []).append(name)
    for key, names in users.items():
        found[key].help = f"With {', '.join(names)}: {found[key].help}"
    return list(found.values())


def facts(action: argparse.Action) -> str:
    """One OptionFacts, with the comma behind it."""
    choices = list(action.choices or [])
    value = ""
    if isinstance(action, argparse._SubParsersAction):
        value = "ACTION"
        action.help = "What to do. " + ". ".join(f"{one.dest}: {one.help}" for one in action._choices_actions)
    elif action.nargs != 0:  # not a flag
        value = "|".join(choices) or str(action.metavar or action.dest.upper())
    long_first = sorted(action.option_strings, key=lambda name: not name.startswith("--"))
    return f"""{{.names = {texts(long_first)},
 .positional = {text(value.lower() if not action.option_strings else "")},
 .value = {text(value)},
 .repeats = {"true" if action.nargs == "+" or isinstance(action, argparse._AppendAction) else "false"},
 .choices = {texts(choices)},
 .suggestions = {texts(list(getattr(action, "suggestions", ())))},
 .paths = OptionFacts::Paths::{PATHS.get(value, "kNone")},
 .help = {text((action.help or "").replace("%%", "%"))}}},
"""


def escaped(path: str) -> str:
    """As a depfile has it."""
    return path.replace(" ", "\\ ")


options = importlib.import_module(sys.argv[1])
target, depfile = map(Path, sys.argv[2:])
modules = [module.__file__ for name, module in sys.modules.items() if name.split(".")[0] == "etprof"]
depfile.write_text(f"{escaped(str(target))}: {' '.join(escaped(file) for file in modules if file)}\n", encoding="utf-8")
if hasattr(options, "schema"):
    made = f'R"json({json.dumps(options.schema())})json"\n'
else:
    made = "".join(map(facts, all_actions(options.make_parser())))
# What is unchanged stays as old as it is: nothing is compiled and linked again for it.
if not target.exists() or target.read_text(encoding="utf-8") != made:
    target.write_text(made, encoding="utf-8")
