#!/usr/bin/env -S python3 -S
"""A fake worker with scripted latencies. It implements src/protocol/messages.h, and runs no model.

Environment variables (set by the configuration's "env") control its behavior and its faults:
  FAKE_LATENCY_NS   nanoseconds of one run [1000000]
  FAKE_LAUNCH_FACTORS  "1.0,1.05": factors of the latency by launch, the last also for later launches; needs FAKE_STATE
  FAKE_MODEL_FACTORS   {"slow.pte": 1.1}: factors of the latency by the end of the model's path
  FAKE_LOAD_NS, FAKE_PEAK_RSS  the reported load time (ns) and peak memory (bytes) [1000, 2000]
  FAKE_STATE        a folder in which launches are counted, one file per launch
  FAKE_FAIL         "<fault>@<command>[:<launch>[,<launch>...]]", launches counted from 1; without: all launches:
                    die, hang, garbage, refuse, silent (closes its output), interrupt (dies of a SIGINT that
                    etprof gets just after it)
  FAKE_FAIL_AFTER   number of times that the command succeeds before it fails [0]
  FAKE_SLEEP        seconds that every burst takes [0]
  FAKE_HOLD         "<file>:<launch>:<burst>": from this burst of this launch on, the worker waits while the file exists;
                    <file>.held exists while a worker waits
  FAKE_MEET         "<folder>:<number>": the first burst waits until this number of workers have reached theirs;
                    after five minutes alone, the worker exits
  FAKE_ALONE, FAKE_WHO  a folder, and the name of the measurement: <folder>/met records workers of other measurements
  FAKE_ETDUMP       the ETDump of the traced runs, for copies outside the tests [toy_cnn.t1.etdump]
  FAKE_ISA          "avx,avx2": the reported CPU features after the mask; without: not reported
  FAKE_STDERR       written to stderr at the start
  FAKE_PEAKS        the message with which --measure-peaks fails; without: it succeeds

Tests start this program thousands of times, so it imports little: pathlib, shutil, and `site` would add half of its time.
"""

import json
import os
import signal
import sys
import time

ETDUMP = os.environ.get("FAKE_ETDUMP") or os.path.join(
    os.path.dirname(os.path.dirname(os.path.realpath(__file__))), "data", "toy_cnn.t1.etdump"
)


def count_launch() -> int:
    folder = os.environ.get("FAKE_STATE")
    if not folder:
        return 1
    os.makedirs(folder, exist_ok=True)
    number = len(os.listdir(folder)) + 1
    touch(f"{folder}/{number:03}.{os.getpid()}")
    return number


def touch(path: str) -> None:
    with open(path, "ab"):
        pass


def wait_for_all() -> None:
    """Waits until all workers are here at the same time. A worker that is alone for five minutes exits."""
    folder, _, number = os.environ.get("FAKE_MEET", "").rpartition(":")
    if not folder:
        return
    os.makedirs(folder, exist_ok=True)
    touch(f"{folder}/{os.getpid()}")
    end = time.monotonic() + 300
    while len(os.listdir(folder)) < int(number):
        if time.monotonic() > end:
            sys.exit("nobody else came")
        time.sleep(0.01)


def record_other_owners() -> None:
    """Records the owners of other running workers. Workers of the same measurement may run at the same time."""
    folder, owner = os.environ.get("FAKE_ALONE"), os.environ.get("FAKE_WHO", "")
    if not folder:
        return
    os.makedirs(folder, exist_ok=True)
    touch(f"{folder}/{owner}.{os.getpid()}")
    for name in os.listdir(folder):
        other, _, pid = name.rpartition(".")
        if pid and other != owner and os.path.exists(f"/proc/{pid}"):
            with open(f"{folder}/met", "a") as met:
                met.write(f"{owner} and {other}\n")


def reply(kind: str, **body) -> None:
    print(json.dumps({"reply": kind, **body}), flush=True)


def interrupt() -> None:
    etprof, worker = os.getppid(), os.getpid()
    if os.fork() == 0:
        os.setsid()
        for stream in range(3):
            os.close(stream)
        while os.getppid() == worker:
            time.sleep(0.01)
        os.kill(etprof, signal.SIGINT)
        os._exit(0)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.kill(worker, signal.SIGINT)


class Fake:
    def __init__(self) -> None:
        self.launch = count_launch()
        self.latency = int(os.environ.get("FAKE_LATENCY_NS", "1000000"))
        factors = os.environ.get("FAKE_LAUNCH_FACTORS", "1").split(",")
        self.latency = round(self.latency * float(factors[min(self.launch, len(factors)) - 1]))
        self.first = True
        self.bursts = 0
        fault, _, rest = os.environ.get("FAKE_FAIL", "").partition("@")
        self.fault = fault
        self.received = 0  # number of times that the command was received
        self.command, _, launches = rest.partition(":")
        self.launches = [int(n) for n in launches.split(",")] if launches else []

    def misbehave(self, command: str) -> None:
        if command != self.command or (self.launches and self.launch not in self.launches):
            return
        self.received += 1
        if self.received <= int(os.environ.get("FAKE_FAIL_AFTER", "0")):
            return
        if self.fault == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.fault == "interrupt":
            interrupt()
        if self.fault == "hang":
            time.sleep(3600)
        if self.fault == "garbage":
            print("this is not JSON", flush=True)
        if self.fault == "refuse":
            print(json.dumps({"error": "no such operator: demo::missing", "cmd": command}), flush=True)
        if self.fault == "silent":
            sys.stderr.write("something broke\n")
            sys.exit(1)

    def hold(self) -> None:
        file, launch, burst = os.environ.get("FAKE_HOLD", "::").split(":")
        if not file or (self.launch, self.bursts) < (int(launch), int(burst)):
            return
        if os.path.exists(file):
            touch(f"{file}.held")
        while os.path.exists(file):
            time.sleep(0.01)

    def burst(self, request: dict) -> None:
        self.bursts += 1
        if self.first:
            wait_for_all()
        self.hold()
        record_other_owners()
        time.sleep(float(os.environ.get("FAKE_SLEEP", "0")))
        opening = [self.latency] * max(request.get("min_opening", 1), min(3, request.get("max_opening", 3)))
        first, self.first = self.first, False
        if first:
            opening[0] *= 5
        runs = max(request.get("min_runs", 3), min(request["max_runs"], 3))
        reply(
            "burst",
            opening_ns=opening,
            untraced_ns=[self.latency + i for i in range(runs)],
            traced_ns=[self.latency + 100] * request.get("traced_runs", 0),
            level=True,
            first_run_traced=first,
            start_ns=1,
            end_ns=2,
            cpu_time_ns=1,
        )

    def run(self) -> None:
        sys.stderr.write(os.environ.get("FAKE_STDERR", ""))
        self.misbehave("ready")
        optional = {}
        if "FAKE_ISA" in os.environ:
            features = [feature for feature in os.environ["FAKE_ISA"].split(",") if feature]
            optional["isa"] = {"detected": features, "masked": [], "enabled": features}
        reply("ready", protocol=2, executorch_version="1.5.1", operator_clock="exact", threads=threads(), **optional)
        for line in sys.stdin:
            request = json.loads(line)
            command = request["cmd"]
            self.misbehave(command)
            if command == "load":
                factors = json.loads(os.environ.get("FAKE_MODEL_FACTORS", "{}"))
                model_factors = [
                    factor for end, factor in factors.items() if f"/{request['model']}".endswith(f"/{end}")
                ]
                self.latency = round(self.latency * (model_factors or [1])[0])
                load_ns = int(os.environ.get("FAKE_LOAD_NS", "1000"))
                reply("load", load_ns=load_ns, rss_bytes=1000, inputs=[], outputs=[], backends=["XnnpackBackend"])
            elif command == "burst":
                self.burst(request)
            elif command == "outputs":
                digest = {"info": {"dtype": "Float", "shape": [1]}, "sha256": "00" * 32}
                reply("outputs", outputs=[digest])
            elif command == "etdump":
                with open(ETDUMP, "rb") as traced, open(request["path"], "wb") as copy:
                    size = copy.write(traced.read())
                reply("etdump", blocks=21, bytes=size)
            elif command in ("counters", "watch"):
                reply(command, **{"counters": counters, "watch": watch}[command](request["runs"]))
            elif command == "memory":
                reply("memory", rss_bytes=1000, peak_rss_bytes=int(os.environ.get("FAKE_PEAK_RSS", "2000")))
            elif command == "quit":
                reply("quit")
                return


def counters(runs: int) -> dict:
    """Returns counters of a 3 GHz processor with two instructions per cycle and one cache miss per 667 instructions."""
    names = ["cycles", "instructions", "cache_misses", "task_clock_ns"]
    operator = {"chain": 0, "instruction": 0, "kind": "backend", "ordinal": 0, "occurrence": 0, "name": "Copy #1"}
    method = operator | {"instruction": -1, "kind": "method", "name": "Method::execute"}
    return {
        "runs": runs,
        "threads": 1,
        "unmatched_calls": 0,
        "source": "processor",
        "counters": [{"name": name, "user_only": False, "share": 1} for name in names],
        "closed": [{"name": "page_faults", "why": "a setting"}],
        "operators": [
            operator | {"runs": runs, "means": [3000, 6000, 9, 1000]},
            method | {"runs": runs, "means": [4000, 8000, 10, 1400]},
        ],
    }


def watch(runs: int) -> dict:
    """Returns the task times of a CPU whose two threads share a matrix unit: concurrent tasks take twice as long."""
    document = {
        "why_not": os.environ.get("FAKE_WATCH_WHY_NOT", ""),
        "runs": runs,
        "contended": "FAKE_WATCH_CONTENDED" in os.environ,
        "threads": 2,
        "architecture": "aarch64",
        "library": "libexecutorch_backend_xnnpack.so",
        "outputs_compared": True,
        "unmatched_calls": 0,
    }
    thread = {
        "tasks": 8 * runs,
        "busy_ns": 900_000 * runs,
        "waiting_ns": 200_000 * runs,
        "wake_ns": 10_000 * runs,
        "regions": runs,
    }
    thread |= {"alone_ns": 450_000 * runs, "alone_tasks": 8 * runs, "cpu": 1, "capacity": 1024}
    # The code of the called function: fmopa za0.s, p0/m, p0/m, z0.s, z1.s
    function = {"name": "kai_run_matmul_clamp_f32_f32p2vlx1_f32p2vlx1b_2vlx2vl_sme_mopa", "address": 4096, "size": 4}
    function |= {"code": "c0035fd6", "called": "00008180"}
    if "FAKE_WATCH_NEON" in os.environ:  # fmla v0.4s, v1.4s, v2.4s, in a function of XNNPACK
        function |= {"name": "", "called": "20cc224e"}
    operator = {"chain": 0, "instruction": 0, "kind": "backend", "occurrence": 0}
    operator["ordinal"] = int(os.environ.get("FAKE_WATCH_ORDINAL", "0"))
    operator |= {"name": "Fully Connected (NC, PF32) GEMM #1", "runs": runs, "time_ns": 1100_000 * runs}
    operator |= {"parallel_ns": 1000_000 * runs, "regions": runs, "threads": [thread, thread]}
    operator |= {"fastest_parallel_ns": 1000_000, "fastest_alone_ns": 900_000}
    operator["functions"] = [{"function": 0, "is_task": False, "calls": [8 * runs, 8 * runs]}]
    return {**document, "functions": [function], "operators": [operator], "memory": memory()}


def memory() -> dict:
    """Returns the memory of a process that keeps its file mapped, with FAKE_PACKED bytes of packed weights."""
    packed = int(os.environ.get("FAKE_PACKED", "4000000"))
    owners = {"program": 5_000_000, "planned": 600_000, "weights": packed, "workspace": 0, "xnnpack": 7000}
    owners |= {"libraries": 9_000_000, "stacks": 30_000, "rest": 4_000_000}
    parts = [{"owner": owner, "bytes": size, "resident_bytes": size} for owner, size in owners.items()]
    moment = {"at": "steady", "rss_bytes": sum(owners.values()), "parts": parts}
    created = {"function": "xnn_create_fully_connected_nc_f32", "delegate": 0, "bytes": packed, "largest": packed}
    created |= {"name": "Fully Connected (NC, PF32) GEMM #1", "instruction": 0, "ordinal": 0, "copy_of": -1}
    load = {"program": 100_000, "plan": 200_000, "graph": 300_000, "create": 400_000, "pack": 5_000_000, "rest": 1}
    times = [{"part": part, "ns": ns} for part, ns in load.items()]
    delegates = [{"workspace": number, "workspace_bytes": 8000, "weights_cache": -1} for number in (0, 1, 0)]
    document = {
        "delegates": delegates,
        "moments": [moment],
        "operators": [created],
        "load": {"total_ns": sum(load.values()), "parts": times},
    }
    return {"why_not": os.environ.get("FAKE_MEMORY_WHY_NOT", ""), **document}


def peaks() -> None:
    """Prints the output of --measure-peaks, with round numbers."""
    if "FAKE_PEAKS" in os.environ:
        sys.exit(os.environ["FAKE_PEAKS"])
    state = {"detected": [], "masked": [], "enabled": [], "can_mask": True, "why_not": ""}
    rate = {f"{which}macs_per_s": 1e10 for which in ("", "median_", "worst_")} | {"tries": 1}
    compute = {"level": "sse2", "dtype": "fp32", "instruction": "mulps, addps"} | rate
    rate = {f"{which}bytes_per_s": 1e10 for which in ("", "median_", "worst_")} | {"tries": 1}
    memory = {"level": "DRAM", "access": "read", "working_set_bytes": 1 << 26, "capacity_bytes": None} | rate
    (isa,) = [word.partition("=")[2] for word in sys.argv if word.startswith("--isa=")] or [""]
    header = {"threads": threads(), "cpus": "", "isa": isa, "isa_state": state, "clock_hz": 1e9, "took_ns": 1}
    print(json.dumps(header | {"compute": [compute], "memory": [memory]}))


def threads() -> int:
    for argument in sys.argv:
        if argument.startswith("--cpu_threads="):
            return int(argument.partition("=")[2])
    return 1


if __name__ == "__main__":
    if "--measure-peaks" in sys.argv:
        peaks()
    else:
        Fake().run()
