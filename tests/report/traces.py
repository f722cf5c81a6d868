"""Reads the traces of `etprof trace` with Perfetto's own protos and with a JSON parser."""

import json
from collections import defaultdict
from dataclasses import dataclass, field

from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import (
    BUILTIN_CLOCK_MONOTONIC,
    Trace,
    TracePacket,
    TrackEvent,
)


@dataclass
class Slice:
    name: str
    start: int  # ns
    end: int
    arguments: dict
    parents: list[str]  # names, from the outermost


@dataclass
class Process:
    slices: dict[str, list[Slice]] = field(default_factory=lambda: defaultdict(list))  # by thread
    counters: dict[str, list[tuple[int, float]]] = field(default_factory=lambda: defaultdict(list))  # time, value


@dataclass
class ReadTrace:
    processes: dict[str, Process]
    attributes: dict
    clocks: list[dict[int, int]] = field(default_factory=list)

    def slices(self) -> list[Slice]:
        return [
            slice_ for process in self.processes.values() for thread in process.slices.values() for slice_ in thread
        ]


class _Perfetto:
    """Reads a trace as Perfetto does: interned texts, packets in a stable order by time, slices from begin and end events."""

    def __init__(self) -> None:
        self.names: dict[int, str] = {}
        self.annotation_names: dict[int, str] = {}
        self.texts: dict[int, str] = {}
        self.tracks: dict[int, tuple[str, str, Process]] = {}
        self.pids: dict[int, str] = {}
        self.trace = ReadTrace(defaultdict(Process), {})
        self.events: list[tuple[int, TrackEvent]] = []

    def packet(self, packet: TracePacket, number: int) -> None:
        assert packet.trusted_packet_sequence_id, "Perfetto drops events without a sequence"
        cleared, needed = TracePacket.SEQ_INCREMENTAL_STATE_CLEARED, TracePacket.SEQ_NEEDS_INCREMENTAL_STATE
        assert packet.sequence_flags == (cleared if number == 0 else needed)
        self.intern(packet.interned_data)
        if packet.HasField("track_descriptor"):
            self.describe(packet.track_descriptor)
        for attribute in packet.trace_attributes.attribute:
            value = attribute.long_value if attribute.HasField("long_value") else attribute.string_value
            self.trace.attributes[attribute.key] = value
        if packet.HasField("clock_snapshot"):
            self.trace.clocks.append({clock.clock_id: clock.timestamp for clock in packet.clock_snapshot.clocks})
        if packet.HasField("track_event"):
            assert packet.timestamp_clock_id == (BUILTIN_CLOCK_MONOTONIC if self.trace.clocks else 0)
            self.events.append((packet.timestamp, packet.track_event))

    def intern(self, data: object) -> None:
        assert not {entry.iid for entry in data.event_names} & set(self.names)
        self.names.update({entry.iid: entry.name for entry in data.event_names})
        self.annotation_names.update({entry.iid: entry.name for entry in data.debug_annotation_names})
        self.texts.update({entry.iid: entry.str.decode("utf-8") for entry in data.debug_annotation_string_values})

    def describe(self, descriptor: object) -> None:
        assert descriptor.uuid not in self.tracks
        if descriptor.HasField("process"):
            name = descriptor.process.process_name
            self.pids[descriptor.process.pid] = name
            self.tracks[descriptor.uuid] = ("process", name, self.trace.processes[name])
        elif descriptor.HasField("thread"):
            process = self.trace.processes[self.pids[descriptor.thread.pid]]
            self.tracks[descriptor.uuid] = ("thread", descriptor.thread.thread_name, process)
        else:
            kind, _, process = self.tracks[descriptor.parent_uuid]
            assert kind == "process"
            self.tracks[descriptor.uuid] = ("counter", descriptor.name, process)

    def arguments(self, event: TrackEvent) -> dict:
        return {
            self.annotation_names[annotation.name_iid]: self.texts[annotation.string_value_iid]
            if annotation.string_value_iid
            else annotation.int_value
            for annotation in event.debug_annotations
        }

    def finish(self) -> ReadTrace:
        open_slices = defaultdict(list)
        for time, event in sorted(self.events, key=lambda entry: entry[0]):
            kind, name, process = self.tracks[event.track_uuid]
            stack = open_slices[event.track_uuid]
            if event.type == TrackEvent.TYPE_SLICE_BEGIN:
                assert kind == "thread"
                parents = [outer.name for outer in stack]
                stack.append(Slice(self.names[event.name_iid], time, -1, self.arguments(event), parents))
                process.slices[name].append(stack[-1])
            elif event.type == TrackEvent.TYPE_SLICE_END:
                stack.pop().end = time
            else:
                assert event.type == TrackEvent.TYPE_COUNTER
                assert kind == "counter"
                process.counters[name].append((time, event.double_counter_value))
        assert not any(open_slices.values())
        self.trace.processes = dict(self.trace.processes)
        return self.trace


def read_perfetto(data: bytes) -> ReadTrace:
    trace = Trace()
    trace.ParseFromString(data)
    reader = _Perfetto()
    for number, packet in enumerate(trace.packet):
        reader.packet(packet, number)
    return reader.finish()


def _nanoseconds(text: str) -> int:
    integer, fraction = text.split(".")
    assert len(fraction) == 3
    return int(integer) * 1000 + int(fraction)


def read_chrome(data: bytes) -> ReadTrace:
    """Reads a Chrome trace. Times keep all digits of the file, which a double would round. Slices nest by their times."""
    document = json.loads(data, parse_float=str)
    names, threads = {}, {}
    for event in document["traceEvents"]:
        if event["ph"] == "M" and event["name"] == "process_name":
            names[event["pid"]] = event["args"]["name"]
        elif event["ph"] == "M" and event["name"] == "thread_name":
            threads[event["pid"], event["tid"]] = event["args"]["name"]
    processes = {name: Process() for name in names.values()}
    open_slices = defaultdict(list)
    for event in document["traceEvents"]:
        process = processes[names[event["pid"]]]
        if event["ph"] == "C":
            process.counters[event["name"]].append((_nanoseconds(event["ts"]), float(event["args"]["value"])))
        if event["ph"] != "X":
            continue
        start = _nanoseconds(event["ts"])
        end = start + _nanoseconds(event["dur"])
        stack = open_slices[event["pid"], event["tid"]]
        while stack and (stack[-1].end <= start or stack[-1].end < end):
            stack.pop()
        stack.append(Slice(event["name"], start, end, event["args"], [outer.name for outer in stack]))
        process.slices[threads[event["pid"], event["tid"]]].append(stack[-1])
    return ReadTrace(processes, document["otherData"])


READERS = {"pftrace": read_perfetto, "json": read_chrome}
