"""configs/: all files fit the schema, etprof accepts them, and the schema and the parser know the same keys."""

import json
import platform
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import program
import pytest

CONFIGS = program.ROOT / "configs"
SUITES = sorted((CONFIGS / "suites").glob("*.json"))
FILES = sorted(set(CONFIGS.rglob("*.json")) - set(SUITES))
TEMPLATES = sorted((CONFIGS / "templates").glob("*.json"))
MODEL = program.DATA / "toy_cnn.pte"
SCHEMA = program.ROOT / "docs" / "schema" / "config.schema.json"
# Configurations for this machine.
LOCAL_CONFIGS = ["examples/isa_on_off.json", "examples/threads.json", "templates/linux_template.json"]
# Keys without meaning on a platform, and the profiling kit's other names.
PLATFORM_KEYS = {"mac": {"cpu_affinity", "power_mode", "max_temp", "max_temp_wait"}, "android": set()}
ALIASES = {"num_runs", "num_threads"}


def schema() -> dict[str, Any]:
    return json.loads(SCHEMA.read_text(encoding="utf-8"))


def errors(config: Any) -> list[str]:
    found = jsonschema.Draft202012Validator(schema()).iter_errors(config)
    return [f"{error.json_path}: {error.message}" for error in found]


def read(path: Path) -> Any:
    return json.loads(program.without_comments(path.read_text(encoding="utf-8")))


def etprof(folder: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [str(program.etprof()), *map(str, arguments)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)


SHELL = Path("/bin/sh")


def place_files(config: Any, folder: Path) -> None:
    """Puts a small model, a runner, and data at the paths in a configuration."""
    for holder in (config, *config["experiments"]):
        for key, source in (("model", MODEL), ("data", MODEL), ("runner_path", SHELL), ("load", SHELL)):
            if key in holder:
                (folder / holder[key]).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(source, folder / holder[key])


def test_comments_are_taken_out_and_nothing_else():
    text = '{"a": "// no /* comment */", // one\n /* two\n lines */ "b\\"//": 1}'
    assert json.loads(program.without_comments(text)) == {"a": "// no /* comment */", 'b"//': 1}
    assert program.without_comments(text).count("\n") == text.count("\n")


@pytest.mark.parametrize("path", SUITES, ids=lambda path: path.name)
def test_suites_fit_the_schema_that_they_name_and_etprof_takes_them(path):
    suite = read(path)
    named = path.parent / suite["$schema"]
    jsonschema.Draft202012Validator(json.loads(named.read_text(encoding="utf-8"))).validate(suite)
    # The devices may be unreachable, which their cells then report.
    completed = etprof(program.ROOT, "suite", path, "--dry-run", "--json")
    assert completed.returncode == 0, completed.stderr


def test_an_example_is_json_that_any_program_reads():
    """The kit's users read the file with json.loads, replace the model, and write it with json.dumps."""
    for path in FILES:
        if path.parent.name == "examples":
            assert json.loads(path.read_text(encoding="utf-8"))["description"], path.name


def test_there_is_a_template_and_an_example_for_every_platform():
    assert {path.name.removesuffix("_template.json") for path in TEMPLATES} == {"mac", "android", "board", "linux"}
    devices = {
        str(read(path).get("device", "local")).partition(":")[0] for path in FILES if path.parent.name == "examples"
    }
    assert devices == {"local", "adb", "ssh"}
    assert any(path.name.startswith("mac_") for path in FILES if path.parent.name == "examples")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_configuration_fits_its_schema(path):
    config = read(path)
    assert errors(config) == []
    assert (path.parent / config["$schema"]).resolve() == SCHEMA


def list_keys(text: str) -> list[str]:
    return re.findall(r'"([\w$]+)":', text)


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_every_key_is_explained_once(path):
    """A comment is above each key or group of keys. No key is missing or repeated."""
    lines = path.read_text(encoding="utf-8").splitlines()
    platform_ = path.name.removesuffix("_template.json")
    top = [
        match.group(1)
        for line in lines
        if (match := re.match(r'  (?:// )?"([\w$]+)":', line)) and not line.startswith("    ")
    ]
    assert len(top) == len(set(top))
    expected = set(schema()["properties"]) - ALIASES - PLATFORM_KEYS.get(platform_, set())
    if platform_ != "android":
        expected -= {"power_mode"}
    assert set(top) == expected
    for index, line in enumerate(lines):
        if re.match(r'  (?:// )?"(?!\$schema)[\w$]+":', line):
            above = lines[index - 1].strip()
            assert above.startswith("// ") and not above.startswith('// "'), f"nothing explains {line}"
    text = path.read_text(encoding="utf-8")
    for alias in ALIASES:
        assert len(re.findall(rf"\b{alias}\b", text)) == 1
    for key in ("name", "label", "mode", "baseline", "candidate", "experiment", "compare_pairs"):
        assert key in list_keys(text)


def uncommented(path: Path) -> str:
    return re.sub(r'^(\s*)// ("[\w$]+":.*,)$', r"\1\2", path.read_text(encoding="utf-8"), flags=re.MULTILINE)


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_commented_out_keys_are_valid(path, tmp_path):
    """With all keys enabled, the file fits the schema, and etprof accepts it (without the device and its keys)."""
    text = uncommented(path)
    config = json.loads(program.without_comments(text))
    assert set(config) > set(read(path))
    assert errors(config) == []
    place_files(config, tmp_path)
    if "linux" in path.name:
        skip_without("avx2")
    else:  # a CPU that is elsewhere: test_configs_elsewhere.py in tests/devices
        text = re.sub(r'"(device|power_mode|cpu_affinity)": .*,', "", text).replace('"isa": "-sme,-sme2"', '"isa": ""')
    (tmp_path / "config.json").write_text(text, encoding="utf-8")
    completed = etprof(tmp_path, "run", "config.json", "--dry-run")
    assert completed.returncode == 0, completed.stderr


def skip_without(feature: str) -> None:
    here = json.loads(program.run("isa", "--json").stdout)
    if feature not in here["features"]:
        pytest.skip(f"this CPU has no {feature}")


@pytest.mark.parametrize("name", LOCAL_CONFIGS)
def test_local_configurations_run(name, tmp_path):
    if platform.machine() == "x86_64":
        skip_without({"examples/isa_on_off.json": "avx", "templates/linux_template.json": "avx2"}.get(name, "sse3"))
    elif name != "examples/threads.json":
        pytest.skip(f"this CPU is {platform.machine()}")
    place_files(read(CONFIGS / name), tmp_path)
    dry = etprof(tmp_path, "run", CONFIGS / name, "--dry-run")
    assert dry.returncode == 0, dry.stderr
    short = ["--launches", "2", "--max-seconds", "5", "--runs", "2", "--no-peaks"]
    completed = etprof(tmp_path, "run", CONFIGS / name, *short)
    assert completed.returncode == 0, completed.stderr
    (run,) = {path.parent for path in tmp_path.rglob("manifest.json")}
    (results_folder,) = re.findall(r"^  into +(\S+)$", dry.stdout, flags=re.MULTILINE)
    assert (tmp_path / results_folder) == run
    assert etprof(tmp_path, "validate", run).returncode == 0


def refused(folder: Path, config: Any) -> str:
    """Returns etprof's error for a configuration, or an empty text if etprof accepts it."""
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    completed = etprof(folder, "run", "config.json", "--dry-run")
    assert completed.returncode in (0, 2, 3), completed.stderr
    if completed.returncode != 0:
        program.one_error(completed.stderr)
    return completed.stderr


def make_config(level: str, members: dict[str, Any]) -> dict[str, Any]:
    """Makes a configuration with `members` in one of its objects."""
    variant: dict[str, Any] = {"experiment": "a"}
    pair: dict[str, Any] = {"baseline": variant, "candidate": "b"}
    experiment: dict[str, Any] = {"name": "a"}
    analysis: dict[str, Any] = {"compare_pairs": [pair]}
    config = {"model": str(MODEL), "experiments": [experiment, {"name": "b"}], "analysis": analysis}
    holders = {"whole": config, "experiment": experiment, "analysis": analysis, "pair": pair, "side": variant}
    holders[level].update(members)
    return config


def schema_values(level: str) -> dict[str, Any]:
    root = schema()
    objects = {
        "whole": root,
        "experiment": root["$defs"]["experiment"],
        "analysis": root["properties"]["analysis"],
        "pair": root["$defs"]["pair"],
        "side": root["$defs"]["pair"]["properties"]["baseline"]["anyOf"][1],
    }
    return objects[level]["properties"]


LEVELS = ["whole", "experiment", "analysis", "pair", "side"]


@pytest.mark.parametrize("level", LEVELS)
def test_schema_and_parser_know_the_same_keys(level, tmp_path):
    """The parser lists its keys for an unknown key that resembles none of them."""
    assert refused(tmp_path, make_config(level, {})) == ""
    error = refused(tmp_path, make_config(level, {"qqqqqqqqqqqqqqqqqqqqqqqq": 1}))
    known = set(error.strip().rpartition("hint: Known here: ")[2].removesuffix(".").split(", "))
    assert known == set(schema_values(level))


@pytest.mark.parametrize("level", LEVELS)
def test_a_key_of_another_place_is_refused_by_both(level, tmp_path):
    everywhere = {key for other in LEVELS for key in schema_values(other)}
    for key in sorted(everywhere - set(schema_values(level))):
        config = make_config(level, {key: None})
        assert errors(config), key
        assert "unknown key" in refused(tmp_path, config), key
    for key in ("_note", "comment", "description"):
        config = make_config(level, {key: {"free": [1]}})
        assert errors(config) == []
        assert refused(tmp_path, config) == ""


def make_values(property_: dict[str, Any]) -> Iterator[Any]:
    """Returns values on both sides of the schema's bounds, valid and invalid words, and values of rare types."""
    for option in property_.get("anyOf", [property_]):
        if "minimum" in option:
            low, high = option["minimum"], option["maximum"]
            yield from (low, high, low - 1, high + 1)
        for word in option.get("enum", []):
            yield from (word, word + "x")
    yield from (None, False, [], [[]])
    if "patternProperties" not in json.dumps(property_) and "propertyNames" not in json.dumps(property_):
        yield {"an": ["object"]}


# Messages about values that are valid by themselves, but not together with the others, or not on this machine.
INVALID_TOGETHER = r"has no run with|none of the CPUs|no model is given|settings of Android"


@pytest.mark.parametrize("level", ["whole", "experiment", "pair", "side"])
def test_schema_and_parser_allow_the_same_values(level, tmp_path):
    count = 0
    for key, property_ in schema_values(level).items():
        if key in ("experiments", "analysis", "compare_pairs", "baseline", "candidate", "experiment"):
            continue
        for value in make_values(property_):
            config = make_config(level, {key: value})
            by_schema = not errors(config)
            error = refused(tmp_path, config)
            assert by_schema == (not error or bool(re.search(INVALID_TOGETHER, error))), (
                f"{key}: {value!r}: {error or 'taken'}"
            )
            count += 1
    assert count >= 5
