"""Each model of export_errors.md fails with the message in docs/guides/export-errors.md. Its fix, which the guide shows,
exports and passes the check."""

import re
import sys
import textwrap
import warnings
from pathlib import Path

import pytest

from etprof.export import main
from etprof.exporting import explain
from libraries import need_libraries

GUIDE = Path(__file__).resolve().parents[3] / "docs" / "guides" / "export-errors.md"
HEAD = "import dataclasses\nimport numpy\nimport torch\nfrom torch import nn\nfrom etprof import wrappers\n"


def sections(document: Path) -> dict[str, str]:
    """Returns the sections by title."""
    parts = re.split(r"^## (.+)$", document.read_text(encoding="utf-8"), flags=re.M)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


MODELS = sections(Path(__file__).with_name("export_errors.md"))


def anchor(title: str) -> str:
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def block(section: str, language: str, text: str = "") -> str:
    (content,) = [content for content in re.findall(rf"```{language}\n(.*?)```", section, re.S) if text in content]
    return content


def export(capfd: pytest.CaptureFixture, section: str, name: str) -> tuple[int, str]:
    # Messages contain line numbers of this file. A fix inherits from the failing class.
    models = block(section, "python", "class Failing"), block(section, "python", "class Fixed")
    Path("model.py").write_text(HEAD + "\n\n".join(models))
    options = re.findall(r"^With `(--[^`]+)`:$", section, re.M)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        code = main([f"model.py:{name}", "--outdir", "out", *(options[0].split() if options else [])])
    return code, capfd.readouterr().err


def without_library_lines(message: str) -> str:
    """Removes line numbers of libraries, which differ between versions."""
    return re.sub(r"(transformers/\S+, line )\d+", r"\1N", message)


def test_the_guide_has_a_section_for_each():
    assert list(sections(GUIDE)) == list(MODELS)


@pytest.mark.parametrize("title", MODELS)
def test_a_model_that_fails_says_so_as_documented_and_the_fixed_one_exports(
    title: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture
):
    monkeypatch.chdir(tmp_path)
    if "transformers" in MODELS[title]:
        need_libraries()
    section = sections(GUIDE)[title]
    message = block(section, "text")
    code, err = export(capfd, MODELS[title], "Failing")
    assert without_library_lines(message) in without_library_lines(err)
    # The hint for models of a library is the section on the operator, which links to the section on the models.
    (named,) = re.findall(r"docs/guides/export-errors.md#([\w-]+)", err)
    assert named == anchor(title) or f"](#{anchor(title)})" in next(
        text for other, text in sections(GUIDE).items() if anchor(other) == named
    )
    is_note = message.startswith("  note ")
    assert code == (0 if is_note else 3)
    assert is_note or not Path("out").exists()
    code, err = export(capfd, MODELS[title], "Fixed")
    assert code == 0, err
    assert "check         passed" in err
    assert "note" not in err
    fix = textwrap.dedent(block(MODELS[title], "python", "class Fixed"))
    shown = block(section, "python").rstrip()
    assert shown in fix or textwrap.indent(shown, "    ") in re.sub(r"^ +$", "", fix, flags=re.M)


CUSTOM = """\
@torch.library.custom_op("guide::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    return x * 2


@twice.register_fake
def _(x):
    return torch.empty_like(x)


class Failing(nn.Module):
    def forward(self, x):
        return twice(x) + 1

    def get_example_inputs(self):
        return (torch.ones(1, 3),)
"""


def test_an_operator_of_the_users_own_needs_a_kernel_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture
):
    monkeypatch.chdir(tmp_path)
    Path("model.py").write_text(HEAD + CUSTOM)
    assert main(["model.py:Failing", "--outdir", "out"]) == 3
    err = capfd.readouterr().err
    assert "ExecuTorch has no kernel for guide.twice (model.py, line 18: return twice(x) + 1)" in err
    assert f"#{anchor('Operators that ExecuTorch lacks')}" in err


PADDED = """\
class InBranch(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = (nn.Conv3d(1, 2, 1) for _ in range(2))

    def forward(self, x):
        return torch.cond(x.mean() > 0, lambda y: self.a(y), lambda y: self.b(y), (x,))

    def get_example_inputs(self):
        return (torch.ones(1, 1, 2, 2, 2),)


class Sized(nn.Module):
    sign = -1

    def forward(self, x):
        return nn.functional.pad(x, (self.sign * (x.shape[1] // 4), 0))

    def get_example_inputs(self):
        return (torch.ones(1, 8),)


class Grown(Sized):
    sign = 1
"""


def test_calls_without_a_kernel_are_known_without_running_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture
):
    monkeypatch.chdir(tmp_path)
    Path("model.py").write_text(HEAD + PADDED)
    sizes = ["--input-shape", "x=1x8..32"]
    for name, cause, options in (
        ("InBranch", "a convolution in three dimensions (model.py, line 12: ", ["--backend", "portable"]),
        ("Sized", "negative padding (model.py, line 22: ", sizes),
    ):
        assert main([f"model.py:{name}", "--outdir", "out", "--no-check", *options]) == 3
        assert f"ExecuTorch has no kernel for {cause}" in capfd.readouterr().err
    assert main(["model.py:Grown", "--outdir", "out", *sizes]) == 0


def test_every_section_that_a_message_names_is_there():
    text = GUIDE.read_text(encoding="utf-8")
    titles = {anchor(title) for title in re.findall(r"^#+ (.+)$", text, re.M)}
    source = "".join(
        Path(sys.modules[f"etprof.{name}"].__file__).read_text() for name in ("export", "exporting.explain")
    )
    named = set(re.findall(r"_remedy\([^#]*?\"([a-z-]+)\"\s*,?\s*\)", source)) | set(
        re.findall(r"GUIDE\}#([a-z-]+)", source)
    )
    assert len(named) > 10
    assert named <= titles


def test_a_line_in_a_library_is_not_the_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Lines of PyTorch, etprof, and the standard library are not the user's. Lines of other installed packages are."""
    import json

    import torch

    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text("def f():\n    g(  1 )\n")
    Path("site-packages").mkdir()
    Path("site-packages/theirs.py").write_text("x\x1b = 1\n" + "y" * 200)
    frame = 'File "{}", line {}, in f'
    user_frame = frame.format(tmp_path / "mine.py", 2)
    library_frames = [frame.format(module.__file__, 3) for module in (json, torch, explain)]
    assert explain.place(None, "\n".join([user_frame, *library_frames]), with_code=True) == " (mine.py, line 2: g( 1 ))"
    assert explain.place(None, "\n".join(library_frames)) == ""
    installed_frame = frame.format(tmp_path / "site-packages" / "theirs.py", 1)
    assert explain.place(None, installed_frame, with_code=True) == " (site-packages/theirs.py, line 1: x = 1)"
    shortened = explain.place(None, installed_frame.replace("line 1", "line 2"), with_code=True)
    assert shortened.endswith("yyy...)") and len(shortened) < 130
    try:
        json.loads("{")
    except ValueError as error:
        assert "test_export_errors.py" in explain.place(error)
