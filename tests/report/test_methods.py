"""ETDumps whose runs are of several methods, which nothing in the file names."""

import sys
from pathlib import Path

import executorch.devtools.etdump.schema_flatcc as schema
from executorch.devtools.etdump.serialize import serialize_to_etdump_flatcc

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import program


def event(name: str, start: int, end: int, instruction: int = -1) -> schema.Event:
    times = schema.ProfileEvent(
        name=name,
        chain_index=-1 if instruction < 0 else 0,
        instruction_id=instruction,
        delegate_debug_id_int=-1,
        delegate_debug_id_str=None,
        delegate_debug_metadata=None,
        start_time=start,
        end_time=end,
    )
    return schema.Event(profile_event=times, allocation_event=None, debug_event=None)


def write(path: Path, operators: list[str]) -> Path:
    """Writes 20 runs of each method. A method has one of the operators."""
    runs = []
    for number in range(20 * len(operators)):
        start, name = 10_000 * number, operators[number % len(operators)]
        events = [
            event(name, start + 20, start + 900, 0),
            event("OPERATOR_CALL", start + 10, start + 950, 0),
            event("Method::execute", start, start + 1000),
        ]
        runs.append(schema.RunData(name="Execute", bundled_input_index=-1, allocators=[], events=events))
    path.write_bytes(serialize_to_etdump_flatcc(schema.ETDumpFlatCC(version=0, run_data=runs)))
    return path


def test_a_method_without_a_counterpart_is_named(tmp_path):
    one = write(tmp_path / "one.etdump", ["native_call_add.out"])
    two = write(tmp_path / "two.etdump", ["native_call_add.out", "native_call_mul.out"])
    warning = "the baseline's trace has 1 method and the candidate's 2"
    assert warning in " ".join(program.run("compare", one, two, width=120).stdout.split())
    assert "trace has" not in program.run("compare", two, two, width=120).stdout
