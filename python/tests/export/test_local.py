"""Packages of the user in the current folder."""

import sys
from pathlib import Path

import pytest
import torch

from etprof import models
from etprof.errors import ExportError
from etprof.export import main
from etprof.exporting import find, local

MODEL = """
import torch
from .parts import WIDTH

class Model:
    def get_eager_model(self):
        return torch.nn.Linear(WIDTH, 2)
    def get_example_inputs(self):
        return (torch.ones(1, WIDTH),)
"""
HEAD = "from etprof.models import register_model\n"


@pytest.fixture(autouse=True)
def work_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Changes to an empty folder. Afterwards, removes models and modules that were registered or imported there."""
    before = set(sys.modules)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(models, "_registered", dict(models._registered))
    yield tmp_path
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[name]


def package(folder: Path, init: str, width: int = 3) -> Path:
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text(init)
    (folder / "model.py").write_text(MODEL)
    (folder / "parts.py").write_text(f"WIDTH = {width}\n")
    return folder


def find_error(spec: str) -> ExportError:
    with pytest.raises(ExportError) as raised:
        find.find_model(spec)
    assert raised.value.stage == "find model"
    assert "\n" not in str(raised.value)
    return raised.value


def read_width(spec: str) -> int:
    return find.build_model(find.find_model(spec)).module.in_features


def test_a_package_in_the_current_folder_is_found_by_the_name_it_registers(work_folder: Path):
    package(work_folder / "mine_a", HEAD + "register_model('net-a', f'{__name__}.model:Model')")
    package(work_folder / "mine_b", HEAD + "from .model import Model\nregister_model('net-b', Model)", width=4)
    assert (read_width("net-a"), read_width("net-b")) == (3, 4)
    assert read_width("net-a") == 3  # the second time, the model is in the registry
    assert find.find_model("net-a").source == str(work_folder / "mine_a" / "__init__.py")
    assert (read_width("mine_a/"), read_width(str(work_folder / "mine_b"))) == (3, 4)


def test_the_kits_form_a_folder_of_models_that_registers_them(work_folder: Path):
    package(work_folder / "models" / "your_model", "from .model import Model as YourModelClass")
    (work_folder / "models" / "__init__.py").write_text(
        HEAD + "from . import your_model\nregister_model('your_model', your_model.YourModelClass)"
    )
    assert read_width("your_model") == 3


def test_a_folder_of_models_that_is_no_package(work_folder: Path):
    package(work_folder / "models" / "mine_c", HEAD + "register_model('mine_c', f'{__name__}.model:Model')", width=5)
    assert read_width("mine_c") == 5


def test_listing_imports_nothing(work_folder: Path, capfd: pytest.CaptureFixture):
    package(work_folder / "mine_d", HEAD + "raise SystemExit('imported')\nregister_model('net-d', int)")
    (work_folder / "binary").mkdir()
    (work_folder / "binary" / "__init__.py").write_bytes(b"register_model\0\xff")
    (work_folder / "broken").mkdir()
    (work_folder / "broken" / "__init__.py").write_text("register_model('x', \n")
    (work_folder / "loop").mkdir()
    (work_folder / "loop" / "__init__.py").symlink_to("__init__.py")
    assert main(["--list-models"]) == 0
    listed = capfd.readouterr().out.splitlines()
    assert listed[-1] == "net-d"
    assert {"toy_cnn", "mv3"} < set(listed)
    assert list(local.registered(work_folder)) == ["net-d"]


def test_two_models_of_one_name_are_refused(work_folder: Path):
    for name in ("mine_e", "mine_f"):
        package(work_folder / name, HEAD + "register_model('net-e', int)")
    why = find_error("net-e").reason
    assert "two models have the name net-e" in why
    assert "mine_e/__init__.py" in why and "mine_f/__init__.py" in why
    package(work_folder / "mine_g", HEAD + "register_model('toy_cnn', int)\nregister_model('mv3', int)")
    assert "etprof's example and the one of" in find_error("toy_cnn").reason
    assert find_error("toy_cnn").remedy == "say which: mine_g:toy_cnn"
    assert find_error("./mine_g").reason == "mine_g registers several models"
    error = find_error("./mine_g:none")
    assert error.reason == "mine_g registers no model none"
    assert error.remedy == "name one: mine_g:toy_cnn, mine_g:mv3"


def test_ones_own_model_comes_before_executorchs(work_folder: Path):
    package(work_folder / "mine_m", HEAD + "register_model('mv3', f'{__name__}.model:Model')", width=6)
    assert "mv3" in find.executorch_examples()
    assert read_width("mv3") == 6
    package(work_folder / "mine_n", HEAD + "register_model('toy_cnn', f'{__name__}.model:Model')", width=7)
    assert read_width("mine_n:toy_cnn") == 7
    assert find.default_name("mine_n:toy_cnn") == "toy_cnn"


def test_names_that_a_package_computes(work_folder: Path):
    """Computed names are unknown until the package runs, so the user has to name the package."""
    loop = "for width in (3, 4):\n    register_model(f'net-{width}', f'{__name__}.model:Model')"
    package(work_folder / "mine_o", HEAD + loop, width=8)
    assert local.registered(work_folder) == {}
    assert find_error("net-3").remedy.startswith(
        "mine_o/__init__.py registers models by names that it computes: if this is one of them, give mine_o:net-3. "
    )
    assert read_width("mine_o:net-3") == read_width("./mine_o:net-4") == 8
    assert find_error("mine_o:net-5").reason == "mine_o/__init__.py registers no model net-5"
    assert find_error("./mine_o").remedy == "name the model: mine_o:NAME"


def test_a_package_without_registration_has_a_hint(work_folder: Path):
    package(work_folder / "mine_h", "")
    error = find_error("mine_h")
    assert error.reason == "mine_h/__init__.py registers no model mine_h"
    assert 'register_model("mine_h", f"{__name__}.model:Class")' in error.remedy
    assert "registers no model" in find_error("./mine_h").reason
    (work_folder / "plain").mkdir()
    assert "without an __init__.py" in find_error("./plain").reason


@pytest.mark.parametrize(
    ("init", "message"),
    [
        (
            "x = 1\nraise ValueError('boom')\nregister_model('net-i', int)",
            "ValueError: boom (mine_i/__init__.py, line 3)",
        ),
        ("import no_such_package_xyz\nregister_model('net-i', int)", "package no_such_package_xyz"),
        ("register_model('net-i', f'{__name__}.model:Modle')", "has no attribute 'Modle'"),
        ("register_model('net-i', f'{__name__}.modle:Model')", "there is no module mine_i.modle"),
        ("register_model('net-i', int)", "the class int of"),
        ("register_model('net-i', 3)", "register_model takes a class"),
        ("if False:\n    register_model('net-i', int)", "no class"),
    ],
)
def test_a_package_that_fails_is_one_clear_error(work_folder: Path, init: str, message: str):
    package(work_folder / "mine_i", HEAD + init)
    assert message in find_error("net-i").reason


def test_a_package_that_another_module_hides(work_folder: Path):
    package(work_folder / "json", HEAD + "register_model('net-j', f'{__name__}.model:Model')")
    assert "the name of the package json is taken by" in find_error("net-j").reason


def test_a_file_of_a_package_says_to_name_the_package(work_folder: Path):
    package(work_folder / "mine_k", HEAD + "register_model('net-k', f'{__name__}.model:Model')")
    error = find_error("mine_k/model.py:Model")
    assert "relative import" in error.reason and "(mine_k/model.py, line 3)" in error.reason
    assert "give the package's folder" in error.remedy


def test_a_registered_model_computes_its_outputs(work_folder: Path):
    package(work_folder / "mine_l", HEAD + "register_model('net-l', f'{__name__}.model:Model')")
    built = find.build_model(find.find_model("net-l"))
    assert torch.equal(built.args[0], torch.ones(1, 3))
    assert built.module(*built.args).shape == (1, 2)
