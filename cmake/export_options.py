"""Writes the options of `etprof export`, which are the Python exporter's, as C++ values of OptionFacts.

    python3 cmake/export_options.py OUT.inc OUT.d

OUT.d names, as a compiler's depfile does, the modules of etprof that they come from.
Needs nothing but Python's standard library: etprof is built where there is no PyTorch, too.
"""

import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "python"))

from etprof import options

PATHS = {"FILE": "kFiles", "DIR": "kFolders", "MODEL": "kFiles"}


def text(value: str) -> str:
    """A C++ string literal: JSON's escapes of quotes, backslashes and control characters are C++'s."""
    return json.dumps(value, ensure_ascii=False)


def texts(values: list[str]) -> str:
    """A list of them."""
    return "{" + ", ".join(map(text, values)) + "}"


def facts(action: argparse.Action) -> str:
    """One OptionFacts, with the comma behind it."""
    choices = list(action.choices or [])
    value = ""
    if action.nargs != 0:  # not a flag
        value = "|".join(choices) or str(action.metavar or action.dest.upper())
    long_first = sorted(action.option_strings, key=lambda name: not name.startswith("--"))
    return f"""{{.names = {texts(long_first)},
 .positional = {text(value.lower() if not action.option_strings else "")},
 .value = {text(value)},
 .repeats = {"true" if action.nargs == "+" or isinstance(action, argparse._AppendAction) else "false"},
 .choices = {texts(choices)},
 .suggestions = {texts(list(getattr(action, "suggestions", ())))},
 .paths = OptionFacts::Paths::{PATHS.get(value, "kNone")},
 .help = {text(action.help or "")}}},
"""


def escaped(path: str) -> str:
    """As a depfile has it."""
    return path.replace(" ", "\\ ")


target, depfile = map(Path, sys.argv[1:])
modules = [module.__file__ for name, module in sys.modules.items() if name.split(".")[0] == "etprof"]
depfile.write_text(f"{escaped(str(target))}: {' '.join(escaped(file) for file in modules if file)}\n", encoding="utf-8")
made = "".join(map(facts, options.make_parser()._actions))
# What is unchanged stays as old as it is: nothing is compiled and linked again for it.
if not target.exists() or target.read_text(encoding="utf-8") != made:
    target.write_text(made, encoding="utf-8")
