"""The curriculum of a policy of this package: trained and evaluated from L0 to L2."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import fake_suite
import pandas as pd
import pytest
from fake_source import FakeSource
from learned_policies import read_log
from point_suite import PointSuite

from clevrskills.baselines import checkpoint
from clevrskills.baselines.policies.bc.policy import BehaviorCloning
from clevrskills.cli import main
from clevrskills.core.checkpoint import find
from clevrskills.dataset_tools.generate.command import GenerateArgs, generate
from clevrskills.errors import ClevrSkillsError
from clevrskills.evaluation.evaluate import evaluate
from clevrskills.evaluation.results import read_results
from clevrskills.jobs.pool import InlinePool
from clevrskills.suites.clevrskills.curriculum import CurriculumArgs, curriculum

STAGES = ("l0", "l1", "l2")
TRIALS = (("l0", "L0"), ("l0", "L1"), ("l1", "L1"), ("l1", "L2"), ("l2", "L2"))


@pytest.fixture(scope="module")
def levels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Demonstrations of a task of each level."""
    out = tmp_path_factory.mktemp("curriculum") / "demos"
    args = GenerateArgs(tasks=("reach", "visit", "tour"), episodes=2, out=out)
    assert generate(args, FakeSource({})) == 0
    return out


@pytest.fixture(autouse=True)
def inline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Evaluations in this process: quick."""
    monkeypatch.setattr("clevrskills.jobs.work.open_pool", lambda _, make, *rest: InlinePool(make))
    monkeypatch.setattr(fake_suite, "LEVELS", {"reach": "L0", "visit": "L1", "tour": "L2"})


@pytest.fixture
def trainings(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Trainings in this process, too; their commands."""
    commands: list[list[str]] = []

    def run(words: list[str], **_: object) -> SimpleNamespace:
        assert words[:3] == [sys.executable, "-m", "clevrskills"]
        commands.append(words[3:])
        return SimpleNamespace(returncode=main([*words[3:], "--save-every", "1", "--workers", "0"]))

    monkeypatch.setattr(subprocess, "run", run)
    return commands


def asked(demos: Path, out: Path, **more: object) -> CurriculumArgs:
    given = {
        "policy": "bc",
        "data": (demos,),
        "configuration": "tiny",
        "set": ("batch_size=2", 'cameras=["base_camera"]'),
        "steps": (2,),
        "episodes": 1,
        "prompt": ("multimodal",),
        **more,
    }
    return CurriculumArgs(out=out, **given)  # type: ignore[arg-type]


def run(args: CurriculumArgs) -> int:
    suite = PointSuite()
    return curriculum(args, suite, partial(evaluate, suite=suite))


@pytest.mark.slow
def test_from_l0_to_l2(
    levels: Path,
    tmp_path: Path,
    trainings: list[list[str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """L1 is killed at its second step; run again, it goes on from its first."""
    args = asked(
        *(levels, tmp_path / "out"),
        set=("batch_size=2",),
        steps=(2, 2, 2),
        train="--log-every 1 --bf16",
    )
    loss, calls = BehaviorCloning.loss, 0

    def killed(self, batch):  # type: ignore[no-untyped-def]
        nonlocal calls
        calls += 1
        if calls == 4:
            raise KeyboardInterrupt
        return loss(self, batch)

    monkeypatch.setattr(BehaviorCloning, "loss", killed)
    with pytest.raises(ClevrSkillsError, match="the training of l1 failed with exit code 130"):
        run(args)
    folders = [args.out / "checkpoints/multimodal" / stage for stage in STAGES]
    assert find(folders[0]).name == "00000002"
    assert find(folders[1]).name == "00000001"
    assert [c[c.index("--level") + 1] for c in trainings] == ["L0", "L1"]

    monkeypatch.setattr(BehaviorCloning, "loss", loss)
    assert run(args) == 0
    assert [c[c.index("--level") + 1] for c in trainings] == ["L0", "L1", "L1", "L2"]
    abouts = [checkpoint.describe(find(folder)) for folder in folders]
    assert [about.provenance["tasks"] for about in abouts] == [["reach"], ["visit"], ["tour"]]
    assert [about.provenance["from"] for about in abouts] == [None, *map(str, folders[:2])]
    assert {about.spec.observation.prompt for about in abouts} == {"multimodal"}
    for stage, level in TRIALS:
        for split in ("train", "test"):
            folder = args.out / "evaluations" / f"multimodal-{stage}-on-{level}-{split}"
            (result,) = read_results(folder)
            assert (result.level, result.split, result.counts) == (level, split, True)

    data = pd.read_csv(args.out / "tables.csv")
    ours = data[data["numbers"] == "here"]
    assert set(ours["model"].str.split(",").str[0]) == {"bc tiny"}
    # 2 demonstrations of each level so far; each level was trained for the steps of its stage
    trained = "open (6 demonstrations), 2+2+2 steps, 0.0 h"
    assert set(ours["training"]) == {trained} and trained in (args.out / "index.html").read_text()
    logs = [len(read_log(folder)) for folder in folders]
    assert logs == [2, 2, 2] and all("--bf16" in command for command in trainings)
    assert len(ours) == 10 and ours[["success", "reward", "reward_per_step"]].notna().all(axis=None)
    assert (args.out / "index.html").is_file()

    assert run(args) == 0  # nothing is left to do
    assert len(trainings) == 4


def test_words_alone(levels: Path, tmp_path: Path, trainings: list[list[str]]) -> None:
    args = asked(levels, tmp_path / "out", prompt=("language",), steps=(1,))
    assert run(args) == 0
    assert len(trainings) == 3
    about = checkpoint.describe(find(args.out / "checkpoints/language/l2"))
    assert about.spec.observation.prompt == "language"
    assert about.config.cameras == ("base_camera",)


def test_both_forms_of_the_prompt(
    levels: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(asked(levels, tmp_path / "out", prompt=(), plan=True, json=True)) == 0
    steps = json.loads(capsys.readouterr().out)
    trained = [(step["stage"], step["prompt"]) for step in steps if step["does"] == "train"]
    assert trained == [(stage, form) for stage in STAGES for form in ("multimodal", "language")]
    assert sum(step["missing"] for step in steps if step["does"] == "evaluate") == 20


@pytest.mark.slow
def test_trainings_are_processes_of_their_own(levels: Path, tmp_path: Path) -> None:
    (tmp_path / "{demos}").symlink_to(levels)
    assert run(asked(tmp_path / "{demos}", tmp_path / "out", steps=(1,))) == 0
    assert find(tmp_path / "out/checkpoints/multimodal/l2").name == "00000001"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"policy": None, "data": ()}, "give either a TOML file or a policy with --policy"),
        ({"table": Path("t.toml")}, "give either a TOML file or a policy with --policy"),
        ({"data": ()}, "there is no training data: give a folder with --data"),
        ({"steps": (0,)}, "steps must be one or three positive integers, not '0'"),
        ({"steps": (1, 2)}, "steps must be one or three positive integers, not '1 2'"),
        ({"train": "--seed '1"}, "--train cannot be read: No closing quotation"),
        ({"train": "--level L1"}, "--train: the curriculum sets --level; leave it out"),
        ({"table": Path("t.toml"), "policy": None, "data": ()}, "--configuration requires"),
    ],
)
def test_bad_arguments(levels: Path, tmp_path: Path, changes: dict, message: str) -> None:
    with pytest.raises(ClevrSkillsError, match=message):
        run(asked(levels, tmp_path / "out", **changes))
    assert not (tmp_path / "out").exists()


def test_demonstrations_without_a_level(
    demos: Path, tmp_path: Path, trainings: list[list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    """What L1 allows is done before L2 fails."""
    with pytest.raises(ClevrSkillsError, match="the training of l2 failed with exit code 2"):
        run(asked(demos, tmp_path / "out", steps=(1,)))
    assert "unknown level of the demonstrations 'L2'; allowed: L0, L1" in capsys.readouterr().err
    assert (tmp_path / "out/evaluations/multimodal-l1-on-L2-test").is_dir()
