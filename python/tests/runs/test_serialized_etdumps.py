"""ETDumps of ExecuTorch's own Python serializer, with each optional field absent, empty, at its default, or set. etprof and
ExecuTorch's Inspector read the same values, to the nanosecond."""

import os
import random
import struct
from pathlib import Path

import executorch.devtools.etdump.schema_flatcc as schema
import pytest
from executorch.devtools.etdump.serialize import serialize_to_etdump_flatcc

from etprof import read_etdump
from inspector_compare import differences, inspector_runs, timeline_runs
from test_inspector_differential import analyze, needs_build  # noqa: F401

# ETPROF_TEST_DUMPS=10000 tests more of them.
DUMPS = int(os.environ.get("ETPROF_TEST_DUMPS", "25"))


class Writer:
    """Writes an ETDump of some runs with consecutive spans."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)  # noqa: S311
        self.clock = self.random.choice([0, 1_000, 2**40])
        # Names of the kernels by instruction: other kernels in another run would be those of another method.
        self.kernels = [
            self.random.choice(["native_call_add.out", "llama::custom_sdpa.out", "my kernel"]) for _ in range(5)
        ]

    def event(self, name: str | None, start: int, instruction: int | None, delegate_name: str | None = None):
        profile = schema.ProfileEvent(
            name=name,
            chain_index=self.random.choice([-1, 0]) if instruction is None else 0,
            instruction_id=-1 if instruction is None else instruction,
            delegate_debug_id_str=delegate_name,
            delegate_debug_id_int=-1,
            delegate_debug_metadata=self.random.choice([None, b"", b"note"]) if delegate_name else None,
            start_time=start,
            end_time=self.clock,
        )
        return schema.Event(profile_event=profile, allocation_event=None, debug_event=None)

    def tick(self) -> int:
        self.clock += self.random.choice([0, 1, 7, 1_000, 123_456])
        return self.clock

    def run(self) -> schema.RunData:
        start = self.tick()
        events = []
        empty_value = self.random.choice([None, ""])
        for instruction in range(self.random.randrange(1, 6)):
            call = self.tick()
            if self.random.random() < 0.5:
                kernel = self.tick()
                self.tick()
                events.append(self.event(self.kernels[instruction], kernel, instruction, empty_value))
                self.tick()
                events.append(self.event("OPERATOR_CALL", call, instruction, empty_value))
            else:
                for number in range(self.random.randrange(0, 3)):
                    kernel = self.tick()
                    self.tick()
                    events.append(self.event(empty_value, kernel, instruction, f"Add (ND) #{number + 1}"))
                self.tick()
                events.append(self.event("DELEGATE_CALL", call, instruction, empty_value))
        self.tick()
        events.append(self.event("Method::execute", start, None, empty_value))
        allocators = self.random.choice([[], [schema.Allocator(name="planned")]])
        return schema.RunData(
            name="Execute", bundled_input_index=self.random.choice([-1, 0, 3]), allocators=allocators, events=events
        )

    def dump(self) -> bytes:
        runs = [self.run() for _ in range(self.random.randrange(1, 6))]
        return bytes(serialize_to_etdump_flatcc(schema.ETDumpFlatCC(version=0, run_data=runs)))


@pytest.mark.usefixtures("needs_build")
@pytest.mark.parametrize("seed", range(DUMPS))
def test_reads_what_inspector_reads(seed: int, tmp_path: Path):
    data = Writer(seed).dump()
    prefixed = tmp_path / "prefixed.etdump"  # Inspector needs this prefix
    prefixed.write_bytes(struct.pack("<I", len(data)) + data)
    expected = inspector_runs(prefixed)
    assert differences(expected, timeline_runs(analyze(prefixed, tmp_path / "a"))) == []
    plain = tmp_path / "plain.etdump"
    plain.write_bytes(data)
    assert differences(expected, timeline_runs(analyze(plain, tmp_path / "b"))) == []


@pytest.mark.usefixtures("needs_build")
def test_delegates_have_a_clock_of_their_own():
    writer = Writer(0)
    events = []
    # The delegate's events have microseconds, and ExecuTorch's have nanoseconds.
    for name, start, end in [(None, 1_000, 2_500), ("DELEGATE_CALL", 900_000, 2_600_000)]:
        writer.clock = end
        events.append(writer.event(name, start, 0, None if name else "Add (ND) #1"))
    writer.clock = 2_700_000
    events.append(writer.event("Method::execute", 800_000, None))
    run = schema.RunData(name="Execute", bundled_input_index=-1, allocators=[], events=events)
    data = bytes(serialize_to_etdump_flatcc(schema.ETDumpFlatCC(version=0, run_data=[run])))
    dump = read_etdump(data, delegate_time_scale="us")
    assert dump.start_ns.tolist() == [1_000_000, 900_000, 800_000]
    assert dump.end_ns.tolist() == [2_500_000, 2_600_000, 2_700_000]
    with pytest.raises(ValueError, match="'ticks' is not a unit of time"):
        read_etdump(data, delegate_time_scale="ticks")
