"""`etprof diff` with programs that need no export."""

import csv
import json
from pathlib import Path

import program

TOY = program.DATA / "toy_cnn.pte"
TRACE = program.DATA / "toy_cnn.t1.etdump"
EMULATED = program.DATA / "sme2_emulated"


def test_a_program_and_itself_have_no_difference(tmp_path: Path):
    page = tmp_path / "diff.md"
    completed = program.run("diff", TOY, TOY, "--json", "--markdown", page)
    assert completed.returncode == 0, completed.stderr
    document = program.parse_with_schema("document", completed.stdout)
    assert document["answers"][0]["text"].startswith("No difference")
    tables = [part["table"] for section in document["sections"] for part in section["parts"] if "table" in part]
    assert {table["id"] for table in tables} == {
        "file_properties",
        "operators",
        "method_properties",
        "delegates",
        "weights",
    }
    assert all(table["rows"] == [] for table in tables)
    assert "No difference" in page.read_text(encoding="utf-8")


def test_weights_of_identical_files_are_known_to_be_equal(tmp_path: Path):
    portable = program.ROOT / "tests/fuzz/corpus/program/portable.pte"  # its weights have no name in the file
    other = tmp_path / "other.pte"
    other.write_bytes(portable.read_bytes() + b"\0")
    for candidate, is_unknown in ((portable, False), (other, True)):
        completed = program.run("diff", portable, candidate)
        assert completed.returncode == 0, completed.stderr
        assert ("it is not known whether the weights" in completed.stdout) == is_unknown, completed.stdout


def test_bytes_that_nothing_compares_are_a_difference_all_the_same(tmp_path: Path):
    # The last bytes of the file are weights. Their name in the file remains that of the old weights.
    other = tmp_path / "other.pte"
    content = bytearray(TOY.read_bytes())
    place = max(index for index, byte in enumerate(content) if byte != 0)
    content[place] ^= 1
    other.write_bytes(content)
    completed = program.run("diff", TOY, other)
    assert completed.returncode == 0, completed.stderr
    assert "No difference in anything that is compared, but the files' bytes differ" in " ".join(
        completed.stdout.split()
    )


def test_times_are_columns_where_both_were_measured():
    completed = program.run("diff", TOY, TOY, "--run", TRACE, "--run", TRACE, "--csv", "operators")
    assert completed.returncode == 0, completed.stderr
    header, *rows = csv.reader(completed.stdout.splitlines())
    assert any(name.startswith("difference") for name in header), header
    assert rows == []


def test_times_of_another_program_are_refused():
    (other,) = sorted(EMULATED.glob("toy_q8.sme2_on.etdump"))
    completed = program.run("diff", TOY, TOY, "--run", TRACE, other)
    assert completed.returncode == 3
    assert "not the one that ran" in program.one_error(completed.stderr)


def test_bad_input_is_one_clear_error(tmp_path: Path):
    for arguments, message in (
        ((TOY, TRACE), "is not an ExecuTorch program"),
        ((TOY, tmp_path / "nowhere.pte"), "no such file"),
        ((TOY, tmp_path), "is a folder, not a file"),
        ((TOY, TOY, "--run", TRACE), "no run measured"),
    ):
        completed = program.run("diff", *arguments)
        assert message in program.one_error(completed.stderr), message
        assert completed.returncode == 3 and completed.stdout == ""


def test_a_program_without_its_record_says_so(tmp_path: Path):
    copied = tmp_path / "alone.pte"
    copied.write_bytes(TOY.read_bytes())
    notes = json.loads(program.run("diff", copied, copied, "--json").stdout)["notes"]
    assert any("alone.pte.etrecord" in note for note in notes)
