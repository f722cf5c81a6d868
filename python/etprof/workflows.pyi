"""The commands of etprof as functions. Each returns the command's --json output (docs/reference/json.md). script/reference wrote this."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from etprof.results import Result

Path_ = str | os.PathLike[str]
Progress = Callable[[dict[str, Any]], object]

def analyze(
    path: Path_,
) -> Result:
    """Analyze where the time goes in an ETDump, a timeline CSV, or a results directory.

    Files of the analysis that are missing or outdated are written into the results directory.

    Raises:
        ValueError: an input cannot be read; the message says which and why (also for the functions below)
    """

def report(
    path: Path_,
    out: Path_ | None = None,
) -> list[Path]:
    """Regenerate report.md and report.html of a results directory or a trace, in the folder or as the file `out`."""

def inspect(
    model: Path_,
) -> Result:
    """Show the contents of a .pte: instructions, delegates, tensors, sizes, MACs."""

def check_programs(
    baseline: Path_,
    candidate: Path_,
    thresholds: Path_ | None = None,
) -> Result:
    """Compare two .pte without running them, with the limits in a file if given: `etprof check --static`."""

def diff(
    baseline: Path_,
    candidate: Path_,
    *runs: Path_,
) -> Result:
    """Show the differences between two .pte, with the times that `runs` measured."""

def kernels(
    *paths: Path_,
    filter_op: str = '',
) -> Result:
    """Show the microkernels in logs of kernel-log runs or in results directories."""

def trace(
    *paths: Path_,
    out: Path_,
    model: Path_ | None = None,
) -> Path:
    """Write the runs of a results directory or of traces as a timeline: Perfetto's, or Chrome's for a .json."""

def validate(
    run: Path_,
) -> Result:
    """Verify the integrity of a results directory; see "ok" and "findings"."""

def profile(
    model: Path_,
    *vs: str,
    progress: Progress | None = None,
    max_seconds: float = 60.0,
    launches: int | None = None,
    runs: int | None = None,
    threads: int | Sequence[int] | None = None,
    output_root: Path_ | None = None,
    resume: bool = False,
    device: str | Sequence[str] | None = None,
    wait_for_device: float = 60.0,
    keep: bool = False,
    power_mode: Literal['unconstrained-boost', 'app-developer'] | None = None,
    max_temp: float | None = None,
    max_temp_wait: float | None = None,
    wait_minutes: float | None = None,
    warmup: int | None = None,
    precision: float | None = None,
    margin: float | None = None,
    cpus: str | None = None,
    period: str | None = None,
    runner: Path_ | None = None,
    method: str = 'forward',
    data: Path_ | None = None,
    inputs: str | Sequence[str] | None = None,
    load: Path_ | Sequence[Path_] | None = None,
    exec_wrapper: str | None = None,
    sustained: str | None = None,
    counters: bool = False,
    instructions: bool = False,
    watch: bool = False,
    values: bool = False,
    no_peaks: bool = False,
    history: Path_ | None = None,
    commit: str = 'HEAD',
    reference: str | None = None,
    device_name: str | None = None,
) -> Result:
    """Measure a .pte, or compare it with variants of it ("isa=-avx2", "threads=2"), and analyze the results.

Options:
    max_seconds: Time limit in seconds (default: 60 for each pair)
    launches: Process launches of each experiment
    runs: Traced runs of each experiment (default: 100)
    threads: Number of threads
    output_root: Results directory
    resume: Resume an interrupted measurement of the same command
    device: Device to measure on: local, ssh:HOST, adb, adb:SERIAL, adb:HOST:PORT (default: local)
    wait_for_device: Seconds to wait for a lost device to reconnect (default: 60)
    keep: Keep the run's folder on the device
    power_mode: Power mode of Android devices: unconstrained-boost or app-developer. It is reset at the end (docs/concepts/power.md)
    max_temp: Maximum temperature in degrees Celsius: before each round, wait until the skin (the hottest CPU sensor if there is none for the skin) is below it
    max_temp_wait: Maximum seconds to wait for cooling before each round, and six times that in total (default: 300)
    wait_minutes: Maximum minutes to wait, before the measurement begins, for a device that is hot or busy (default: 0)
    warmup: Minimum warmup runs per launch (default: 10)
    precision: Target half-width of the confidence interval (default: half of --margin)
    margin: Differences within ±MARGIN count as "same" (default: 0.01)
    cpus: Run on these CPUs only: 0,2-3, a mask such as 0x80, or big, mid, little
    period: Start one inference per interval, e.g., 33ms (default: back to back)
    runner: Path of etprof-runner or an executor_runner (default: the one next to etprof)
    method: Method to run (default: forward)
    data: External weights, a .ptd file
    inputs: Inputs: ones, random, an .inputs file, or one raw file per tensor (default: the inputs saved next to the model)
    load: Library of custom operators or of another backend. May be repeated. ExecuTorch's kernels for LLMs load by themselves
    exec_wrapper: Command that starts the runner, such as an emulator or a tool on the device
    sustained: Run each experiment continuously for this long, one after the other, and show latency, clock, and temperature over time
    counters: Read the processor's counters at every operator, in separate runs (docs/guides/bottlenecks.md)
    instructions: Count the instructions of every operator, in separate runs, with the processor's counters, Callgrind, or QEMU (docs/guides/instructions.md)
    watch: Watch which kernels run, and on which threads, in separate runs (docs/concepts/kernels.md)
    values: Compare what each operator writes in the variants, in separate runs (docs/guides/values.md)
    no_peaks: Do not measure the machine's peaks (docs/guides/bottlenecks.md)
    history: Add the finished measurement to this history (docs/guides/history.md)
    commit: Commit to add the measurement to: HEAD, a hash, or any name (default: HEAD)
    reference: Experiment that does not change with the commit, to compare the others with
    device_name: Name of this machine in the history, such as ci-3 (default: local)

`progress` is called with a dict about the current step: "kind", "device", "text", "done", and "total".

Raises:
    ValueError: an argument or input is wrong
    RuntimeError: the command failed; results that were measured are kept
    KeyboardInterrupt: after Ctrl-C, once the results so far are stored (resume=True continues)
    Exception: an exception from `progress` ends the measurement, too"""

def run(
    config: Path_ | Mapping[str, Any],
    *,
    dry_run: bool = False,
    progress: Progress | None = None,
    only: str | Sequence[str] | None = None,
    max_seconds: float | None = None,
    launches: int | None = None,
    runs: int | None = None,
    threads: int | Sequence[int] | None = None,
    output_root: Path_ | None = None,
    resume: bool = False,
    device: str | Sequence[str] | None = None,
    wait_for_device: float = 60.0,
    keep: bool = False,
    power_mode: Literal['unconstrained-boost', 'app-developer'] | None = None,
    max_temp: float | None = None,
    max_temp_wait: float | None = None,
    wait_minutes: float | None = None,
    sustained: str | None = None,
    counters: bool = False,
    instructions: bool = False,
    watch: bool = False,
    values: bool = False,
    no_peaks: bool = False,
    history: Path_ | None = None,
    commit: str = 'HEAD',
    reference: str | None = None,
    device_name: str | None = None,
) -> Result:
    """Measure the experiments of a configuration, a file or a dict with its keys, and analyze the results.

    `dry_run` returns the plan without measuring.
    

Options:
    only: measure these experiments only
    max_seconds: Time limit in seconds (default: the configuration's, or 60 for each pair)
    launches: Process launches of each experiment
    runs: Traced runs of each experiment (default: 100)
    threads: Number of threads
    output_root: Results directory
    resume: Resume an interrupted measurement of the same command
    device: Device to measure on: local, ssh:HOST, adb, adb:SERIAL, adb:HOST:PORT (default: local)
    wait_for_device: Seconds to wait for a lost device to reconnect (default: 60)
    keep: Keep the run's folder on the device
    power_mode: Power mode of Android devices: unconstrained-boost or app-developer. It is reset at the end (docs/concepts/power.md)
    max_temp: Maximum temperature in degrees Celsius: before each round, wait until the skin (the hottest CPU sensor if there is none for the skin) is below it
    max_temp_wait: Maximum seconds to wait for cooling before each round, and six times that in total (default: 300)
    wait_minutes: Maximum minutes to wait, before the measurement begins, for a device that is hot or busy (default: 0)
    sustained: Run each experiment continuously for this long, one after the other, and show latency, clock, and temperature over time
    counters: Read the processor's counters at every operator, in separate runs (docs/guides/bottlenecks.md)
    instructions: Count the instructions of every operator, in separate runs, with the processor's counters, Callgrind, or QEMU (docs/guides/instructions.md)
    watch: Watch which kernels run, and on which threads, in separate runs (docs/concepts/kernels.md)
    values: Compare what each operator writes in the variants, in separate runs (docs/guides/values.md)
    no_peaks: Do not measure the machine's peaks (docs/guides/bottlenecks.md)
    history: Add the finished measurement to this history (docs/guides/history.md)
    commit: Commit to add the measurement to: HEAD, a hash, or any name (default: HEAD)
    reference: Experiment that does not change with the commit, to compare the others with
    device_name: Name of this machine in the history, such as ci-3 (default: local)

`progress` is called with a dict about the current step: "kind", "device", "text", "done", and "total".

Raises:
    ValueError: an argument or input is wrong
    RuntimeError: the command failed; results that were measured are kept
    KeyboardInterrupt: after Ctrl-C, once the results so far are stored (resume=True continues)
    Exception: an exception from `progress` ends the measurement, too"""

def versions(
    model: Path_,
    *,
    progress: Progress | None = None,
    dtype: str | None = None,
    backend: str | None = None,
    versions: str | Sequence[str] | None = None,
    max_seconds: float = 60.0,
    launches: int | None = None,
    runs: int | None = None,
    threads: int | Sequence[int] | None = None,
    output_root: Path_ | None = None,
    resume: bool = False,
    device: str | Sequence[str] | None = None,
    wait_for_device: float = 60.0,
    keep: bool = False,
    power_mode: Literal['unconstrained-boost', 'app-developer'] | None = None,
    max_temp: float | None = None,
    max_temp_wait: float | None = None,
    wait_minutes: float | None = None,
    warmup: int | None = None,
    precision: float | None = None,
    margin: float | None = None,
    cpus: str | None = None,
    period: str | None = None,
    runner: Path_ | None = None,
    method: str = 'forward',
    data: Path_ | None = None,
    inputs: str | Sequence[str] | None = None,
    load: Path_ | Sequence[Path_] | None = None,
    exec_wrapper: str | None = None,
    sustained: str | None = None,
    counters: bool = False,
    instructions: bool = False,
    watch: bool = False,
    values: bool = False,
    no_peaks: bool = False,
    history: Path_ | None = None,
    commit: str = 'HEAD',
    reference: str | None = None,
    device_name: str | None = None,
) -> Result:
    """Measure a .pte, or a model that each release exports, with several ExecuTorch releases, each against the one before.

Options:
    dtype: Data type of the exports, as in `etprof export` (default: fp32)
    backend: Backend of the exports, as in `etprof export` (default: xnnpack)
    versions: ExecuTorch releases, or wheels (FILE.whl), each compared with the one before it (default: all releases that were verified)
    max_seconds: Time limit in seconds (default: 60 for each pair)
    launches: Process launches of each experiment
    runs: Traced runs of each experiment (default: 100)
    threads: Number of threads
    output_root: Results directory
    resume: Resume an interrupted measurement of the same command
    device: Device to measure on: local, ssh:HOST, adb, adb:SERIAL, adb:HOST:PORT (default: local)
    wait_for_device: Seconds to wait for a lost device to reconnect (default: 60)
    keep: Keep the run's folder on the device
    power_mode: Power mode of Android devices: unconstrained-boost or app-developer. It is reset at the end (docs/concepts/power.md)
    max_temp: Maximum temperature in degrees Celsius: before each round, wait until the skin (the hottest CPU sensor if there is none for the skin) is below it
    max_temp_wait: Maximum seconds to wait for cooling before each round, and six times that in total (default: 300)
    wait_minutes: Maximum minutes to wait, before the measurement begins, for a device that is hot or busy (default: 0)
    warmup: Minimum warmup runs per launch (default: 10)
    precision: Target half-width of the confidence interval (default: half of --margin)
    margin: Differences within ±MARGIN count as "same" (default: 0.01)
    cpus: Run on these CPUs only: 0,2-3, a mask such as 0x80, or big, mid, little
    period: Start one inference per interval, e.g., 33ms (default: back to back)
    runner: Path of etprof-runner or an executor_runner (default: the one next to etprof)
    method: Method to run (default: forward)
    data: External weights, a .ptd file
    inputs: Inputs: ones, random, an .inputs file, or one raw file per tensor (default: the inputs saved next to the model)
    load: Library of custom operators or of another backend. May be repeated. ExecuTorch's kernels for LLMs load by themselves
    exec_wrapper: Command that starts the runner, such as an emulator or a tool on the device
    sustained: Run each experiment continuously for this long, one after the other, and show latency, clock, and temperature over time
    counters: Read the processor's counters at every operator, in separate runs (docs/guides/bottlenecks.md)
    instructions: Count the instructions of every operator, in separate runs, with the processor's counters, Callgrind, or QEMU (docs/guides/instructions.md)
    watch: Watch which kernels run, and on which threads, in separate runs (docs/concepts/kernels.md)
    values: Compare what each operator writes in the variants, in separate runs (docs/guides/values.md)
    no_peaks: Do not measure the machine's peaks (docs/guides/bottlenecks.md)
    history: Add the finished measurement to this history (docs/guides/history.md)
    commit: Commit to add the measurement to: HEAD, a hash, or any name (default: HEAD)
    reference: Experiment that does not change with the commit, to compare the others with
    device_name: Name of this machine in the history, such as ci-3 (default: local)

`progress` is called with a dict about the current step: "kind", "device", "text", "done", and "total".

Raises:
    ValueError: an argument or input is wrong
    RuntimeError: the command failed; results that were measured are kept
    KeyboardInterrupt: after Ctrl-C, once the results so far are stored (resume=True continues)
    Exception: an exception from `progress` ends the measurement, too"""

def isa(
    model: Path_ | None = None,
    *,
    progress: Progress | None = None,
    max_seconds: float | None = None,
    launches: int | None = None,
    runs: int | None = None,
    threads: int | Sequence[int] | None = None,
    output_root: Path_ | None = None,
    resume: bool = False,
    device: str | Sequence[str] | None = None,
    wait_for_device: float = 60.0,
    keep: bool = False,
    power_mode: Literal['unconstrained-boost', 'app-developer'] | None = None,
    max_temp: float | None = None,
    max_temp_wait: float | None = None,
    wait_minutes: float | None = None,
    warmup: int | None = None,
    precision: float | None = None,
    margin: float | None = None,
    cpus: str | None = None,
    period: str | None = None,
    runner: Path_ | None = None,
    method: str = 'forward',
    data: Path_ | None = None,
    inputs: str | Sequence[str] | None = None,
    load: Path_ | Sequence[Path_] | None = None,
    exec_wrapper: str | None = None,
    history: Path_ | None = None,
    commit: str = 'HEAD',
    reference: str | None = None,
    device_name: str | None = None,
) -> Result:
    """Measure a .pte at each feature level of the CPU, and analyze the results; without a model, return the levels of the CPU.

Options:
    max_seconds: Time limit in seconds (default: 15 for each level and number of threads, at least 60)
    launches: Process launches of each experiment
    runs: Traced runs of each experiment (default: 100)
    threads: Number of threads
    output_root: Results directory
    resume: Resume an interrupted measurement of the same command
    device: Device to measure on: local, ssh:HOST, adb, adb:SERIAL, adb:HOST:PORT (default: local)
    wait_for_device: Seconds to wait for a lost device to reconnect (default: 60)
    keep: Keep the run's folder on the device
    power_mode: Power mode of Android devices: unconstrained-boost or app-developer. It is reset at the end (docs/concepts/power.md)
    max_temp: Maximum temperature in degrees Celsius: before each round, wait until the skin (the hottest CPU sensor if there is none for the skin) is below it
    max_temp_wait: Maximum seconds to wait for cooling before each round, and six times that in total (default: 300)
    wait_minutes: Maximum minutes to wait, before the measurement begins, for a device that is hot or busy (default: 0)
    warmup: Minimum warmup runs per launch (default: 10)
    precision: Target half-width of the confidence interval (default: half of --margin)
    margin: Differences within ±MARGIN count as "same" (default: 0.01)
    cpus: Run on these CPUs only: 0,2-3, a mask such as 0x80, or big, mid, little
    period: Start one inference per interval, e.g., 33ms (default: back to back)
    runner: Path of etprof-runner or an executor_runner (default: the one next to etprof)
    method: Method to run (default: forward)
    data: External weights, a .ptd file
    inputs: Inputs: ones, random, an .inputs file, or one raw file per tensor (default: the inputs saved next to the model)
    load: Library of custom operators or of another backend. May be repeated. ExecuTorch's kernels for LLMs load by themselves
    exec_wrapper: Command that starts the runner, such as an emulator or a tool on the device
    history: Add the finished measurement to this history (docs/guides/history.md)
    commit: Commit to add the measurement to: HEAD, a hash, or any name (default: HEAD)
    reference: Experiment that does not change with the commit, to compare the others with
    device_name: Name of this machine in the history, such as ci-3 (default: local)

`progress` is called with a dict about the current step: "kind", "device", "text", "done", and "total".

Raises:
    ValueError: an argument or input is wrong
    RuntimeError: the command failed; results that were measured are kept
    KeyboardInterrupt: after Ctrl-C, once the results so far are stored (resume=True continues)
    Exception: an exception from `progress` ends the measurement, too"""

def generate(
    model: Path_,
    *vs: str,
    progress: Progress | None = None,
    prompt: int | Sequence[int] | None = None,
    generate: int | None = None,
    depth: int | Sequence[int] | None = None,
    chunk: int | Sequence[int] | None = None,
    max_seconds: float = 60.0,
    launches: int | None = None,
    runs: int | None = None,
    threads: int | Sequence[int] | None = None,
    output_root: Path_ | None = None,
    resume: bool = False,
    device: str | Sequence[str] | None = None,
    wait_for_device: float = 60.0,
    keep: bool = False,
    power_mode: Literal['unconstrained-boost', 'app-developer'] | None = None,
    max_temp: float | None = None,
    max_temp_wait: float | None = None,
    wait_minutes: float | None = None,
    warmup: int | None = None,
    precision: float | None = None,
    margin: float | None = None,
    cpus: str | None = None,
    period: str | None = None,
    runner: Path_ | None = None,
    method: str = 'forward',
    data: Path_ | None = None,
    inputs: str | Sequence[str] | None = None,
    load: Path_ | Sequence[Path_] | None = None,
    exec_wrapper: str | None = None,
    watch: bool = False,
) -> Result:
    """Measure a language model, or compare it with variants of it: prompts, tokens by depth, and the first token.

Options:
    prompt: Tokens of a prompt; several are measured side by side (default: 128,512, as far as they fit)
    generate: Tokens to generate at each depth, and after the longest prompt (default: 128)
    depth: Tokens in the cache before the generated ones (default: four depths from 0 to the most)
    chunk: Tokens of a prompt that one step takes (default: as many as the model takes)
    max_seconds: Time limit in seconds (default: 60 and 60 for each variant)
    launches: Process launches of each experiment
    runs: Traced runs of each experiment (default: 100)
    threads: Number of threads
    output_root: Results directory
    resume: Resume an interrupted measurement of the same command
    device: Device to measure on: local, ssh:HOST, adb, adb:SERIAL, adb:HOST:PORT (default: local)
    wait_for_device: Seconds to wait for a lost device to reconnect (default: 60)
    keep: Keep the run's folder on the device
    power_mode: Power mode of Android devices: unconstrained-boost or app-developer. It is reset at the end (docs/concepts/power.md)
    max_temp: Maximum temperature in degrees Celsius: before each round, wait until the skin (the hottest CPU sensor if there is none for the skin) is below it
    max_temp_wait: Maximum seconds to wait for cooling before each round, and six times that in total (default: 300)
    wait_minutes: Maximum minutes to wait, before the measurement begins, for a device that is hot or busy (default: 0)
    warmup: Minimum warmup runs per launch (default: 10)
    precision: Target half-width of the confidence interval (default: half of --margin)
    margin: Differences within ±MARGIN count as "same" (default: 0.01)
    cpus: Run on these CPUs only: 0,2-3, a mask such as 0x80, or big, mid, little
    period: Start one inference per interval, e.g., 33ms (default: back to back)
    runner: Path of etprof-runner or an executor_runner (default: the one next to etprof)
    method: Method to run (default: forward)
    data: External weights, a .ptd file
    inputs: Inputs: ones, random, an .inputs file, or one raw file per tensor (default: the inputs saved next to the model)
    load: Library of custom operators or of another backend. May be repeated. ExecuTorch's kernels for LLMs load by themselves
    exec_wrapper: Command that starts the runner, such as an emulator or a tool on the device
    watch: Watch which kernels run, and on which threads, in separate runs (docs/concepts/kernels.md)

`progress` is called with a dict about the current step: "kind", "device", "text", "done", and "total".

Raises:
    ValueError: an argument or input is wrong
    RuntimeError: the command failed; results that were measured are kept
    KeyboardInterrupt: after Ctrl-C, once the results so far are stored (resume=True continues)
    Exception: an exception from `progress` ends the measurement, too"""

def check(
    baseline: Path_,
    candidate: Path_ | str | None = None,
    *,
    progress: Progress | None = None,
    max_slowdown: float | None = None,
    max_operator_slowdown: float | None = None,
    min_operator_share: float = 0.01,
    generate: bool = False,
    prompt: int | Sequence[int] | None = None,
    tokens: int | None = None,
    depth: int | Sequence[int] | None = None,
    chunk: int | Sequence[int] | None = None,
    max_first_token_slowdown: float | None = None,
    max_cache_growth: float = 0.0,
    max_memory_growth: float | None = None,
    max_load_slowdown: float | None = None,
    max_instruction_growth: float | None = None,
    require_conclusive: bool = False,
    allow_mismatch: str | Sequence[str] | None = None,
    drift: float | None = None,
    budget: float | None = None,
    max_seconds: float = 60.0,
    launches: int | None = None,
    runs: int | None = None,
    threads: int | Sequence[int] | None = None,
    output_root: Path_ | None = None,
    resume: bool = False,
    device: str | Sequence[str] | None = None,
    wait_for_device: float = 60.0,
    keep: bool = False,
    power_mode: Literal['unconstrained-boost', 'app-developer'] | None = None,
    max_temp: float | None = None,
    max_temp_wait: float | None = None,
    wait_minutes: float | None = None,
    cpus: str | None = None,
    period: str | None = None,
    runner: Path_ | None = None,
    method: str = 'forward',
    data: Path_ | None = None,
    inputs: str | Sequence[str] | None = None,
    load: Path_ | Sequence[Path_] | None = None,
    exec_wrapper: str | None = None,
    instructions: bool = False,
    watch: bool = False,
    history: Path_ | None = None,
    commit: str = 'HEAD',
    reference: str | None = None,
    device_name: str | None = None,
) -> Result:
    """Compare two models or configurations, which are measured, or two results directories; see "result".

    The candidate of a model may be a variant of it ("isa=-avx2"); a configuration or a results directory alone has pairs.
    

Options:
    max_slowdown: Maximum allowed latency increase (default: 2%; with --instructions latency is not checked)
    max_operator_slowdown: Maximum allowed increase of every operator's self time (default: not checked)
    min_operator_share: Check only operators with at least this share of the time in either variant (default: 1%)
    generate: Check language models: prompts, generated tokens by depth, the time to the first token, and the size of the cache (docs/guides/llms.md)
    prompt: Tokens of a prompt; several are measured side by side (default: 128,512, as far as they fit)
    tokens: Tokens to generate at each depth, and after the longest prompt (default: 128)
    depth: Tokens in the cache before the generated ones (default: four depths from 0 to the most)
    chunk: Tokens of a prompt that one step takes (default: as many as the model takes)
    max_first_token_slowdown: Maximum allowed increase of the time to the first token (with --generate; default: --max-slowdown)
    max_cache_growth: Maximum allowed increase of the cache (with --generate; default: 0%)
    max_memory_growth: Maximum allowed increase of peak memory (default: not checked)
    max_load_slowdown: Maximum allowed increase of the model's load time (default: not checked)
    max_instruction_growth: Maximum allowed increase of the instructions executed (with --instructions; default: 1%)
    require_conclusive: Fail if a check is inconclusive (exit code 1 instead of 5)
    allow_mismatch: in what two stored runs may differ
    drift: Of two stored runs: by how much this machine's latency differs between measurements of the same (standard deviation; default: 1.5%)
    budget: Time limit in seconds for all pairs together
    max_seconds: Time limit in seconds (default: 60 for each pair, 120 with generate)
    launches: Process launches of each experiment
    runs: Traced runs of each experiment (default: 100)
    threads: Number of threads
    output_root: Results directory
    resume: Resume an interrupted measurement of the same command
    device: Device to measure on: local, ssh:HOST, adb, adb:SERIAL, adb:HOST:PORT (default: local)
    wait_for_device: Seconds to wait for a lost device to reconnect (default: 60)
    keep: Keep the run's folder on the device
    power_mode: Power mode of Android devices: unconstrained-boost or app-developer. It is reset at the end (docs/concepts/power.md)
    max_temp: Maximum temperature in degrees Celsius: before each round, wait until the skin (the hottest CPU sensor if there is none for the skin) is below it
    max_temp_wait: Maximum seconds to wait for cooling before each round, and six times that in total (default: 300)
    wait_minutes: Maximum minutes to wait, before the measurement begins, for a device that is hot or busy (default: 0)
    cpus: Run on these CPUs only: 0,2-3, a mask such as 0x80, or big, mid, little
    period: Start one inference per interval, e.g., 33ms (default: back to back)
    runner: Path of etprof-runner or an executor_runner (default: the one next to etprof)
    method: Method to run (default: forward)
    data: External weights, a .ptd file
    inputs: Inputs: ones, random, an .inputs file, or one raw file per tensor (default: the inputs saved next to the model)
    load: Library of custom operators or of another backend. May be repeated. ExecuTorch's kernels for LLMs load by themselves
    exec_wrapper: Command that starts the runner, such as an emulator or a tool on the device
    instructions: Count the instructions of every operator, in separate runs, with the processor's counters, Callgrind, or QEMU (docs/guides/instructions.md)
    watch: Watch which kernels run, and on which threads, in separate runs (docs/concepts/kernels.md)
    history: Add the finished measurement to this history (docs/guides/history.md)
    commit: Commit to add the measurement to: HEAD, a hash, or any name (default: HEAD)
    reference: Experiment that does not change with the commit, to compare the others with
    device_name: Name of this machine in the history, such as ci-3 (default: local)

`progress` is called with a dict about the current step: "kind", "device", "text", "done", and "total".

Raises:
    ValueError: an argument or input is wrong
    RuntimeError: the command failed; results that were measured are kept
    KeyboardInterrupt: after Ctrl-C, once the results so far are stored (resume=True continues)
    Exception: an exception from `progress` ends the measurement, too"""

def bisect(
    good: str,
    bad: str,
    command: list[str],
    *,
    progress: Progress | None = None,
    repository: Path_ = '.',
    built_model: Path_ | None = None,
    built_runner: Path_ | None = None,
    model: Path_ | None = None,
    max_seconds: float = 60.0,
    launches: int | None = None,
    runs: int | None = None,
    threads: int | Sequence[int] | None = None,
    output_root: Path_ | None = None,
    resume: bool = False,
    device: str | Sequence[str] | None = None,
    wait_for_device: float = 60.0,
    keep: bool = False,
    power_mode: Literal['unconstrained-boost', 'app-developer'] | None = None,
    max_temp: float | None = None,
    max_temp_wait: float | None = None,
    wait_minutes: float | None = None,
    cpus: str | None = None,
    period: str | None = None,
    runner: Path_ | None = None,
    method: str = 'forward',
    data: Path_ | None = None,
    inputs: str | Sequence[str] | None = None,
    load: Path_ | Sequence[Path_] | None = None,
    exec_wrapper: str | None = None,
) -> Result:
    """Find the commit that made a model or a runner slower; `command` builds a commit.

Options:
    repository: Repository with the commits (default: the working directory)
    built_model: Model that COMMAND builds, relative to the checkout
    built_runner: Runner that COMMAND builds, relative to the checkout
    model: Model to measure with every runner
    max_seconds: Time limit in seconds (default: 60 for each step)
    launches: Process launches of each experiment
    runs: Traced runs of each experiment (default: 100)
    threads: Number of threads
    output_root: Results directory
    resume: Resume an interrupted measurement of the same command
    device: Device to measure on: local, ssh:HOST, adb, adb:SERIAL, adb:HOST:PORT (default: local)
    wait_for_device: Seconds to wait for a lost device to reconnect (default: 60)
    keep: Keep the run's folder on the device
    power_mode: Power mode of Android devices: unconstrained-boost or app-developer. It is reset at the end (docs/concepts/power.md)
    max_temp: Maximum temperature in degrees Celsius: before each round, wait until the skin (the hottest CPU sensor if there is none for the skin) is below it
    max_temp_wait: Maximum seconds to wait for cooling before each round, and six times that in total (default: 300)
    wait_minutes: Maximum minutes to wait, before the measurement begins, for a device that is hot or busy (default: 0)
    cpus: Run on these CPUs only: 0,2-3, a mask such as 0x80, or big, mid, little
    period: Start one inference per interval, e.g., 33ms (default: back to back)
    runner: Path of etprof-runner or an executor_runner (default: the one next to etprof)
    method: Method to run (default: forward)
    data: External weights, a .ptd file
    inputs: Inputs: ones, random, an .inputs file, or one raw file per tensor (default: the inputs saved next to the model)
    load: Library of custom operators or of another backend. May be repeated. ExecuTorch's kernels for LLMs load by themselves
    exec_wrapper: Command that starts the runner, such as an emulator or a tool on the device

`progress` is called with a dict about the current step: "kind", "device", "text", "done", and "total".

Raises:
    ValueError: an argument or input is wrong
    RuntimeError: the command failed; results that were measured are kept
    KeyboardInterrupt: after Ctrl-C, once the results so far are stored (resume=True continues)
    Exception: an exception from `progress` ends the measurement, too"""

def suite(
    path: Path_,
    *,
    progress: Progress | None = None,
    device: str | Sequence[str] | None = None,
    wait_for_device: float = 60.0,
    keep: bool = False,
    power_mode: Literal['unconstrained-boost', 'app-developer'] | None = None,
    max_temp: float | None = None,
    max_temp_wait: float | None = None,
    wait_minutes: float | None = None,
    output_root: Path_ | None = None,
    max_minutes: float | None = None,
    max_seconds: float | None = None,
    max_slowdown: float | None = None,
    require_conclusive: bool = False,
    history: Path_ | None = None,
    commit: str = 'HEAD',
    reference: str | None = None,
    device_name: str | None = None,
) -> Result:
    """Measure the models of a suite's file on its devices; a suite's folder is read.

Options:
    device: Measure only on this device of the suite. May be repeated
    wait_for_device: Seconds to wait for a lost device to reconnect (default: 60)
    keep: Keep the run's folder on the device
    power_mode: Power mode of Android devices: unconstrained-boost or app-developer. It is reset at the end (docs/concepts/power.md)
    max_temp: Maximum temperature in degrees Celsius: before each round, wait until the skin (the hottest CPU sensor if there is none for the skin) is below it
    max_temp_wait: Maximum seconds to wait for cooling before each round, and six times that in total (default: 300)
    wait_minutes: Maximum minutes to wait, before the measurement begins, for a device that is hot or busy (default: 0)
    output_root: Folder of the suite (default: the file's, or out_<its name>)
    max_minutes: Minutes to measure on each device (default: the file's, or as long as it takes)
    max_seconds: Time limit for each pair in seconds, which --max-minutes extends if time is left (default: the file's, or 60)
    max_slowdown: Maximum allowed latency increase (default: the file's, or not checked)
    require_conclusive: Fail if a limit is inconclusive (exit code 1 instead of 5)
    history: Add the finished measurement to this history (docs/guides/history.md)
    commit: Commit to add the measurement to: HEAD, a hash, or any name (default: HEAD)
    reference: Experiment that does not change with the commit, to compare the others with
    device_name: Name of this machine in the history, such as ci-3 (default: local)

`progress` is called with a dict about the current step: "kind", "device", "text", "done", and "total".

Raises:
    ValueError: an argument or input is wrong
    RuntimeError: the command failed; results that were measured are kept
    KeyboardInterrupt: after Ctrl-C, once the results so far are stored (resume=True continues)
    Exception: an exception from `progress` ends the measurement, too"""

def peaks(
    *,
    progress: Progress | None = None,
    threads: int = 1,
    isa: str | None = None,
    cpus: str | None = None,
    device: str = 'local',
    wait_for_device: float = 60.0,
    keep: bool = False,
    power_mode: Literal['unconstrained-boost', 'app-developer'] | None = None,
    runner: Path_ | None = None,
    exec_wrapper: str | None = None,
) -> Result:
    """Measure what a device can compute and load at most.

Options:
    threads: Number of threads (default: 1)
    isa: Disable these CPU features, as `--vs isa=` takes them
    cpus: Run on these CPUs only: 0,2-3, 0x80, big
    device: Device to measure on: local, ssh:HOST, adb, adb:SERIAL, adb:HOST:PORT (default: local)
    wait_for_device: Seconds to wait for a lost device to reconnect (default: 60)
    keep: Keep the run's folder on the device
    power_mode: Power mode of Android devices: unconstrained-boost or app-developer. It is reset at the end (docs/concepts/power.md)
    runner: Path of the device's etprof-runner
    exec_wrapper: Command that starts the runner, such as an emulator on the device

`progress` is called with a dict about the current step: "kind", "device", "text", "done", and "total".

Raises:
    ValueError: an argument or input is wrong
    RuntimeError: the command failed; results that were measured are kept
    KeyboardInterrupt: after Ctrl-C, once the results so far are stored (resume=True continues)
    Exception: an exception from `progress` ends the measurement, too"""

def devices(
    *,
    progress: Progress | None = None,
    device: str | Sequence[str] | None = None,
    clean: bool = False,
    timeout: float = 10.0,
) -> Result:
    """List this machine and the devices that can be reached.

Options:
    device: Show this device, too: ssh:HOST, adb:SERIAL, adb:HOST:PORT. May be repeated
    clean: Remove what etprof left on the devices of --device, or on all that can be reached
    timeout: Seconds to wait for a device's answer (default: 10)

`progress` is called with a dict about the current step: "kind", "device", "text", "done", and "total".

Raises:
    ValueError: an argument or input is wrong
    RuntimeError: the command failed; results that were measured are kept
    KeyboardInterrupt: after Ctrl-C, once the results so far are stored (resume=True continues)
    Exception: an exception from `progress` ends the measurement, too"""

def doctor(
) -> Result:
    """Show what this machine has of what the commands need; see "ready"."""

def quick_test(
    *,
    progress: Progress | None = None,
    outdir: Path_ = 'out_quick_test',
    model: Path_ | None = None,
    device: str = 'local',
) -> Result:
    """Take a small model from the export to the report, with the etprof program; see "passed".

Options:
    outdir: Folder for everything (default: out_quick_test)
    model: Program to use instead of exporting toy_cnn
    device: Device to measure on: local, ssh:HOST, adb, adb:SERIAL, adb:HOST:PORT (default: local)

`progress` is called with a dict about the current step: "kind", "device", "text", "done", and "total".

Raises:
    ValueError: an argument or input is wrong
    RuntimeError: the command failed; results that were measured are kept
    KeyboardInterrupt: after Ctrl-C, once the results so far are stored (resume=True continues)
    Exception: an exception from `progress` ends the measurement, too"""

def build(
    target: str,
    *,
    progress: Progress | None = None,
    output: Path_ | None = None,
    jobs: int | None = None,
) -> Result:
    """Build etprof-runner for "linux-aarch64", "android", "macos-arm64", or "native", in a checkout of etprof.

Options:
    output: the folder to create
    jobs: files that are compiled at once

`progress` is called with a dict about the current step: "kind", "device", "text", "done", and "total".

Raises:
    ValueError: an argument or input is wrong
    RuntimeError: the command failed; results that were measured are kept
    KeyboardInterrupt: after Ctrl-C, once the results so far are stored (resume=True continues)
    Exception: an exception from `progress` ends the measurement, too"""

def build_executorch(
    executorch: Path_,
    *,
    dry_run: bool = False,
    progress: Progress | None = None,
    preset: str | Sequence[str] | None = None,
    trace: bool = False,
    llm: bool = False,
    clean: bool = False,
    jobs: int | None = None,
) -> Result:
    """Build ExecuTorch's own executor_runner in a checkout of it; `dry_run`: the commands, and nothing is built.

Options:
    preset: Presets to build; without it for this machine, and for Android if ANDROID_NDK is set
    trace: Build the kernel-log runners instead, which run slower
    llm: Include ExecuTorch's kernels for language models (custom_sdpa and others)
    clean: Remove DIR/cmake-out/<preset>/ first
    jobs: files that are compiled at once

`progress` is called with a dict about the current step: "kind", "device", "text", "done", and "total".

Raises:
    ValueError: an argument or input is wrong
    RuntimeError: the command failed; results that were measured are kept
    KeyboardInterrupt: after Ctrl-C, once the results so far are stored (resume=True continues)
    Exception: an exception from `progress` ends the measurement, too"""

def recover(
    path: Path_,
) -> Result:
    """Merge and analyze what a killed measurement left, and verify it; see "recovered" and "ok"."""
