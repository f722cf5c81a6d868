"""etprof-runner in the place of executor_runner, and its errors."""

from __future__ import annotations

import json
import re
import struct
from pathlib import Path

import pytest
from runner_bench import Run, events, read_safetensors, write_inputs


def run_and_read_report(runner: Path, folder: Path, model: Path, *args: object) -> dict:
    path = folder / "report.json"
    run = Run(runner, "--model_path", model, "--cpu_threads=1", "--report", path, *args)
    assert run.code == 0, run.err
    return json.loads(path.read_text())


@pytest.mark.parametrize("form", ["{}={}", "{} {}"])
def test_executor_runners_flags_and_lines(runner: Path, toy: Path, tmp_path: Path, form: str) -> None:
    flags = {
        "--model_path": toy,
        "--num_executions": 3,
        "--cpu_threads": 1,
        "--method_name": "forward",
        "--etdump_path": tmp_path / "a.etdump",
        "--output_file": tmp_path / "out",
        "--print_output": "all",
    }
    run = Run(runner, *" ".join(form.format(k, v) for k, v in flags.items()).split(" "))
    assert run.code == 0, run.err
    assert run.err == ""
    assert re.search(r"^I .*\] Model executed successfully 3 time\(s\) in \d+\.\d{6} ms\.$", run.out, re.M)
    assert len(re.findall(r"Iteration \d of 3: \d+\.\d+ ms", run.out)) == 3
    numbers = re.search(r"tensor\(sizes=\[1, 10\], \[(.*)\]\)", run.out).group(1).split(", ")
    raw = struct.unpack("<10f", (tmp_path / "out-0.bin").read_bytes())
    assert [float(n) for n in numbers] == pytest.approx(raw, rel=1e-5)
    assert sum(raw) == pytest.approx(1, abs=1e-5)  # it ends in a softmax
    assert [name for name, _ in events(tmp_path / "a.etdump")] == ["Default"] + ["Execute"] * 3


def test_operator_times_are_nanoseconds_that_fit_their_parent(runner: Path, toy: Path, tmp_path: Path) -> None:
    for clock in ("exact", "xnnpack"):
        dump = tmp_path / f"{clock}.etdump"
        result = run_and_read_report(
            runner, tmp_path, toy, "--num_executions=20", "--etdump_path", dump, "--operator-clock", clock
        )
        assert result["ready"]["operator_clock"] == clock
        durations = []
        for (_, spans), latency in zip(events(dump)[1:], result["latency_ns"], strict=True):
            by_name = {name: (start, end) for name, start, end in spans}
            call, execute = by_name.pop("DELEGATE_CALL"), by_name.pop("Method::execute")
            assert execute[0] <= call[0] <= call[1] <= execute[1]
            assert execute[1] - execute[0] <= latency
            assert len(by_name) == 11
            operators = [end - start for start, end in by_name.values()]
            assert min(operators) >= 0
            slack = 11_000 if clock == "xnnpack" else 0  # XNNPACK rounds each time down to microseconds
            assert sum(operators) <= call[1] - call[0] + slack
            ordered = sorted(by_name.values())
            assert ordered[0][0] >= call[0]
            assert ordered[-1][1] <= call[1] + slack
            durations += operators
        multiples = sum(1 for d in durations if d % 1000 == 0)
        if clock == "exact":
            assert multiples < len(durations) // 20  # one in a thousand is expected
            assert min(durations) > 0
        else:
            assert multiples == len(durations)


def test_several_delegates_have_operators_of_their_own_place(runner: Path, models: Path, tmp_path: Path) -> None:
    run_and_read_report(
        runner, tmp_path, models / "several_delegates.pte", "--num_executions=5", "--etdump_path", tmp_path / "d.etdump"
    )
    for name, spans in events(tmp_path / "d.etdump")[1:]:
        assert name == "Execute"
        inside = []
        calls = 0
        for event, start, end in spans:  # children come before their parents
            if event == "DELEGATE_CALL":
                assert inside
                assert all(start <= s <= e <= end for _, s, e in inside)
                inside = []
                calls += 1
            elif event in ("OPERATOR_CALL", "Method::execute") or event.startswith("native_call"):
                assert not inside
            else:
                inside.append((event, start, end))
        assert calls == 2


def test_mask_is_in_force_and_changes_digits_only(runner: Path, toy: Path, tmp_path: Path) -> None:
    detected = json.loads(Run(runner, "--isa-info").out)["isa"]["detected"]
    for feature in ("avx", "sme2", "sme", "dotprod"):
        if feature in detected:
            break
    else:
        pytest.skip("this CPU has nothing to mask")
    outputs = []
    for isa in ("all", f"-{feature}", "none"):
        saved = tmp_path / f"{isa}.safetensors"
        result = run_and_read_report(runner, tmp_path, toy, f"--isa={isa}", "--save-outputs", saved)
        state = result["ready"]["isa"]
        assert sorted(state["masked"] + state["enabled"]) == state["detected"] == detected
        assert state["can_mask"]
        assert (feature in state["masked"]) == (isa != "all")
        assert (state["enabled"] == []) == (isa == "none")
        outputs.append(saved)
    compared = json.loads(Run(runner, "--compare-outputs", outputs[0], outputs[1]).out)
    assert 0 <= compared["outputs"][0]["max_abs_diff"] < 1e-5
    assert compared["outputs"][0]["nan_mismatches"] == 0
    if feature in ("avx", "sme2", "sme"):  # other kernels, so other rounding: the sign that XNNPACK saw the mask
        assert not compared["identical"]
    assert json.loads(Run(runner, "--compare-outputs", outputs[0], outputs[0]).out)["identical"]


@pytest.mark.parametrize(
    ("isa", "message"),
    [
        ("-avx513", "unknown CPU feature 'avx513'"),
        ("avx2", "neither on nor off"),
        ("-avx2,,", "empty entry"),
        ("-avx10_2", "this CPU"),
        ("=sme2p1", "this CPU"),
        ("-", "must follow"),
    ],
)
def test_bad_masks(runner: Path, isa: str, message: str) -> None:
    assert message in Run(runner, "--isa-info", f"--isa={isa}").error_line(2)


def test_bad_command_lines(runner: Path, toy: Path) -> None:
    for args in (
        ["--nonsense"],
        ["--model_path"],
        [],
        ["--model_path", toy, "--num_executions", "0"],
        ["--model_path", toy, "--num_executions=x"],
        ["--model_path", toy, "--print_output=some"],
        ["--worker", "--isa-info"],
        ["--model_path", toy, "--cpus", "1-0"],
        ["extra", "--model_path", toy],
        ["--model_path", toy, "--cpus", "99999999999999999999"],
    ):
        Run(runner, *args).error_line(2)
    assert Run(runner, "--help").code == 0
    assert "ExecuTorch" in Run(runner, "--version").out


def test_bad_models(runner: Path, toy: Path, tmp_path: Path) -> None:
    def error_line(contents: bytes) -> str:
        (tmp_path / "bad.pte").write_bytes(contents)
        return Run(runner, "--model_path", tmp_path / "bad.pte", "--print_output=none").error_line(3)

    complete = toy.read_bytes()
    assert "no such file" in Run(runner, "--model_path", tmp_path / "none.pte").error_line(3)
    assert "is a folder" in Run(runner, "--model_path", tmp_path).error_line(3)
    assert "is empty" in error_line(b"")
    assert "is not an ExecuTorch program" in error_line(b"PK\x03\x04" + bytes(5000))
    assert "no method 'backward'" in Run(runner, "--model_path", toy, "--method_name=backward").error_line(3)
    lengths = [1, 4, 7, 8, 12, 30, 63, 64, 65, 100, 1000, len(complete) // 2, len(complete) - 1]
    for length in lengths:
        assert "bad.pte" in error_line(complete[:length])


def test_damaged_models_never_hang_nor_die_without_a_word(runner: Path, toy: Path, tmp_path: Path) -> None:
    complete = toy.read_bytes()
    program = struct.unpack("<Q", complete[16:24])[0]
    damaged = tmp_path / "bad.pte"
    for offset in range(0, program, max(1, program // 60)):
        damaged.write_bytes(complete[:offset] + bytes([complete[offset] ^ 0xFF]) + complete[offset + 1 :])
        run = Run(runner, "--model_path", damaged, "--print_output=none")
        assert run.code in (0, 3, 4), (offset, run.code, run.err)  # 0: the byte was a weight, a name, or padding
        if run.code != 0:
            assert run.err.startswith("etprof-runner: "), (offset, run.err)


def test_missing_operator_and_backend_are_named(runner: Path, toy: Path, models: Path, tmp_path: Path) -> None:
    message = Run(runner, "--model_path", models / "missing_operator.pte").error_line(4)
    assert "operator etprof_test::nowhere.out is not registered" in message
    assert "--load" in message
    other = tmp_path / "other.pte"
    other.write_bytes(toy.read_bytes().replace(b"XnnpackBackend", b"QuantumBackend"))
    message = Run(runner, "--model_path", other).error_line(4)
    assert "backend QuantumBackend, which is not registered" in message
    assert "--load" in message
    empty = Run(runner, "--model_path", toy, env={"ETPROF_BACKEND_DIR": str(tmp_path)})
    assert f"is not in {tmp_path}" in empty.error_line(4)
    assert "no such file" in Run(runner, "--isa-info", "--load", tmp_path / "no.so").error_line(3)
    assert "cannot be loaded" in Run(runner, "--isa-info", "--load", toy).error_line(3)


def test_options_of_xnnpack(runner: Path, toy: Path, tmp_path: Path) -> None:
    def digests(options: str) -> list[str]:
        # The runner reads each option back, and fails if it does not have the value that was set.
        path = tmp_path / "report.json"
        arguments = ["--model_path", toy, "--cpu_threads=1", "--print_output=none", "--report", path]
        run = Run(runner, *arguments, env={"ETPROF_XNNPACK_OPTIONS": options})
        assert run.code == 0, run.err
        return [output["sha256"] for output in json.loads(path.read_text())["outputs"]]

    default_digests = digests("")
    assert default_digests and default_digests == digests("workspace_sharing_mode=0")
    assert default_digests == digests("weight_cache_enabled=1,workspace_sharing_mode=1")
    for invalid_options in (
        "threads=1",
        "workspace_sharing_mode=3",
        "weight_cache_enabled=2",
        "weight_cache_enabled",
        ",",
    ):
        message = Run(runner, "--model_path", toy, env={"ETPROF_XNNPACK_OPTIONS": invalid_options}).error_line(2)
        assert "ETPROF_XNNPACK_OPTIONS" in message and "weight_cache_enabled=0 or 1" in message
    (tmp_path / "empty").mkdir()
    env = {"ETPROF_XNNPACK_OPTIONS": "weight_cache_enabled=1", "ETPROF_BACKEND_DIR": str(tmp_path / "empty")}
    assert "needs XNNPACK of ExecuTorch" in Run(runner, "--model_path", toy, env=env).error_line(4)


def test_every_kind_of_input(runner: Path, models: Path, tmp_path: Path) -> None:
    model = models / "every_dtype.pte"
    names = ["Float", "Double", "Half", "BFloat16", "Long", "Int", "Short", "Char", "Byte", "Bool"]
    ones = run_and_read_report(
        runner, tmp_path, model, "--input-kind=ones", "--save-outputs", tmp_path / "o.safetensors"
    )
    assert [i["dtype"] for i in ones["load"]["inputs"]] == names
    assert [o["mean"] for o in ones["outputs"]] == [1.0] * len(names)
    # Saved outputs serve as inputs again, bit for bit.
    random = run_and_read_report(
        runner, tmp_path, model, "--input-kind=random", "--seed=5", "--save-outputs", tmp_path / "r"
    )
    (warning,) = random["load"]["warnings"]
    assert all(dtype in warning for dtype in ("(Long [", "(Int [", "(Short ["))
    saved_inputs = write_inputs(tmp_path / "again.inputs", read_safetensors(tmp_path / "r"), {})
    saved = run_and_read_report(runner, tmp_path, model, "--input-kind=saved", "--inputs", saved_inputs)
    assert saved["outputs"] == random["outputs"]
    assert saved["load"]["inputs_from"] == f"saved {saved_inputs}"
    same = run_and_read_report(runner, tmp_path, model, "--input-kind=random", "--seed=5")
    assert same["outputs"] == random["outputs"]
    other = run_and_read_report(runner, tmp_path, model, "--input-kind=random", "--seed=6")
    assert other["outputs"] != random["outputs"]
    # Raw files, as executor_runner takes them.
    files = []
    for name, (_, _, contents) in read_safetensors(tmp_path / "r").items():
        path = tmp_path / f"{int(name.split('/')[1]):02}.bin"
        path.write_bytes(contents)
        files.append(path)
    raw = run_and_read_report(runner, tmp_path, model, "--inputs", ",".join(map(str, sorted(files))))
    assert raw["outputs"] == random["outputs"]
    assert "has no file" in Run(runner, "--model_path", model, "--inputs", files[0]).error_line(3)
    files[0].write_bytes(b"123")
    assert "the file has 3" in Run(runner, "--model_path", model, f"--inputs={','.join(map(str, files))}").error_line(3)


def test_inputs_that_are_no_tensors(runner: Path, models: Path, tmp_path: Path) -> None:
    model = models / "not_tensors.pte"
    assert [i["dtype"] for i in run_and_read_report(runner, tmp_path, model)["load"]["inputs"]][:4] == [
        "Float",
        "int",
        "double",
        "bool",
    ]
    x = {"forward/0": ("F32", [2, 2], struct.pack("<4f", 2, 2, 2, 2))}

    def scalars(n: int) -> dict[str, str]:
        values = [
            {"type": "int", "value": n},
            {"type": "double", "value": 0.5},
            {"type": "bool", "value": True},
            {"type": "string", "value": "text"},
            {"type": "none"},
        ]
        return {f"forward/{i + 1}": json.dumps(v) for i, v in enumerate(values)}

    good = write_inputs(tmp_path / "good.inputs", x, scalars(3))
    assert (
        run_and_read_report(runner, tmp_path, model, "--input-kind=saved", "--inputs", good)["outputs"][0]["mean"]
        == 6.5
    )
    inputs_of_other_integer = write_inputs(tmp_path / "bad.inputs", x, scalars(4))
    message = Run(runner, "--model_path", model, "--input-kind=saved", "--inputs", inputs_of_other_integer).error_line(
        3
    )
    assert "exported for int 3" in message
    for broken in ("3", "{", '{"type":"matrix","value":1}', '{"value":3}', "[]"):
        path = write_inputs(tmp_path / "broken.inputs", x, {**scalars(3), "forward/1": broken})
        assert "malformed" in Run(runner, "--model_path", model, "--input-kind=saved", "--inputs", path).error_line(3)


def test_saved_inputs_beside_the_model_are_found(runner: Path, models: Path, tmp_path: Path) -> None:
    model = tmp_path / "dynamic.pte"
    model.write_bytes((models / "dynamic.pte").read_bytes())
    for rows in (1, 3, 8):  # any size up to the bound
        write_inputs(tmp_path / "dynamic.pte.inputs", {"forward/0": ("F32", [rows, 4], bytes(16 * rows))}, {})
        result = run_and_read_report(runner, tmp_path, model)
        assert result["load"]["inputs_from"] == f"saved {model}.inputs"
        assert result["outputs"][0]["info"]["shape"] == [rows, 2]
    for shape, dtype, says in (
        ([9, 4], "F32", "at most [8, 4]"),
        ([4], "F32", "at most"),
        ([2, 4], "F64", "dtype F64"),
    ):
        size = 8 if dtype == "F64" else 4
        count = 1
        for extent in shape:
            count *= extent
        write_inputs(tmp_path / "dynamic.pte.inputs", {"forward/0": (dtype, shape, bytes(size * count))}, {})
        assert says in Run(runner, "--model_path", model).error_line(3)
    # ExecuTorch takes any size up to the bound. Only XNNPACK knows, when it runs, that this dimension is fixed.
    write_inputs(tmp_path / "dynamic.pte.inputs", {"forward/0": ("F32", [2, 3], bytes(24))}, {})
    assert "running 'forward' failed" in Run(runner, "--model_path", model).error_line(4)
    write_inputs(tmp_path / "dynamic.pte.inputs", {}, {})
    assert "no tensor 'forward/0'" in Run(runner, "--model_path", model).error_line(3)
    for contents in (b"", b"\xff" * 8, b"\xff" * 200, struct.pack("<Q", 2) + b"{}"):
        (tmp_path / "dynamic.pte.inputs").write_bytes(contents)
        assert "dynamic.pte.inputs" in Run(runner, "--model_path", model).error_line(3)


@pytest.mark.parametrize("name", ["writes_planned", "writes_unplanned"])
def test_every_run_gets_the_same_inputs(runner: Path, models: Path, tmp_path: Path, name: str) -> None:
    result = run_and_read_report(runner, tmp_path, models / f"{name}.pte", "--num_executions=5", "--input-kind=ones")
    assert result["outputs"][-1]["mean"] == 8  # 4 * (1 + 1), not 4 * (1 + 5)


def test_channels_last_inputs_are_the_same_numbers(runner: Path, models: Path, tmp_path: Path) -> None:
    values = [float(i % 7) for i in range(3 * 8 * 8)]
    path = write_inputs(tmp_path / "c.inputs", {"forward/0": ("F32", [1, 3, 8, 8], struct.pack("<192f", *values))}, {})
    model = models / "channels_last.pte"
    run_and_read_report(
        runner, tmp_path, model, "--input-kind=saved", "--inputs", path, "--save-outputs", tmp_path / "o"
    )
    import torch

    torch.manual_seed(0)
    expected = torch.nn.Conv2d(3, 4, 3)(torch.tensor(values).reshape(1, 3, 8, 8)).flatten().tolist()
    dtype, shape, contents = read_safetensors(tmp_path / "o")["forward/0"]
    assert (dtype, shape) == ("F32", [1, 4, 6, 6])
    assert list(struct.unpack("<144f", contents)) == pytest.approx(expected, abs=1e-4)


def test_nan_and_inf_are_counted(runner: Path, models: Path, tmp_path: Path) -> None:
    inputs = write_inputs(tmp_path / "n.inputs", {"forward/0": ("F32", [4], struct.pack("<4f", 0, -1, 1, 1))}, {})
    digest = run_and_read_report(
        runner,
        tmp_path,
        models / "makes_nan.pte",
        "--input-kind=saved",
        "--inputs",
        inputs,
        "--save-outputs",
        tmp_path / "a",
    )["outputs"][0]
    assert (digest["nan_count"], digest["inf_count"], digest["min"], digest["max"]) == (1, 1, 0.0, 0.0)
    run_and_read_report(
        runner, tmp_path, models / "makes_nan.pte", "--input-kind=ones", "--save-outputs", tmp_path / "b"
    )
    compared = json.loads(Run(runner, "--compare-outputs", tmp_path / "a", tmp_path / "b").out)
    assert compared["outputs"][0]["nan_mismatches"] == 2


def test_what_cannot_be_written_is_told(runner: Path, toy: Path) -> None:
    for flag in ("--etdump_path", "--report", "--save-outputs", "--output_file"):
        run = Run(runner, "--model_path", toy, flag, "/proc/nowhere/a", "--print_output=none")
        assert "cannot be written" in run.error_line(4)


def test_embedding_indices_are_valid(runner: Path, models: Path, tmp_path: Path) -> None:
    result = run_and_read_report(runner, tmp_path, models / "embedding.pte")
    assert "indices" in result["load"]["warnings"][0]
