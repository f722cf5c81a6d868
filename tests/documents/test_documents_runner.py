"""Tests the runner of documents, which must fail for a wrong document."""

import documents
import pytest
from documents import Marks, Setup, blocks, run, script, stray_commands, wrong_marks

GOOD = """# A title

```sh
cat file.txt  # what the setup made
```

1. In a list:

   ```sh
   test -f file.txt
     echo indented
   ```

```sh
adb devices
```

```text
Build finished: file.txt
```
"""
MARKS = Marks({"adb devices": "no phone here"}, (Setup("cat file.txt", "echo made > file.txt\n"),))


def test_blocks_are_read_in_order():
    found = blocks(GOOD, MARKS)
    assert [(b.language, b.is_run) for b in found] == [
        ("setup", True),
        ("sh", True),
        ("sh", True),
        ("sh", False),
        ("text", False),
    ]
    assert [b.line for b in found] == [4, 4, 10, 15, 19]
    assert found[2].body == "test -f file.txt\n  echo indented\n"
    assert found[3].why_not == "no phone here"


def test_a_mark_of_no_block_is_found():
    assert wrong_marks(GOOD, MARKS) == []
    assert wrong_marks(GOOD.replace("adb devices", "adb shell"), MARKS) == ["adb devices"]
    assert wrong_marks(GOOD.replace("cat file.txt", "head file.txt"), MARKS) == ["cat file.txt"]
    assert wrong_marks(GOOD.replace("test -f file.txt", "adb devices"), MARKS) == ["adb devices"]
    assert wrong_marks(GOOD, Marks({}, (Setup(None, "true\n"),))) == []


def test_commands_are_run_and_their_failure_shows(tmp_path):
    completed = run(GOOD, tmp_path / "a", marks=MARKS)
    assert completed.returncode == 0, completed.stderr
    assert completed.stdout == "made\nindented\n"
    completed = run(GOOD.replace("test -f file.txt", "test -f other.txt"), tmp_path / "b", marks=MARKS)
    assert completed.returncode == 1
    assert completed.stderr.splitlines()[-1] == "=== line 10"
    # A failure of any command of a block or of a pipe counts.
    for wrong in ("false\ntrue", "false | cat", "etprof analyze nothing.etdump | cat"):
        assert run(f"```sh\n{wrong}\n```\n", tmp_path / wrong.replace("/", "_")).returncode != 0


def test_fails_requires_a_failure(tmp_path):
    fails = Marks({}, (Setup(None, "fails etprof analyze nothing.etdump\necho on\n"),))
    completed = run("", tmp_path / "a", marks=fails)
    assert (completed.returncode, completed.stdout) == (0, "on\n")
    completed = run("", tmp_path / "b", marks=Marks({}, (Setup(None, "fails true\necho on\n"),)))
    assert (completed.returncode, completed.stdout) == (1, "")
    assert "did not fail: true" in completed.stderr


@pytest.mark.parametrize("info", ["sh not run: no phone", "sh skip", "text later"])
def test_a_fence_names_its_language_and_nothing_else(info):
    with pytest.raises(ValueError, match="line 1: "):
        blocks(f"```{info}\netprof profile model.pte\n```\n")


@pytest.mark.parametrize(
    "entry", ["{not run: {a: ' '}}", "{not run: {a: null}}", "{later: []}", "{setup: [{commands: a, after: b}]}"]
)
def test_an_entry_says_why_and_nothing_unknown(entry, tmp_path, monkeypatch):
    (tmp_path / "blocks.yaml").write_text(f"README.md: {entry}\n")
    monkeypatch.setattr(documents, "MARKS", tmp_path / "blocks.yaml")
    with pytest.raises(ValueError, match=r"README\.md"):
        documents.all_marks()


def test_commands_in_other_blocks_are_found():
    stray = (
        "```\n# first\nbuild/etprof export --model m.py:M\n```\n```text\netprof: cannot open it\nadb: no device\n```\n"
    )
    assert stray_commands(stray) == ["3: build/etprof export --model m.py:M"]
    assert stray_commands("# Title\n\nText:\n\n    $ etprof profile model.pte\n") == ["5: $ etprof profile model.pte"]
    workflow = "```yaml\nscript/bootstrap\n```\n"
    assert stray_commands(workflow, Marks({"script/bootstrap": "GitHub does"})) == []
    assert stray_commands(workflow) == ["2: script/bootstrap"]
    assert stray_commands(GOOD, MARKS) == []
    assert stray_commands("```text\netprof export: net: lower failed: no kernel\n```\n") == []
    assert "adb" not in script(GOOD, MARKS)
