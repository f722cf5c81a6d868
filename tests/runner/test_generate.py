"""`etprof generate` end to end on a tiny decoder: tests, places, the text, and what is refused. PyTorch's eager model is the oracle."""

import csv
import io
import json
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import jsonschema
import program
import pytest
from runner_bench import DATA, library

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
token_models = pytest.importorskip("token_models")

pytestmark = pytest.mark.usefixtures("runner")
# The columns by which llama.cpp's scripts/compare-llama-bench.py distinguishes results, and the columns that it reads.
LLAMA_BENCH = [
    "cpu_info",
    "gpu_info",
    "backends",
    "n_gpu_layers",
    "tensor_buft_overrides",
    "model_filename",
    "model_type",
    "n_batch",
    "n_ubatch",
    "embeddings",
    "cpu_mask",
    "cpu_strict",
    "poll",
    "n_threads",
    "type_k",
    "type_v",
    "use_mmap",
    "no_kv_offload",
    "split_mode",
    "main_gpu",
    "tensor_split",
    "flash_attn",
    "n_prompt",
    "n_gen",
    "n_depth",
    "build_commit",
    "test_time",
    "avg_ts",
]


def run(etprof, *arguments) -> subprocess.CompletedProcess:
    return subprocess.run([etprof, *map(str, arguments)], capture_output=True, text=True, timeout=300)


@pytest.fixture(scope="module")
def etprof() -> Path:
    return program.etprof()


@pytest.fixture(scope="module")
def decoder(token_model) -> Path:
    return token_model("decoder")


@pytest.fixture(scope="module")
def folder(etprof, decoder, tmp_path_factory) -> Path:
    """A results directory: a copy of the model as the variant, and a prompt that is longer than the chunk."""
    out = tmp_path_factory.mktemp("generate") / "run"
    copy = shutil.copy(decoder, out.parent / "other.pte")
    options = ["-p", "16,40", "-n", 16, "-d", "0,48,96", "--chunk", 32, "--vs", f"model={copy}"]
    completed = run(etprof, "generate", decoder, *options, "--launches", 3, "--runs", 9, "--output-root", out)
    assert completed.returncode == 0, completed.stderr
    for text in (
        "pp16",
        "pp40",
        "tg16 @ d96",
        "t/s",
        "per token",
        "generate the same tokens",
        "Time to the first token",
    ):
        assert text in completed.stdout, completed.stdout
    return out


@pytest.fixture(scope="module")
def result(etprof, folder) -> dict:
    """The result that etprof reads from the results directory, without measuring."""
    completed = run(etprof, "generate", folder, "--json")
    assert completed.returncode == 0, completed.stderr
    result = json.loads(completed.stdout)
    schema = json.loads((program.ROOT / "docs/schema/generate.schema.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(result)
    return result


def test_tests_are_made_of_their_places(folder, result):
    names = [test["test"] for test in result["variants"][0]["tests"]]
    assert names == ["pp16", "pp40", "tg16", "tg16 @ d48", "tg16 @ d96"]
    places: dict[str, list[tuple[int, int, int]]] = {}
    for experiment in json.loads((folder / "manifest.json").read_text())["results"]:
        place = experiment["place"]
        places.setdefault(place["test"], []).append((place["tokens"], place["at"], place["times"]))
        assert [entry["shape"] for entry in experiment["inputs"]] == [[1, place["tokens"]], [1]]
    # Each of the two variants has these places. A prompt of 40 tokens is a chunk of 32 and a chunk of 8.
    assert places["pp40"] == [(32, 0, 1), (8, 32, 1)] * 2
    assert places["pp16"] == [(16, 0, 1)] * 2
    assert places["tg16 @ d48"] == [(1, 55, 16)] * 2  # the middle of 48 to 63
    for variant in result["variants"]:
        for test in variant["tests"]:
            tokens = test["n_prompt"] + test["n_gen"]
            assert tokens == (40 if test["test"] == "pp40" else 16)
            if test["ms"] is not None:
                assert test["tokens_per_second"] == pytest.approx(1000 * tokens / test["ms"])
                assert test["tokens_per_second_low"] <= test["tokens_per_second"]
            assert len(test["samples_ns"]) <= 3


def test_the_text_is_pytorchs(folder, result):
    manifest = json.loads((folder / "manifest.json").read_text())
    walks = [
        launch["walk"] for experiment in manifest["results"] for launch in experiment["launches"] if "walk" in launch
    ]
    assert len(walks) == 2 * 3  # one of each process
    for walk in walks:
        columns = ("inputs_ns", "execute_ns", "argmax_ns", "between_ns")
        assert sum(sum(walk[column]) for column in columns) == walk["total_ns"]
    prompt = walks[0]["prompt"]
    assert len(prompt) == 40
    for variant in result["variants"]:
        text = variant["text"]
        assert text["tokens"] == token_models.generate("decoder", prompt, 16)
        assert text["same_in_all_launches"] and text["launches"] == 3
        if first := variant["first_token"]:
            parts = ("prefill_ns", "inputs_ns", "argmax_ns", "between_ns")
            assert first["total_ns"] == sum(first[part] for part in parts)
            assert first["steps"] == 2
    (pair,) = result["pairs"]
    assert pair["texts_compared"] and pair["first_different_token"] is None
    assert [row["test"] for row in pair["tests"]] == [test["test"] for test in result["variants"][0]["tests"]]


def test_lines_of_parts_add_up(result):
    for variant in result["variants"]:
        line = variant["decode"]
        assert line["at"] == [7, 55, 103]
        if not line["parts"]:
            continue  # a machine so busy that no traced run was clean
        for key in ("intercept_ns", "slope_ns_per_token"):
            total = sum(part[key] for part in line["parts"])
            scale = max(abs(part[key]) for part in line["parts"])
            assert total == pytest.approx(line[f"traced_{key}"], abs=1e-9 * scale)


def test_reading_memory_is_bytes_over_the_bandwidth_of_their_level(etprof, folder, result):
    manifest = json.loads((folder / "manifest.json").read_text())
    reads = {experiment["place"]["at"]: experiment["place"].get("read_bytes") for experiment in manifest["results"]}
    # Weights and biases of four WIDTH x WIDTH matrices and the head, and the cached keys and values of earlier tokens.
    width, vocabulary = token_models.WIDTH, token_models.VOCABULARY
    weights = 4 * (4 * (width + 1) * width + (width + 1) * vocabulary)
    for variant in result["variants"]:
        decode = variant["decode"]
        for at, ns in zip(decode["at"], decode["memory_ns"], strict=True):
            assert reads[at] == weights + at * CACHE // token_models.CONTEXT
            (entry,) = json.loads((folder / "peaks.json").read_text())["entries"]
            levels = [level for level in entry["memory"] if level["access"] == "read"]
            holding = [
                level for level in levels if level["capacity_bytes"] is None or level["capacity_bytes"] >= reads[at]
            ]
            level = min(holding, key=lambda level: level["capacity_bytes"] or 1e18)
            assert ns == pytest.approx(reads[at] / level["bytes_per_s"] * 1e9)
    assert "Reading memory" in run(etprof, "generate", folder).stdout


def test_options_without_effect_are_refused(etprof, folder, tmp_path):
    measured = run(etprof, "generate", folder, "-p", "16")
    assert measured.returncode == 2
    assert "was measured before, and `--prompt` is an option of a measurement" in measured.stderr
    written = run(etprof, "generate", folder, "--llama-bench", "md", "--html", tmp_path / "page.html")
    assert written.returncode == 2
    assert "`--html`" in written.stderr and "`--llama-bench`" in written.stderr
    isa = run(etprof, "isa", folder, "--threads", "2")
    assert isa.returncode == 2
    assert "`--threads` is an option of a measurement" in isa.stderr


def test_as_llama_bench(etprof, folder, result):
    rows = json.loads(run(etprof, "generate", folder, "--llama-bench", "json").stdout)
    assert rows == [
        json.loads(line) for line in run(etprof, "generate", folder, "--llama-bench", "jsonl").stdout.splitlines()
    ]
    measured = [test for variant in result["variants"] for test in variant["tests"] if test["samples_ns"]]
    assert [(row["n_prompt"], row["n_gen"], row["n_depth"]) for row in rows] == [
        (test["n_prompt"], test["n_gen"], test["n_depth"]) for test in measured
    ]
    for row, test in zip(rows, measured, strict=True):
        assert set(LLAMA_BENCH) <= row.keys()
        assert row["samples_ns"] == pytest.approx(test["samples_ns"], abs=0.5)
        assert row["avg_ts"] == pytest.approx(sum(row["samples_ts"]) / len(row["samples_ts"]))
    database = sqlite3.connect(":memory:")
    database.executescript(run(etprof, "generate", folder, "--llama-bench", "sql").stdout)
    stored = database.execute("SELECT n_prompt, n_gen, n_depth, avg_ns, model_type FROM llama_bench").fetchall()
    assert stored == [
        tuple(row[key] for key in ("n_prompt", "n_gen", "n_depth", "avg_ns", "model_type")) for row in rows
    ]
    # Joins two builds as that script does: by all columns that distinguish results.
    loaded = sqlite3.connect(":memory:")
    keys = [key for key in rows[0] if not key.startswith("samples_")]
    loaded.execute(f"CREATE TABLE llama_bench ({', '.join(keys)})")
    for row in [*rows, *(row | {"build_commit": "other", "avg_ts": 2 * row["avg_ts"]} for row in rows)]:
        marks = ", ".join("?" * len(keys))
        loaded.execute(f"INSERT INTO llama_bench VALUES ({marks})", tuple(row[key] for key in keys))  # noqa: S608
    matching_keys = " AND ".join(
        f"a.{key} = b.{key}" for key in LLAMA_BENCH if key not in ("build_commit", "test_time", "avg_ts")
    )
    joined = loaded.execute(
        f"SELECT b.avg_ts / a.avg_ts FROM llama_bench a JOIN llama_bench b ON {matching_keys} "  # noqa: S608
        "WHERE a.build_commit <> 'other' AND b.build_commit = 'other'"
    ).fetchall()
    assert joined == [(2,)] * len(rows)
    table = list(csv.DictReader(io.StringIO(run(etprof, "generate", folder, "--llama-bench", "csv").stdout)))
    assert [int(row["avg_ns"]) for row in table] == [row["avg_ns"] for row in rows]
    markdown = run(etprof, "generate", folder, "--llama-bench", "md").stdout.splitlines()
    assert len(markdown) == 2 + len(rows) and all(line.count("|") == 7 for line in markdown)


def test_its_folder_is_a_run_like_any_other(etprof, folder):
    assert run(etprof, "validate", folder).returncode == 0
    assert "pp16" in run(etprof, "analyze", folder).stdout
    dry_run = run(etprof, "run", folder / "config.json", "--dry-run", "--json")
    assert dry_run.returncode == 0, dry_run.stderr
    table = list(csv.DictReader(io.StringIO(run(etprof, "generate", folder, "--csv").stdout)))
    assert {row["test"] for row in table} == {"pp16", "pp40", "tg16", "tg16 @ d48", "tg16 @ d96"}


MULTI_METHOD_MODELS = {  # by model: its encoder, the methods of a step, the number of positions of the encoder's output
    "multimodal": ("vision_encoder", {"text_decoder", "token_embedding"}, 4),
    "whisper": ("encoder", {"text_decoder"}, 0),
}


@pytest.fixture(scope="module")
def multi_method_run(etprof, token_model, tmp_path_factory) -> Callable[[str], Path]:
    """A function that measures a model whose steps take several methods. `multimodal` has a copy as variant."""

    @cache
    def measure(name: str) -> Path:
        model, out = token_model(name), tmp_path_factory.mktemp("generate") / name
        options = ["-p", 16, "-n", 8, "-d", "0,48", "--launches", 2, "--runs", 5, "--output-root", out]
        if name == "multimodal":
            other = shutil.copy(model, out.parent / "other.pte")
            shutil.copy(f"{model}.inputs", f"{other}.inputs")
            options += ["--vs", f"model={other}"]
        completed = run(etprof, "generate", model, *options)
        assert completed.returncode == 0, completed.stderr
        screen = run(etprof, "generate", out, "--all").stdout
        assert all(word in screen for word in (MULTI_METHOD_MODELS[name][0], "pp16", "tg8 @ d48"))
        return out

    return measure


@pytest.mark.parametrize("name", MULTI_METHOD_MODELS)
def test_steps_of_several_methods(etprof, multi_method_run, name):
    encoder, methods, features = MULTI_METHOD_MODELS[name]
    folder = multi_method_run(name)
    assert run(etprof, "validate", folder).returncode == 0
    screen = run(etprof, "generate", folder, "--json")
    result = json.loads(screen.stdout)
    schema = json.loads((program.ROOT / "docs/schema/generate.schema.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(result)
    manifest = json.loads((folder / "manifest.json").read_text())
    methods_by_test: dict[str, set[str]] = {}
    for experiment in manifest["results"]:
        methods_by_test.setdefault(experiment["place"]["test"], set()).add(experiment.get("method") or "text_decoder")
    tests = {"pp16", "tg8", "tg8 @ d48"}
    assert methods_by_test == {**dict.fromkeys(tests, methods), encoder: {encoder}}
    (prompt, *_) = [
        launch["walk"]["prompt"]
        for experiment in manifest["results"]
        for launch in experiment["launches"]
        if "walk" in launch
    ]
    for variant in result["variants"]:
        assert {test["test"] for test in variant["tests"]} == {*tests, encoder}
        (encoding,) = [test for test in variant["tests"] if test["test"] == encoder]
        assert encoding["n_prompt"] == encoding["n_gen"] == 0 and encoding["tokens_per_second"] is None
        # A step of several methods has a part for each, as often as the step.
        for test in variant["tests"]:
            parts = [
                experiment
                for experiment in manifest["results"]
                if (experiment["place"]["variant"], experiment["place"]["test"]) == (variant["variant"], test["test"])
            ]
            assert len(parts) == (1 if test["test"] == encoder else len(methods))
        assert variant["text"]["tokens"] == token_models.generate(name, prompt, 8)
        assert variant["text"]["same_in_all_launches"]
        for first in (variant["first_token"], variant["cold_first_token"]):
            if first is None:
                continue  # a busy machine
            columns = ("load_ns", "encode_ns", "prefill_ns", "inputs_ns", "argmax_ns", "between_ns")
            assert first["total_ns"] == sum(first[column] for column in columns)
            assert first["encode_ns"] > 0 and first["n_features"] == features
        line = variant["decode"]
        for rows in (line["parts"], line["operators"]):
            for key in ("intercept_ns", "slope_ns_per_token") if rows else ():
                scale = max(abs(row[key]) for row in rows)
                assert sum(row[key] for row in rows) == pytest.approx(line[f"traced_{key}"], abs=1e-9 * scale)
        if line["operators"]:
            assert {row["key"].split("/")[0] for row in line["operators"] if row["name"] != "Clipped"} == methods
    rows = json.loads(run(etprof, "generate", folder, "--llama-bench", "json").stdout)
    assert all(row["n_prompt"] + row["n_gen"] > 0 for row in rows)


def test_encoders_and_steps_of_two_variants_are_compared(etprof, multi_method_run):
    folder = multi_method_run("multimodal")
    (pair,) = json.loads(run(etprof, "generate", folder, "--json").stdout)["pairs"]
    names = ["pp16", "tg8", "tg8 @ d48", "vision_encoder"]
    assert [row["test"] for row in pair["tests"]] == names
    assert pair["texts_compared"] and pair["first_different_token"] is None
    completed = run_check(etprof, folder, "--max-slowdown", "900%", code=(0, 5))
    kinds = {item["name"]: item["check"] for item in completed["pairs"][0]["checks"]}
    assert kinds == dict(
        zip(
            [*names, "first token", "cache"],
            ["prefill", "decode", "decode", "prefill", "first token", "cache"],
            strict=True,
        )
    )
    table = list(csv.DictReader(io.StringIO(run(etprof, "generate", folder, "--csv=encoders").stdout)))
    assert [row["encoder"] for row in table] == ["vision_encoder"] * 2
    table = list(csv.DictReader(io.StringIO(run(etprof, "generate", folder, "--csv=decode_by_operator").stdout)))
    assert {row["key"].split("/")[0] for row in table if row["category"]} <= {"text_decoder", "token_embedding"}


def test_a_method_is_named_where_prefill_and_decode_are_two(etprof, token_model, tmp_path):
    options = [
        "-p",
        16,
        "-n",
        8,
        "-d",
        "0,48",
        "--launches",
        2,
        "--runs",
        5,
        "--output-root",
        tmp_path / "run",
        "--json",
    ]
    completed = run(etprof, "generate", token_model("shared"), *options)
    assert completed.returncode == 0, completed.stderr
    (variant,) = json.loads(completed.stdout)["variants"]
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    (prompt, *_) = [
        launch["walk"]["prompt"]
        for experiment in manifest["results"]
        for launch in experiment["launches"]
        if "walk" in launch
    ]
    assert variant["text"]["tokens"] == token_models.generate("shared", prompt, 8)
    assert {row["key"].split("/")[0] for row in variant["decode"]["operators"] if row["name"] != "Clipped"} <= {
        "decode"
    }


def test_methods_that_share_no_state_are_refused(etprof, token_model):
    completed = run(etprof, "generate", token_model("apart"))
    assert completed.returncode == 3
    assert "its methods keep a state each, so that decoding sees nothing of a prompt" in completed.stderr


def run_check(etprof, *options, code: int | tuple[int, ...]) -> dict:
    completed = run(etprof, "check", *options, "--json")
    assert completed.returncode in (code if isinstance(code, tuple) else (code,)), completed.stderr + completed.stdout
    result = json.loads(completed.stdout)
    schema = json.loads((program.ROOT / "docs/schema/check.schema.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(result)
    return result


CACHE = 2 * token_models.CONTEXT * token_models.WIDTH * 4


def require_no_failure(result: dict, names: list[str]) -> None:
    """Requires that no check fails: both variants are the same, and the limit is ten times the latency. On a busy machine, a
    check may be inconclusive."""
    (pair,) = result["pairs"]
    assert [item["name"] for item in pair["checks"]] == [*names, "first token", "cache"]
    for item in pair["checks"]:
        if item["name"] == "cache":
            assert (item["result"], item["baseline"], item["candidate"]) == ("pass", CACHE, CACHE)
        elif item["result"] != "pass":
            assert item["result"] == "inconclusive" and item["why_not"]


def test_check_of_a_stored_run_is_by_test(etprof, folder, result, tmp_path):
    names = [test["test"] for test in result["variants"][0]["tests"]]
    junit = tmp_path / "junit.xml"
    require_no_failure(run_check(etprof, folder, "--max-slowdown", "900%", "--junit", junit, code=(0, 5)), names)
    assert junit.read_text().count("<testcase") == 1

    larger = shutil.copytree(folder, tmp_path / "larger")
    manifest = json.loads((larger / "manifest.json").read_text())
    for experiment in manifest["results"]:
        if experiment["place"]["variant"] == result["variants"][1]["variant"]:
            experiment["place"]["cache_bytes"] *= 2
    (larger / "manifest.json").write_text(json.dumps(manifest))
    failed = run_check(etprof, larger, "--generate", "--max-slowdown", "900%", code=1)
    (cache,) = (item for item in failed["pairs"][0]["checks"] if item["check"] == "cache")
    assert (cache["result"], cache["growth"]) == ("fail", 1)
    run_check(etprof, larger, "--max-slowdown", "900%", "--max-cache-growth", "100%", code=(0, 5))


def test_check_measures_two_language_models(etprof, decoder, tmp_path):
    other = shutil.copy(decoder, tmp_path / "other.pte")
    same = run_check(etprof, decoder, other, "--generate", code=0)
    assert [item["check"] for item in same["pairs"][0]["checks"]] == ["prefill", "decode", "first token", "cache"]
    assert "nothing was measured" in same["notes"][0]
    options = ["--prompt", "16,40", "--tokens", 8, "--depth", "0,96", "--chunk", 32, "--max-slowdown", "900%"]
    out = ["--launches", 2, "--runs", 5, "--output-root", tmp_path / "run"]
    measured = run_check(etprof, decoder, other, "--generate", *options, *out, code=(0, 5))
    require_no_failure(measured, ["pp16", "pp40", "tg8", "tg8 @ d96"])


def test_check_of_equal_models_of_several_methods(etprof, token_model, tmp_path):
    model = token_model("multimodal")
    other = shutil.copy(model, tmp_path / "other.pte")
    shutil.copy(f"{model}.inputs", f"{other}.inputs")
    same = run_check(etprof, model, other, "--generate", code=0)
    assert "nothing was measured" in same["notes"][0]


@pytest.mark.parametrize(
    ("options", "code", "problem"),
    [
        (["{model}", "{model}", "--tokens", 4], 2, "need `--generate`"),
        (
            ["{model}", "{model}", "--generate", "--tokens", 129],
            2,
            "`--tokens 129`: the model has room for 128 tokens",
        ),
        (["{model}", "{model}", "--generate", "--inputs", "ones"], 2, "`--inputs` and `--generate` exclude each other"),
        (["{run}/config.json", "--generate"], 2, "`--generate` is for models"),
        (["{run}", "--tokens", 4, "--generate"], 2, "options of measuring do not apply"),
        (["{cnn}", "{model}", "--generate"], 3, "is no language model that can generate"),
    ],
)
def test_check_refuses(etprof, decoder, folder, options, code, problem):
    names = {"model": decoder, "run": folder, "cnn": DATA / "toy_cnn.pte"}
    completed = run(etprof, "check", *(str(word).format(**names) for word in options))
    assert completed.returncode == code, completed.stderr
    assert problem in completed.stderr


def test_operators_take_at_least_what_they_wait(etprof, tmp_path):
    """The true times are known: the kernel waits for a time that grows with the position."""
    spinning = pytest.importorskip("spinning")
    model = spinning.export(tmp_path / "spinning.pte")
    kernel = library(tmp_path, "spin_kernel.cc", ET_EVENT_TRACER_ENABLED="1")
    options = ["-p", 16, "-n", 1, "-d", "0,2000,4000", "--launches", 2, "--runs", 5, "--output-root", tmp_path / "run"]
    completed = run(etprof, "generate", model, "--load", kernel, *options, "--json")
    assert completed.returncode == 0, completed.stderr
    (variant,) = json.loads(completed.stdout)["variants"]
    decode = variant["decode"]
    assert decode["at"] == [0, 2000, 4000]
    for i, at in enumerate(decode["at"]):
        expected_ns = sum(a + b * at for a, b in spinning.OPERATORS)
        assert decode["ns"][i] is None or decode["ns"][i] >= expected_ns
    rows = [row for row in decode["operators"] if row["name"] == "etprof_spin::spin.out"]
    rows.sort(key=lambda row: int(row["key"].split("/")[1]))
    assert len(rows) in (0, len(spinning.OPERATORS))  # 0 if no traced run was clean
    for row, (a, b) in zip(rows, spinning.OPERATORS, strict=False):
        assert all(ns >= a + b * at for ns, at in zip(row["mean_ns"], decode["at"], strict=True))


def test_a_state_that_accumulates_is_put_back(etprof, token_model, tmp_path):
    options = ["-p", 16, "-n", 8, "-d", "0,48", "--launches", 2, "--runs", 5]
    completed = run(etprof, "generate", token_model("recurrent"), *options, "--output-root", tmp_path / "run", "--json")
    assert completed.returncode == 0, completed.stderr
    result = json.loads(completed.stdout)
    assert any("its state accumulates" in warning for warning in result["warnings"])
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    (prompt, other) = [
        launch["walk"]["prompt"]
        for experiment in manifest["results"]
        for launch in experiment["launches"]
        if "walk" in launch
    ]
    text = result["variants"][0]["text"]
    assert prompt == other and text["same_in_all_launches"]
    assert text["tokens"] == token_models.generate("recurrent", prompt, 8)


def test_a_text_of_nan_is_not_compared(etprof, token_model, tmp_path):
    other = tmp_path / "other.pte"
    shutil.copy(token_model("nan"), other)
    words = ["-p", 16, "-n", 8, "--launches", 2, "--runs", 5, "--vs", f"model={other}"]
    done = run(etprof, "generate", token_model("nan"), *words, "--output-root", tmp_path / "run", "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    # The steps at the positions 20, 21, and 22.
    assert any("3 of 8 generated tokens were chosen among logits with NaN" in text for text in result["warnings"])
    assert [variant["text"]["nan_steps"] for variant in result["variants"]] == [3, 3]
    assert not result["pairs"][0]["texts_compared"]


def test_steps_that_do_not_repeat_are_refused(etprof, token_model, tmp_path):
    completed = run(etprof, "generate", token_model("random"), "--launches", 2, "--output-root", tmp_path / "run")
    assert completed.returncode == 4
    assert "gives other logits when it is repeated" in completed.stderr


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["-d", 120, "-n", 16], "`--depth 120` and 16 tokens generated: the model has room for 128 tokens"),
        (["-p", 129], "`--prompt 129`: the model has room for 128 tokens"),
        (["-n", 129], "`--generate 129`"),
        (["--chunk", 65], "`--chunk 65`: the model takes at most 64 tokens at once"),
        (["--inputs", "ones"], "`--inputs` and `etprof generate` exclude each other"),
        (["-p", 0], "--prompt"),
    ],
)
def test_numbers_without_room_are_refused(etprof, decoder, options, problem):
    completed = run(etprof, "generate", decoder, *options)
    assert completed.returncode == 2, completed.stderr
    assert problem in completed.stderr


def test_generated_tokens_may_fill_the_context(etprof, decoder, tmp_path):
    options = ["-n", 128, "--launches", 2, "--runs", 5, "--output-root", tmp_path / "run"]
    completed = run(etprof, "generate", decoder, *options)
    assert completed.returncode == 0, completed.stderr
    assert "pp1 " in completed.stdout and "tg128 " in completed.stdout


def test_other_programs_are_refused_with_the_reason(etprof, tmp_path):
    completed = run(etprof, "generate", DATA / "toy_cnn.pte")
    assert completed.returncode == 3
    assert "is no language model that can generate: 'forward' takes float32 [1, 3" in completed.stderr
    assert run(etprof, "generate", tmp_path / "none.pte").returncode == 3


def test_inspect_says_what_a_step_takes(etprof, token_model):
    multimodal = " ".join(run(etprof, "inspect", token_model("multimodal")).stdout.split())
    assert "a step takes the embeddings of 64 tokens or fewer and their positions, and gives" in multimodal
    whisper = " ".join(run(etprof, "inspect", token_model("whisper")).stdout.split())
    assert "a step takes 1 token and a position, with what an encoder gives, and gives" in whisper


def test_inspect_says_what_it_is(etprof, decoder):
    screen = " ".join(run(etprof, "inspect", decoder).stdout.split())
    assert (
        "a step takes 64 tokens or fewer and a position, and gives the logits of the last token over a vocabulary of 100"
        in screen
    )
    (method,) = json.loads(run(etprof, "inspect", decoder, "--json").stdout)["methods"]
    assert method["token_step"]["vocabulary"] == 100 and not method["token_step"]["logits_of_each"]
    assert method["state"]["bytes"] == CACHE
