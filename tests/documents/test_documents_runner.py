"""The runner of documents itself: it has to fail where a document is wrong."""

import pytest
from documents import blocks, run, script, stray_commands

GOOD = """# A title

<!-- setup
echo made > file.txt
-->

```sh
cat file.txt
```

1. In a list:

   ```sh
   test -f file.txt
     echo indented
   ```

```sh not run: no phone here
adb devices
```

```text
Build finished: file.txt
```
"""


def test_blocks_are_read_in_order():
    found = blocks(GOOD)
    assert [(b.language, b.is_run) for b in found] == [
        ("setup", True),
        ("sh", True),
        ("sh", True),
        ("sh", False),
        ("text", False),
    ]
    assert [b.line for b in found] == [4, 8, 14, 19, 23]
    assert found[2].body == "test -f file.txt\n  echo indented\n"
    assert found[3].why_not == "no phone here"


def test_commands_are_run_and_their_failure_shows(tmp_path):
    document = tmp_path / "good.md"
    document.write_text(GOOD)
    done = run(document, tmp_path / "a")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "made\nindented\n"
    document.write_text(GOOD.replace("test -f file.txt", "test -f other.txt"))
    done = run(document, tmp_path / "b")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == "=== line 14"
    # Not only the last command of a block counts, nor the last one of a pipe.
    for wrong in ("false\ntrue", "false | cat", "etprof analyze nothing.etdump | cat"):
        document.write_text(f"```sh\n{wrong}\n```\n")
        assert run(document, tmp_path / wrong.replace("/", "_")).returncode != 0


def test_what_has_to_fail_has_to_fail(tmp_path):
    document = tmp_path / "messages.md"
    document.write_text("<!-- setup\nfails etprof analyze nothing.etdump\necho on\n-->\n")
    done = run(document, tmp_path / "a")
    assert (done.returncode, done.stdout) == (0, "on\n")
    document.write_text("<!-- setup\nfails true\necho on\n-->\n")
    done = run(document, tmp_path / "b")
    assert (done.returncode, done.stdout) == (1, "")
    assert "did not fail: true" in done.stderr


@pytest.mark.parametrize("info", ["sh not run:", "sh not run:  ", "sh skip", "text later"])
def test_a_block_that_is_not_run_says_why(info):
    with pytest.raises(ValueError, match="line 1: "):
        blocks(f"```{info}\netprof profile model.pte\n```\n")


def test_commands_in_other_blocks_are_found():
    stray = (
        "```\n# first\nbuild/etprof export --model m.py:M\n```\n```text\netprof: cannot open it\nadb: no device\n```\n"
    )
    assert stray_commands(stray) == ["3: build/etprof export --model m.py:M"]
    assert stray_commands("# Title\n\nText:\n\n    $ etprof profile model.pte\n") == ["5: $ etprof profile model.pte"]
    assert stray_commands("```yaml not run: GitHub does\nscript/bootstrap\n```\n") == []
    assert stray_commands(GOOD) == []
    assert stray_commands("```text\netprof export: net: lower failed: no kernel\n```\n") == []
    assert "adb" not in script(GOOD)
