"""Recipes: scripts can be read, call commands that exist, go on after a failure, have a page."""

import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from clevrskills_policies.cliport.turns import NOTHING, TurnWindows, read_turns

from clevrskills.cli import find_command
from clevrskills.jobs.options import parse

ROOT = Path(__file__).parents[2]
SCRIPTS = sorted((ROOT / "recipes").glob("*.sh"))
RECIPES = [file.stem for file in SCRIPTS if file.stem != "common"]
STAND_IN = Path(__file__).with_name("stand_in.py")
PROGRAMS = ("clevrskills", "lerobot-train", "git", "uv")


class Stage:
    """A folder with stand-ins for all programs, in which recipes run."""

    def __init__(self, folder: Path) -> None:
        self.out, self.notes = folder / "out", folder / "notes"
        programs = folder / "environment" / "bin"
        programs.mkdir(parents=True)
        for name in PROGRAMS:
            (programs / name).write_text(f"#!{sys.executable}\n{STAND_IN.read_text()}")
            (programs / name).chmod(0o755)
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        here = str(programs.parent)
        self._settings = {"OURS": here, "LEROBOT": here, "PORT": str(port)}
        self._settings |= {"PATH": f"{programs}:{os.environ['PATH']}", "NOTES": str(self.notes)}
        self._settings |= {"HOME": str(folder), "WORKERS": "1"}

    def run(self, recipe: str, code: int = 0, **settings: str) -> str:
        """What a recipe prints."""
        kept = {k: v for k, v in os.environ.items() if k not in ("TASKS", "LEVEL", "DATA", "STEPS")}
        done = subprocess.run(
            [ROOT / "recipes" / f"{recipe}.sh", self.out],
            env={**kept, **self._settings, **settings},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, done.stdout[-2000:] + done.stderr[-2000:]
        return done.stdout + done.stderr

    def done(self) -> set[str]:
        """Names of the stages that are done."""
        return {file.name for file in (self.out / "done").iterdir()}

    def called(self) -> list[list[str]]:
        """Command lines so far; they are forgotten then."""
        lines = self.notes.read_text().splitlines() if self.notes.exists() else []
        self.notes.write_text("")
        return [json.loads(line) for line in lines]


@pytest.fixture
def stage(tmp_path) -> Stage:
    return Stage(tmp_path)


def ours(calls: list[list[str]]) -> list[list[str]]:
    return [words[1:] for words in calls if words[0] == "clevrskills"]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda file: file.stem)
def test_script_can_be_read(script):
    subprocess.run(["bash", "-n", script], check=True)
    text = script.read_text(encoding="utf-8")
    assert os.access(script, os.X_OK) == (script.stem != "common")
    if script.stem != "common":
        assert text.startswith("#!/usr/bin/env bash\n# ") and "\nset -euo pipefail\n" in text
    assert max(map(len, text.splitlines())) <= 110


@pytest.mark.slow
@pytest.mark.parametrize("recipe", RECIPES)
def test_recipe_continues_after_a_failure_with_commands_that_exist(recipe, stage):
    steps = ["export"] if recipe != "octo" else ["train"]
    stage.run(recipe, code=1, FAILS=f"clevrskills {steps[0]}")
    assert [words[0] for words in ours(stage.called())] == ["generate", *steps]
    assert "data" in stage.done() and not {"export", "train"} & stage.done()

    printed = stage.run(recipe)
    calls = ours(stage.called())
    for command, *arguments in calls:
        parse(find_command(command)[0], arguments)
    assert [words[0] for words in calls] == [*steps, "evaluate", "report"]
    evaluation = " ".join(calls[-2])
    assert ("--prompt language" in evaluation) == (recipe != "octo")
    track = {"act": "standard-100", "octo": None}.get(recipe, "standard-100, pretrained")
    assert (f"--track {track}" in evaluation) == (track is not None)
    assert "report.html" in printed and {"data", "train", "evaluation-20"} <= stage.done()

    assert "evaluation-20 is done" in stage.run(recipe)
    assert ours(stage.called()) == [calls[-1]]
    assert "train was done with other settings" in stage.run(recipe, code=1, STEPS="7")


def test_training_with_lerobot_continues_from_its_last_checkpoint(stage):
    stage.run("act", code=1, FAILS="lerobot-train")
    last = stage.out / "train/checkpoints/last/pretrained_model/train_config.json"
    last.parent.mkdir(parents=True)
    last.write_text("{}")
    stage.called()
    stage.run("act")
    [train] = [words[1:] for words in stage.called() if words[0] == "lerobot-train"]
    assert train == [f"--config_path={last}", "--resume=true"]


@pytest.mark.slow
def test_training_of_openvla_continues_from_its_last_checkpoint(stage):
    stage.run("openvla_oft", code=1, FAILS="torchrun")
    for step in (10_000, 40_000, 50_000):
        folder = stage.out / "train" / f"run--{step}_chkpt"
        folder.mkdir(parents=True)
        if step < 50_000:  # of the last one the weights are not there yet
            (folder / "model.safetensors.index.json").write_text("{}")
    stage.called()
    stage.run("openvla_oft")
    [train] = [words for words in stage.called() if words[0] == "torchrun"]
    options = dict(zip(train, train[1:], strict=False))
    assert options["--vla_path"].endswith("run--40000_chkpt")
    assert (options["--resume"], options["--resume_step"]) == ("True", "40000")
    assert (options["--learning_rate"], options["--max_steps"]) == ("5e-5", "50005")


def test_own_data_and_tasks(stage, tmp_path):
    data = tmp_path / "demos"
    for k in range(3):
        episode = data / "touch" / f"train_{k:08}" / "episode.json"
        episode.parent.mkdir(parents=True)
        episode.write_text("{}")
    settings = {"DATA": str(data), "TASKS": "touch pick"}
    (data / "pick").mkdir()
    assert "is no dataset" in stage.run("smolvla", code=1, **settings)
    (data / "dataset.json").write_text("{}")
    settings["DATA"] = os.path.relpath(data)
    stage.run("smolvla", **settings, EPISODES="1")
    export, evaluate, _ = ours(stage.called())
    assert export[1] == f"{Path.cwd()}/{settings['DATA']}"
    assert export[-2:] == ["--task=touch", "--task=pick"]
    assert evaluate[1:3] == ["touch", "pick"]
    assert "open (3 demonstrations), pretrained" in evaluate


@pytest.mark.parametrize("recipe", RECIPES)
def test_recipe_has_a_page_that_names_its_settings(recipe):
    page = (ROOT / "docs" / "recipes" / f"{recipe}.md").read_text(encoding="utf-8")
    script = (ROOT / "recipes" / f"{recipe}.sh").read_text(encoding="utf-8")
    common = (ROOT / "recipes" / "common.sh").read_text(encoding="utf-8")
    known = set(re.findall(r"^([A-Z_]+)=\$\{\1", script + common, re.M)) | {"DEVICE", "MORE"}
    rows = re.findall(r"^\| (`[A-Z_]+`(?:, `[A-Z_]+`)*) \|", page, re.M)
    named = {name for row in rows for name in re.findall(r"[A-Z_]+", row)}
    assert named and named <= known
    assert f"recipes/{recipe}.sh" in page and "estimated" in page and "not measured" in page
    index = (ROOT / "docs" / "recipes" / "README.md").read_text(encoding="utf-8")
    assert f"({recipe}.md)" in index


@pytest.mark.slow
@pytest.mark.render
def test_turns_are_drawn_without_an_arm(tmp_path: Path) -> None:
    file, script = tmp_path / "turns.npz", ROOT / "recipes" / "lohoravens_turns.py"
    given = ["pick_place_side", "--count", "2", "--instructions", "3", "--out", str(file)]
    subprocess.run([sys.executable, str(script), *given], check=True, capture_output=True)
    turns = read_turns(file)
    assert turns.tasks == ("pick_place_side",) * 2
    assert len(turns.map) == 4 and len(turns) == 2 * (1 + 3) + 2 * (3 + 1)
    assert (turns.action[:, 0] == NOTHING).sum() == 2
    batch = TurnWindows([turns], 64, 32, augment=True, most=2)[[0]]
    assert batch.images.shape == (1, 4, 128, 256) and len(batch.words) == len(batch.scenes) <= 2
