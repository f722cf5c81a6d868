import os
import sys
from pathlib import Path

import pytest
import torch

from etprof.errors import ExportError
from etprof.exporting import find

WORKING = """
import torch
from dataclasses import dataclass
from neighbor import WIDTH

@dataclass
class Options:
    width: int = WIDTH

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(Options().width, 2)
    def forward(self, x):
        return self.linear(x)

class TinyNetModel:
    def get_eager_model(self):
        return Net()
    def get_example_inputs(self):
        return (torch.randn(1, WIDTH),)

class Itself(Net):
    def get_example_inputs(self):
        return (torch.randn(1, WIDTH),)
"""


@pytest.fixture
def model_file(tmp_path: Path) -> Path:
    (tmp_path / "neighbor.py").write_text("WIDTH = 5\n")
    path = tmp_path / "model.py"
    path.write_text(WORKING)
    return path


def fail_to_find(spec: str) -> ExportError:
    with pytest.raises(ExportError) as raised:
        find.build_model(find.find_model(spec))
    return raised.value


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        ("toy_cnn", "toy_cnn"),
        ("a/b/model.py:ToyCNN", "toy_cnn"),
        ("model.py:MyNetV2Model", "my_net_v2_model"),
        ("model.py:HTTPNet", "http_net"),
        ("a/model.py", "model"),
    ],
)
def test_the_name_in_file_names(spec: str, name: str):
    assert find.default_name(spec) == name


@pytest.mark.parametrize("class_name", ["TinyNetModel", "Itself"])
def test_a_class_in_a_users_file(model_file: Path, class_name: str):
    built = find.build_model(find.find_model(f"{model_file}:{class_name}"))
    assert not built.module.training
    assert built.args[0].shape == (1, 5)
    assert built.module(*built.args).shape == (1, 2)


def test_unseeded_models_are_the_same_every_time(model_file: Path):
    first, second = (find.build_model(find.find_model(f"{model_file}:TinyNetModel")) for _ in range(2))
    assert torch.equal(first.args[0], second.args[0])
    assert torch.equal(first.module.linear.weight, second.module.linear.weight)


def test_an_edit_is_seen_though_size_and_second_stay(tmp_path: Path):
    file = tmp_path / "net.py"
    for width in (3, 4):
        file.write_text(WORKING.replace("from neighbor import WIDTH", f"WIDTH = {width}"))
        os.utime(file, (1_700_000_000, 1_700_000_000))
        assert find.build_model(find.find_model(f"{file}:Itself")).args[0].shape == (1, width)
    assert list(tmp_path.iterdir()) == [file]  # etprof writes no bytecode into the user's folder


def test_a_misspelt_name_gets_a_suggestion():
    error = fail_to_find("mobilnet_v3_smal")
    assert error.stage == "find model"
    assert "did you mean mobilenet_v3_small?" in error.remedy
    assert "did you mean" not in fail_to_find("zzzzzzzz").remedy


def test_executorchs_own_examples():
    built = find.build_model(find.find_model("add"))
    assert len(built.args) == 2


@pytest.mark.parametrize("hidden_package", [True, False])
def test_a_package_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, hidden_package: bool):
    """The message also covers ExecuTorch's examples and transformers, which raise their own errors. No remedy replaces
    PyTorch."""
    if hidden_package:
        monkeypatch.setitem(sys.modules, "torchvision", None)
    package = "torchvision" if hidden_package else "not_there"
    hidden = f"try:\n    import {package}\nexcept ImportError as e:\n    raise ModuleNotFoundError('odd') from e\n"
    (tmp_path / "hidden.py").write_text(hidden)
    errors = [fail_to_find(f"{tmp_path}/hidden.py:Net"), *([fail_to_find("mv3")] if hidden_package else [])]
    for error in errors:
        assert error.reason == f"it needs the Python package {package}, which is not installed"
        remedy = (
            "run `script/bootstrap --models`" if hidden_package else f"install not_there torch=={torch.__version__}`"
        )
        assert remedy in error.remedy


def test_an_import_that_fails_says_by_what(tmp_path: Path):
    (tmp_path / "odd.py").write_text("raise ModuleNotFoundError('odd') from RuntimeError('no operator')\n")
    assert fail_to_find(f"{tmp_path}/odd.py:Net").reason == "an import failed: RuntimeError: no operator"


def test_a_missing_file(tmp_path: Path):
    error = fail_to_find(f"{tmp_path}/absent.py:Model")
    assert error.stage == "find model"
    assert "no such file" in error.reason


def test_a_missing_class_gets_a_suggestion_or_the_list(model_file: Path):
    assert f"did you mean {model_file}:TinyNetModel?" in fail_to_find(f"{model_file}:TinyNetModle").remedy
    error = fail_to_find(str(model_file))
    assert "no class" in error.reason
    assert f"{model_file}:TinyNetModel" in error.remedy


@pytest.mark.parametrize(
    ("source", "reasons"),
    [
        ("x = 1\nraise ValueError('boom')\n", ["ValueError: boom", "line 2"]),
        ("import sys\nsys.exit(0)\n", ["SystemExit", "line 2"]),
        ("def broken(:\n", ["SyntaxError"]),
        ("import no_such_package_xyz\n", ["package no_such_package_xyz"]),
        (
            "try:\n    import no_such_package_xyz\nexcept ImportError as e:\n    raise RuntimeError('oh') from e\n",
            ["package no_such_package_xyz"],
        ),
        ("from .sibling import x\n", ["ImportError", "relative import"]),
        ("Model = 3\n", ["no class Model"]),
        ("class Model:\n    pass\n", ["no get_example_inputs and no get_eager_model"]),
        ("import torch\nclass Model(torch.nn.Module):\n    pass\n", ["no get_example_inputs"]),
    ],
)
def test_a_hostile_file_is_one_clear_error(tmp_path: Path, source: str, reasons: list[str]):
    path = tmp_path / "model.py"
    path.write_text(source)
    error = fail_to_find(f"{path}:Model")
    assert error.stage == "find model"
    assert all(reason in error.reason for reason in reasons), error.reason
    assert "\n" not in error.reason
    assert error.remedy


@pytest.mark.parametrize(
    ("model", "example", "stage", "word"),
    [
        ("raise RuntimeError('no weights')", "return (torch.ones(1),)", "build model", "no weights"),
        ("return 3", "return (torch.ones(1),)", "build model", "int, not a torch.nn.Module"),
        (
            "import urllib.request; urllib.request.urlopen('http://127.0.0.1:1/weights')",
            "return (torch.ones(1),)",
            "build model",
            "a download failed: ",
        ),
        ("return torch.nn.ReLU()", "raise RuntimeError('no data')", "example inputs", "no data"),
        ("return torch.nn.ReLU()", "return torch.ones(1)", "example inputs", "Tensor, not a tuple"),
    ],
)
def test_a_failing_class_is_reported_with_the_stage(tmp_path: Path, model: str, example: str, stage: str, word: str):
    path = tmp_path / "model.py"
    path.write_text(
        f"import torch\nclass Model:\n    def get_eager_model(self):\n        {model}\n"
        f"    def get_example_inputs(self):\n        {example}\n"
    )
    error = fail_to_find(f"{path}:Model")
    assert error.stage == stage
    assert word in error.reason
