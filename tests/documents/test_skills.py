"""The skills: the files that agents load are well-formed, all commands work in one workspace, every verification can fail.

The tests run the skills in one workspace, in the order in which each names the next, as an agent would. The setups in
blocks.yaml provoke every error message that a skill explains (`fails`), and etprof's output must contain it.
"""

import dataclasses
import pathlib
import re
import shutil
import subprocess

import pytest
import yaml
from documents import ROOT, Marks, blocks, find_marks, run_in, script, workspace

SKILLS = ROOT / "skills"
NAMES = [
    "setup-workspace",
    "build-runners",
    "export-model",
    "run-profiling",
    "analyze-results",
    "validate-workflow",
    "report-generation",
    "onboard-edgetam",
]
SECTIONS = [
    "When to use",
    "Prerequisites",
    "Steps",
    "Expected outputs",
    "Verification",
    "Failure handling",
    "Next skill",
]


def read_skill(name: str) -> str:
    return (SKILLS / name / "SKILL.md").read_text()


def marks(name: str) -> Marks:
    return find_marks(SKILLS / name / "SKILL.md")


def runs(name: str, section: str) -> list[str]:
    """Returns the commands of a section, block by block."""
    no_setups = dataclasses.replace(marks(name), setups=())
    found = blocks(sections(read_skill(name))[section], no_setups)
    return [block.body for block in found if block.is_run]


def front_matter(text: str) -> dict:
    """Returns the front matter, between the two lines of --- at the top."""
    match = re.match(r"---\n(.*?)^---$", text, re.M | re.S)
    assert match is not None, "no front matter"
    return yaml.safe_load(match[1])


def sections(text: str) -> dict[str, str]:
    """Returns the text below each second-level heading, in order. Lines of code blocks are not headings."""
    fences = [range(*match.span()) for match in re.finditer(r"^ *```.*?^ *```", text, re.M | re.S)]
    titles = [m for m in re.finditer(r"^## (.*)$", text, re.M) if not any(m.start() in fence for fence in fences)]
    ends = [*(title.start() for title in titles[1:]), len(text)]
    return {title[1]: text[title.end() : end] for title, end in zip(titles, ends, strict=True)}


def find_next_skill(text: str) -> str:
    """Returns the first skill that the last section links to."""
    match = re.search(r"\]\(\.\./([\w-]+)/SKILL\.md\)", sections(text)["Next skill"])
    assert match is not None, "names no next skill"
    return match[1]


def messages(text: str) -> list[str]:
    """Returns etprof's messages in the table of failures: the code in the first column."""
    rows = re.findall(r"^\| (`+)(.+?)\1 \|", sections(text)["Failure handling"], re.M)
    return [message.strip() for _, message in rows]


def contains_message(message: str, output: str) -> bool:
    """Returns whether a line of the output contains a message, in which … stands for any text."""
    pattern = ".*".join(re.escape(part) for part in re.split(r"\s*…\s*", re.sub(r"\s+", " ", message)))
    return any(re.search(pattern, re.sub(r"\s+", " ", line)) for line in output.splitlines())


def test_every_skill_is_in_the_catalog():
    assert sorted(path.parent.name for path in SKILLS.glob("*/SKILL.md")) == sorted(NAMES)
    catalog = (SKILLS / "README.md").read_text()
    assert re.findall(r"^\| \d \| \[([\w-]+)\]\(\1/SKILL\.md\)", catalog, re.M) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_front_matter_is_well_formed(name):
    text = read_skill(name)
    matter = front_matter(text)
    assert set(matter) == {"name", "description"}
    assert matter["name"] == name
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name) and len(name) <= 64
    assert 100 < len(matter["description"]) < 1024
    assert "Use " in matter["description"], "says what it does, not when to use it"
    assert not re.search(r"[<>]", matter["description"]), "agents put it between tags"
    assert len(text.splitlines()) < 500


@pytest.mark.parametrize("name", NAMES)
def test_its_sections(name):
    found = sections(read_skill(name))
    assert [title for title in found if title in SECTIONS] == SECTIONS
    for title in ("Prerequisites", "Verification"):
        assert runs(name, title), f"{title}: nothing is run"
    assert messages(read_skill(name)), "explains no failure"


def test_each_names_the_next():
    order = ["setup-workspace"]
    while (following := find_next_skill(read_skill(order[-1]))) not in order:
        order.append(following)
    assert order == NAMES


@dataclasses.dataclass
class Chain:
    """The workspace in which the skills ran, one after the other, and the result of each."""

    folder: pathlib.Path
    completed: dict[str, subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def chain(tmp_path_factory) -> Chain:
    folder = workspace(tmp_path_factory.mktemp("skills") / "workspace")
    completed = {}
    for name in [*NAMES, "README.md"]:
        commands = script((SKILLS / name).read_text()) if name == "README.md" else script(read_skill(name), marks(name))
        completed[name] = run_in(folder, commands)
        if completed[name].returncode != 0:
            break
    return Chain(folder, completed)


@pytest.mark.parametrize("name", [*NAMES, "README.md"])
def test_its_commands_work_after_those_before(chain, name):
    assert name in chain.completed, "one before it failed"
    completed = chain.completed[name]
    assert completed.returncode == 0, f"{name}: {completed.stdout[-2000:]}\n{completed.stderr[-2000:]}"


@pytest.mark.parametrize("name", NAMES)
def test_its_messages_are_etprofs_own(chain, name):
    assert name in chain.completed, "one before it failed"
    output = chain.completed[name].stdout + chain.completed[name].stderr
    assert [message for message in messages(read_skill(name)) if not contains_message(message, output)] == []


RUN = "out_toy_cnn/runs/isa"
STEM = "toy_cnn_xnnpack_fp32"
REMOVE_OUTPUTS = "rm -rf out_* executorch models/edgetam_encoder"
CHANGED = "import json, pathlib, sys; p = pathlib.Path('{file}'); d = json.loads(p.read_text()); {change}; p.write_text(json.dumps(d))"


def edit_command(file: str, change: str) -> str:
    """Returns a command that changes the JSON `d` of a file."""
    return f'python3 -c "{CHANGED.format(file=file, change=change)}"'


# Commands that damage the workspace of the whole chain. The skill's verification must then fail.
DAMAGES = {
    "setup-workspace": ["rm build/etprof", "sed -i '2i export ETPROF_RUNNER=/nowhere' build/etprof"],
    "build-runners": [
        REMOVE_OUTPUTS,
        "sed -i '2i export ETPROF_RUNNER=/nowhere' build/etprof",
        "echo >> executorch/cmake-out/native/executor_runner",
        "cp executorch/cmake-out/native/etprof-build.json executorch/cmake-out/native-xnnlog",
    ],
    "export-model": [
        REMOVE_OUTPUTS,
        f"cp tests/data/toy_cnn.pte out_toy_cnn/artifacts/{STEM}.pte",
        f"rm out_toy_cnn/artifacts/{STEM}.pte.etrecord",
        edit_command(f"out_toy_cnn/artifacts/{STEM}.pte.json", "d['check']['verdict'] = 'fail'"),
        edit_command(f"out_toy_cnn/artifacts/{STEM}.pte.json", "d['delegation'][0]['delegated_share_of_macs'] = 0.5"),
    ],
    "run-profiling": [
        REMOVE_OUTPUTS,
        f": > {RUN}/isa_on/{STEM}_isa_on_t1.etdump",
        f"sed -i '$d' {RUN}/isa_off/{STEM}_isa_off_t1_latency.csv",
        edit_command(f"{RUN}/manifest.json", "d['status'] = 'interrupted'"),
        edit_command(f"{RUN}/manifest.json", "d['schedule']['interleaved'] = False"),
        edit_command(f"{RUN}/manifest.json", "d['results'][0]['error'] = 'the runner exited with 1'"),
        edit_command("out_toy_cnn/runs/kernels/manifest.json", "d['results'][0]['trace_enabled'] = False"),
    ],
    "analyze-results": [
        REMOVE_OUTPUTS,
        edit_command(f"{RUN}/analysis_summary.json", "d['experiments'][0]['groups']['rows'][0]['total_ns'] += 1"),
        edit_command(
            f"{RUN}/analysis_summary.json",
            "d['comparisons'][0]['latency'] |= {'verdict': 'faster', 'ratio_low': 0.9, 'ratio_high': 1.2}",
        ),
        edit_command(f"{RUN}/analysis_summary.json", "d['experiments'][1]['emulated'] = True"),
        f"sed -i '$d' {RUN}/isa_on/{STEM}_isa_on_t1_exec_ops_stats.csv",
        "rm out_toy_cnn/trace.pftrace",
        "head -n 1 out_toy_cnn/operators.csv > short && mv short out_toy_cnn/operators.csv",
    ],
    "validate-workflow": [
        REMOVE_OUTPUTS,
        f"head -c 3000 {RUN}/isa_on/{STEM}_isa_on_t1.etdump > cut && mv cut {RUN}/isa_on/{STEM}_isa_on_t1.etdump",
        "echo 'all is well' > out_toy_cnn/damaged.csv",
        edit_command("out_toy_cnn/quick_test.json", "d['passed'] = False"),
        edit_command("out_toy_cnn/itself.json", "d['result'] = 'fail'"),
    ],
    "report-generation": [
        REMOVE_OUTPUTS,
        f"cp out_quick_test/runs/quick_test/report.html {RUN}",
        f"sed -i -E '/^\\*\\*/s/faster|slower|same|inconclusive|contended/unsure/' {RUN}/report.md",
        # A contended comparison has no interval to change.
        r"sed -i -E '/^\*\*/{s/[0-9.]+\\?\]/99999]/;t;s/$/ [1.00, 2.00]/}' out_toy_cnn/brief.md",
        "sed -i '2s/,[^,]*$//' out_toy_cnn/latency.csv",
        edit_command("out_toy_cnn/devices.json", "d['devices'].pop()"),
    ],
    "onboard-edgetam": [
        REMOVE_OUTPUTS,
        "cp out_edgetam/artifacts/edgetam_xnnpack_fp32.pte.json"
        " out_edgetam_encoder/artifacts/edgetam_encoder_xnnpack_fp32.pte.json",
        "cp out_edgetam/artifacts/edgetam_xnnpack_fp32.pte"
        " out_edgetam_encoder/artifacts/edgetam_encoder_xnnpack_fp32.pte",
        ": > out_edgetam_encoder/runs/rewritten/edgetam_encoder/*_t1.etdump",
    ],
}

# No verification reads these files, so they are not copied for each damage.
NOT_VERIFIED = shutil.ignore_patterns(".git", "out_ci", "out_setup_check", "out_wrong", "damaged", "itself", "previous")


@pytest.mark.parametrize("name", NAMES)
def test_its_verification_can_fail(chain, tmp_path, name):
    assert len(chain.completed) == len(NAMES) + 1, "the chain did not come to its end"
    commands = runs(name, "Verification")

    def failing_after(damage: str) -> set[int]:
        folder = tmp_path / "workspace"
        shutil.copytree(chain.folder, folder, symlinks=True, ignore=NOT_VERIFIED)
        subprocess.run(["/bin/bash", "-euc", damage], cwd=folder, check=True)
        failing = {i for i, command in enumerate(commands) if run_in(folder, command).returncode != 0}
        shutil.rmtree(folder)
        return failing

    assert failing_after("true") == set(), "a copy without damage"
    damages_found = set()
    for damage in DAMAGES[name]:
        failing = failing_after(damage)
        assert failing, f"{damage}: nobody noticed"
        damages_found |= failing
    assert damages_found == set(range(len(commands))), "a block of the verification did not fail whatever happened"


def test_messages_are_matched_line_by_line():
    assert contains_message("etprof: …: no such file", "x\netprof: /a b/c.pte: no such file\n")
    assert contains_message("missing …: gone", "  missing    runner   a: gone")
    assert not contains_message("etprof: …: no such file", "etprof: a: no\nsuch file")
    assert not contains_message("etprof: a.pte: no such file", "etprof: axpte: no such file")
