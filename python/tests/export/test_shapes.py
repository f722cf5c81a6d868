"""--input-shape: its syntax, the shapes that the program accepts, and correct results at both bounds."""

import json
from pathlib import Path

import pytest
import torch
from executorch.runtime import Runtime

from etprof import wrappers
from etprof.export import main
from etprof.exporting import find, lower, shapes
from etprof.exporting.find import BuiltModel
from etprof.exporting.manifest import Method

NET = """
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(3)
        self.conv = torch.nn.Conv2d(3, 4, 3, padding=1)

    def forward(self, image, other, scale=2.0):
        return (self.conv(image) + self.conv(other)).relu() * scale

    def get_example_inputs(self):
        return (torch.randn(1, 3, 20, 20), torch.randn(1, 3, 20, 20))
"""


def export(folder: Path, *arguments: str) -> tuple[int, Path]:
    (folder / "net.py").write_text(NET)
    code = main([f"{folder / 'net.py'}:Net", "--outdir", str(folder), *arguments])
    return code, folder / "net_xnnpack_fp32.pte"


def read_manifest(pte: Path) -> dict:
    return json.loads(pte.with_name(f"{pte.name}.json").read_text())


def test_bounds_are_parsed():
    bounds = shapes.parse_bounds("x=1x3x64..512")
    assert (bounds.method, bounds.name, bounds.sizes) == ("", "x", ((1, 1), (3, 3), (64, 512)))
    assert shapes.parse_bounds("decode.keys=1x2").method == "decode"
    for bad in ("x", "=1", "x=", "x=1x", "x=ax2", "x=0x2", "x=5..4", "x=-1", "x=1..", f"x={10**20}"):
        with pytest.raises(ValueError, match=r"not an input's shape|not a range"):
            shapes.parse_bounds(bad)


def test_any_shape_within_the_bounds_runs(tmp_path: Path):
    code, pte = export(tmp_path, "--input-shape", "image=1x3x8..40x20..30", "--input-shape", "1=1x3x8..40x20..30")
    assert code == 0
    manifest = read_manifest(pte)
    assert [entry["shape"] for entry in manifest["inputs"]] == [[1, 3, 40, 30], [1, 3, 40, 30]]
    assert all(entry["dynamic"] for entry in manifest["inputs"])
    checked = {case["inputs"]: case["shapes"][0] for case in manifest["check"]["cases"]}
    assert checked == {"example": [1, 3, 20, 20], "smallest": [1, 3, 8, 20], "largest": [1, 3, 40, 30]}
    torch.manual_seed(3)
    conv = torch.nn.Conv2d(3, 4, 3, padding=1)
    method = Runtime.get().load_program(pte).load_method("forward")
    for height, width in ((8, 20), (40, 30), (17, 23)):
        image, other = torch.randn(1, 3, height, width), torch.randn(1, 3, height, width)
        with torch.no_grad():
            expected = (conv(image) + conv(other)).relu() * 2
        torch.testing.assert_close(method.execute((image, other))[0], expected, rtol=1e-4, atol=1e-5)
    with pytest.raises(RuntimeError):
        method.execute((torch.randn(1, 3, 41, 30), torch.randn(1, 3, 41, 30)))


def test_a_shape_without_ranges_is_another_static_one(tmp_path: Path):
    code, pte = export(tmp_path, "--input-shape", "image=2x3x6x9", "--input-shape", "other=2x3x6x9")
    assert code == 0
    assert read_manifest(pte)["inputs"][0] == {
        "type": "tensor",
        "dtype": "float32",
        "shape": [2, 3, 6, 9],
        "dynamic": False,
    }


@pytest.mark.parametrize(
    ("shape", "message", "remedy"),
    [
        ("picture=1x3x8x8", "there is no input picture", "The inputs are image, other"),
        ("2=1x3x8x8", "there is no input 2", "numbers from 0"),
        ("image=3x8x8", "has shape [1, 3, 20, 20]", "as many dimensions"),
        ("prefill.image=1x3x8x8", "names no method", "METHOD.NAME"),
        ("image=1x4x20x20", "", ""),  # the convolution takes three channels; the message is torch's
    ],
)
def test_a_wrong_shape_is_one_message(
    tmp_path: Path, capfd: pytest.CaptureFixture, shape: str, message: str, remedy: str
):
    code, _ = export(tmp_path, "--input-shape", shape)
    assert code == 3
    error, remedy = [line for line in capfd.readouterr().err.splitlines() if line.startswith(("error", "hint"))]
    assert error.startswith("error: ") and "`net`" in error
    assert message in error
    assert remedy in remedy


def test_inputs_are_cut_and_repeated():
    tensor = torch.arange(6).reshape(2, 3)
    assert shapes.resized(tensor, (3, 2)).tolist() == [[0, 1], [3, 4], [0, 1]]
    assert shapes.resized(tensor, (2, 7)).tolist() == [[0, 1, 2, 0, 1, 2, 0], [3, 4, 5, 3, 4, 5, 3]]


class Sound(torch.nn.Module):
    """An audio model that needs at least 21 samples."""

    def __init__(self) -> None:
        super().__init__()
        self.convs = torch.nn.Sequential(torch.nn.Conv1d(4, 8, 5, stride=2), torch.nn.Conv1d(8, 8, 9))

    def forward(self, sound: torch.Tensor) -> dict[str, torch.Tensor]:
        return {"features": self.convs(sound)}


class Tokens(torch.nn.Module):
    def forward(self, input_ids, mask=None, parts=(), **options):
        return {"logits": input_ids * mask, "parts": parts, **options}


def test_inputs_of_a_model_inside_of_wrappers_have_its_names():
    model, ones = Tokens(), torch.ones(1, 4)
    for module in (model, wrappers.Select(model, "logits"), wrappers.Substitute(wrappers.Select(model, "logits"), {})):
        method = BuiltModel(module, (ones,), {"mask": ones, "parts": (ones, ones)}, None)
        assert shapes.input_names(method) == ["input_ids", "mask", "", ""]
        assert shapes.parameters(module)[:2] == ["input_ids", "mask"]
        (bounded,) = shapes.with_bounds("net", {"forward": method}, [shapes.parse_bounds("input_ids=1x7")]).values()
        assert bounded.args[0].shape == (1, 7)
    # Inputs of a module that takes any number have no names.
    model.forward = lambda *args: args[0]
    assert shapes.input_names(BuiltModel(wrappers.Select(model, 0), (ones,), {}, None)) == [""]


def test_narrower_bounds_than_requested_are_reported():
    """The model may limit the sizes, and so may a lowering that lost the largest size. The check then uses the lower limit."""
    bounds = shapes.parse_bounds("sound=1x4x16..400")
    model = find.BuiltModel(Sound().eval(), (torch.randn(1, 4, 200),), {}, None)
    methods = shapes.with_bounds("sound", {"forward": model}, [bounds])
    program = lower.trace(methods["forward"])
    assert shapes.output_names(program) == ["features"]

    def lowered(most: int) -> Method:
        sound = {"type": "tensor", "dtype": "float32", "shape": [1, 4, most], "dynamic": True}
        return Method([sound], ["sound"], [], [], {}, {})

    by_model = "--input-shape sound=1x4x16..400: the model takes 1x4x21..400"
    assert shapes.narrowed(methods, {"forward": program}, {"forward": lowered(400)}, [bounds]) == [by_model]
    assert shapes.narrowed(methods, {"forward": program}, {"forward": lowered(256)}, [bounds]) == [
        by_model,
        "input 0 of forward has a largest shape of [1, 4, 400], and of [1, 4, 256] after ExecuTorch's lowering",
    ]
    for most in (400, 256):
        cases = shapes.cases("forward", methods["forward"], program, lowered(most))
        assert [case.args[0].shape[-1] for case in cases] == [200, 21, most]
    wide = shapes.parse_bounds("sound=1x4x21..400")
    methods = shapes.with_bounds("sound", {"forward": model}, [wide])
    program = lower.trace(methods["forward"])
    assert shapes.narrowed(methods, {"forward": program}, {"forward": lowered(400)}, [wide]) == []
