"""Checks all Markdown files: commands run or have a reason for not running, and links have a target."""

import pathlib
import re

import pytest
from documents import ROOT, all_marks, blocks, find_marks, run, stray_commands, wrong_marks

DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("skills/**/*.md")])
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")


def relative_name(document: pathlib.Path) -> str:
    return str(document.relative_to(ROOT))


def anchors(text: str) -> set[str]:
    """Returns the anchors that GitHub gives to the headings."""
    prose = re.sub(r"^ *```.*?^ *```", "", text, flags=re.M | re.S)
    titles = re.findall(r"^#+ +(.*?)\s*$", prose, re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def find_dead_links(document: pathlib.Path) -> list[str]:
    text = re.sub(r"^ *```.*?^ *```", "", document.read_text(), flags=re.M | re.S)
    broken_links = []
    for target in LINK.findall(text):
        if re.match(r"https?://|mailto:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (document.parent / path).resolve() if path else document
        if not file.exists() or (anchor and anchor not in anchors(file.read_text())):
            broken_links.append(target)
    return broken_links


@pytest.mark.parametrize("document", DOCUMENTS, ids=relative_name)
def test_commands_are_marked_and_links_lead_somewhere(document):
    if relative_name(document) != "docs/reference/cli.md":  # test_examples.py runs its commands
        assert stray_commands(document.read_text(), find_marks(document)) == []
    assert wrong_marks(document.read_text(), find_marks(document)) == []
    assert find_dead_links(document) == []


def test_every_mark_is_of_a_document():
    assert all_marks().keys() - {relative_name(document) for document in DOCUMENTS} == set()


GENERATED = [f"docs/reference/{name}.md" for name in ("cli", "csv", "fleet", "json")]
MAX_LINE_LENGTH = 100


def long_lines(text: str) -> list[str]:
    """Returns the lines of prose that are longer than LONGEST. Tables, code, comments, and front matter may be longer, and so
    may lines with long code or links."""
    text = re.sub(r"\A---\n.*?^---$|^ *```.*?^ *```|^<!--.*?-->", "", text, flags=re.M | re.S)
    prose = [line for line in text.splitlines() if not re.match(r" {4,}\S| *\|", line)]
    unbreakable = re.compile(r"^ *- |`[^`]*`|\[[^\]]*\]\([^)]*\)")
    return [line for line in prose if len(line) > MAX_LINE_LENGTH and " " in unbreakable.sub("", line).strip()]


@pytest.mark.parametrize("document", [d for d in DOCUMENTS if relative_name(d) not in GENERATED], ids=relative_name)
def test_lines_are_short(document):
    assert long_lines(document.read_text()) == []


def test_a_long_line_is_found():
    prose = "word " * 21
    assert long_lines(f"{prose}\n| {prose} |\n```text\n{prose}\n```\n    {prose}\n<!-- {prose} -->\n") == [prose]
    assert long_lines("---\ndescription: " + prose + "\n---\n- " + prose) == ["- " + prose]
    assert long_lines("`" + prose + "`") == []


def test_a_dead_link_is_found(tmp_path):
    (tmp_path / "there.md").write_text("# A `title`, twice\n")
    document = tmp_path / "here.md"
    document.write_text(
        "[a](there.md#a-title-twice) [b](there.md#b) [c](gone.md) [d](https://example.org)\n# e\n[e](#e)"
    )
    assert find_dead_links(document) == ["there.md#b", "gone.md"]


# Each skill continues in the workspace of the previous one, so test_skills.py runs them.
RUN = [
    document
    for document in DOCUMENTS
    if ROOT / "skills" not in document.parents
    and any(block.is_run for block in blocks(document.read_text(), find_marks(document)))
]


@pytest.mark.parametrize("document", RUN, ids=relative_name)
def test_commands_work(document, measured, tmp_path):
    completed = run(document.read_text(), tmp_path, measured, find_marks(document))
    assert completed.returncode == 0, (
        f"{relative_name(document)}: {completed.stdout[-2000:]}\n{completed.stderr[-2000:]}"
    )
