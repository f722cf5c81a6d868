"""The examples in --help work in a folder that contains the files that they name."""

import re
import shutil

import pytest
from documents import ROOT, run_commands

EXAMPLES = dict(
    re.findall(r"^## ([\w-]+)\n\n.*\n\n```\n(.*)\n```$", (ROOT / "docs/reference/cli.md").read_text(), re.M)
)
NOT_RUN = {
    "bisect": "takes a repository: tests/measure/test_bisect.py has one",
    "build": "compiles a runner: tests/devices does that, from an empty folder",
    "devices": "asks a board: tests/devices has one",
    "accuracy": "takes PyTorch a minute: python/tests/accuracy does it",
    "export": "takes PyTorch 20 seconds: README.md's first commands do it",
    "generate": "takes a language model: tests/runner/test_generate.py has one",
    "versions": "measures three releases for two minutes: tests/runner/test_runtimes.py does it for seconds",
}
# In `isa`, the machine's peaks at each level and number of threads take nearly all of the time. tests/measure/test_ladder.py
# measures them at each level, and the example of `peaks` with two threads.
SCRIPTED_PEAKS = """cat > runner <<'END'
#!/bin/sh
case " $* " in *" --measure-peaks "*) exec "$TESTS/measure/fake_worker.py" "$@" ;; esac
exec "$TESTS/../build/etprof-runner" "$@"
END
chmod +x runner"""


def test_every_command_has_one():
    assert len(EXAMPLES) >= 17
    assert NOT_RUN.keys() < EXAMPLES.keys()


@pytest.mark.parametrize("command", sorted(EXAMPLES.keys() - NOT_RUN.keys()))
def test_it_works(command, measured, tmp_path):
    artifacts = {"out_mobilenet_v3_small": "mobilenet_v3_small", "out_toy_cnn": "toy_cnn"}
    prepare = [f"mkdir -p {folder}/artifacts {folder}/runs" for folder in artifacts]
    prepare += [f"cp $MODEL {folder}/artifacts/{name}_xnnpack_fp32.pte" for folder, name in artifacts.items()]
    prepare += [f"cp -r $RUN {folder}/runs/{name}" for folder in artifacts for name in ("linux-x86_64", "mac")]
    prepare += [f"cp $MODEL {name}.pte" for name in ("main", "change", "model")]
    prepare += [
        f"cp $TESTS/data/sme2_emulated/toy_cnn.{variant}.etdump {variant}.etdump" for variant in ("sme2_off", "sme2_on")
    ]
    prepare += ["export GITHUB_STEP_SUMMARY=$PWD/summary.md"]
    if command == "history":  # HEAD needs a checkout
        prepare += ["git init -q", "git -c user.name=a -c user.email=a@example.com commit -q --allow-empty -m x"]
    example = EXAMPLES[command]
    if command == "isa":
        prepare += [SCRIPTED_PEAKS]
        example += " --runner ./runner"
    # 5 (inconclusive) is accepted, because two seconds on a shared machine may be too short. The test checks that it runs.
    allowed = " || [ $? = 5 ]" if command == "check" else ""
    completed = run_commands("\n".join([*prepare, example + allowed]), tmp_path, measured)
    assert completed.returncode == 0, f"{example}\n{completed.stdout[-2000:]}\n{completed.stderr[-2000:]}"
    shutil.rmtree(tmp_path)
