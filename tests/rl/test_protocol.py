"""``clevrskills rl --protocol``: trainings of several tasks and seeds, and their table."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from fabricated import outcomes, write_run

from clevrskills.core.suite import all_levels, load_suite
from clevrskills.errors import ClevrSkillsError
from clevrskills.evaluation.evaluate import EvaluateArgs
from clevrskills.rl import protocol
from clevrskills.rl.command import RLArgs, rl
from clevrskills.rl.protocol import PROTOCOLS, RESULTS_FILE, curve, over_seeds, summarize
from clevrskills.rl.run import PPOConfig, read_run
from tests.rl.toy import ToyVec

SMALL = PPOConfig(rollout_steps=25, minibatch=50, hidden=(16,), gamma=0.9)
DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def evaluated(monkeypatch: pytest.MonkeyPatch) -> list[EvaluateArgs]:
    """Small trainings; evaluations that solve as many episodes as the seed says, and one more on
    the training split.
    """
    asked: list[EvaluateArgs] = []

    def evaluate(request: EvaluateArgs) -> int:
        asked.append(request)
        seed = read_run(Path(request.policy.removeprefix("rl:"))).seed
        results = [
            one
            for split, more in (("train", 1), ("test", 0))
            for one in outcomes(
                request.tasks[0],
                [k < seed + more for k in range(request.episodes)],
                split=split,
            )
        ]
        write_run(request.out, results)
        return 0

    small = {
        key: replace(settings, total_steps=400, num_envs=2, ppo=SMALL)
        for key, settings in PROTOCOLS["states"].items()
    }
    monkeypatch.setattr(protocol, "evaluate", evaluate)
    monkeypatch.setattr(protocol, "PROTOCOLS", {"states": small})
    return asked


def args_of(out: Path, **more: object) -> RLArgs:
    given = {"protocol": "states", "out": out, "seeds": (0, 2), "evaluate_episodes": 4, **more}
    return RLArgs(**given)  # type: ignore[arg-type]


def test_trainings_evaluations_and_the_table(
    tmp_path: Path,
    evaluated: list[EvaluateArgs],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[tuple[str, int]] = []

    def envs(run, workers):
        made.append((run.task, run.seed))
        return ToyVec(2)

    assert rl(args_of(tmp_path, task="pick"), envs) == 0
    assert made == [("pick", 0), ("pick", 2)]
    assert [request.tasks for request in evaluated] == [("pick",), ("pick",)]
    assert evaluated[0].policy == f"rl:{tmp_path}/pick-0/training"
    shown = capsys.readouterr().out
    assert "interquartile mean 50.0 [25.0, 75.0] % of 2 training runs, 1 of 12 tasks" in shown
    results = json.loads((tmp_path / RESULTS_FILE).read_text())
    assert [(row["task"], row["seed"]) for row in results["trainings"]] == [
        ("pick", 0),
        ("pick", 2),
    ]
    first = results["trainings"][0]
    assert first["steps"] == 400 and len(first["curve"]["steps"]) == protocol.BINS
    assert first["evaluation"]["train"] == {"successes": 1, "episodes": 4}
    assert results["interquartile_mean"]["test"]["value"] == 0.25
    # another task joins, elsewhere; what is there is not made again
    here = first["machine"]
    monkeypatch.setattr(protocol, "machine", lambda: "another")
    assert rl(args_of(tmp_path, task="push", seeds=(0,)), envs) == 0
    assert rl(args_of(tmp_path, task="pick"), envs) == 0
    assert made == [("pick", 0), ("pick", 2), ("push", 0)]
    results = json.loads((tmp_path / RESULTS_FILE).read_text())
    assert [row["task"] for row in results["trainings"]] == ["pick", "pick", "push"]
    assert [row["machine"] for row in results["trainings"]] == [here, here, "another"]
    assert np.isnan(float(results["interquartile_mean"]["test"]["low"] or "nan"))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"task": "sort"}, "sort"),
        ({"ppo": PPOConfig(gamma=0.5)}, "--gamma is set by the protocol states"),
        ({"total_steps": 5}, "--total-steps is set by the protocol"),
        ({"seed": 3}, "--seed is set by the protocol"),
        ({"arg": ("num_objects=1",)}, "--arg is set"),
        ({"seeds": ()}, "--seeds"),
        ({"evaluate_episodes": 0}, "--evaluate-episodes must be at least 1"),
    ],
)
def test_options_fixed_by_a_protocol_are_refused(
    tmp_path: Path, changes: dict, message: str
) -> None:
    with pytest.raises(ClevrSkillsError, match=message):
        rl(args_of(tmp_path / "out", **changes))
    assert not (tmp_path / "out").exists()


def test_neither_task_nor_protocol(tmp_path: Path) -> None:
    with pytest.raises(ClevrSkillsError, match="name a task, or a protocol"):
        rl(RLArgs(out=tmp_path / "out"))


def test_the_twelve_skills() -> None:
    skills = [key for key, level in all_levels(load_suite()).items() if level == "L0"]
    assert sorted(PROTOCOLS["states"]) == sorted(skills)
    for key, settings in PROTOCOLS["states"].items():
        assert settings.task == key and settings.terminate_on_success
        assert settings.obs == "state" and settings.split == "train"
        assert settings.total_steps <= 2_000_000


def test_a_curve_is_of_the_episodes_that_ended() -> None:
    lines = [
        {"steps": 10, "episode/count": 0.0},
        {"steps": 50, "episode/count": 1.0, **{f"episode/{n}": 1.0 for n in protocol.CURVES}},
        {"steps": 51, "episode/count": 3.0, **{f"episode/{n}": 0.0 for n in protocol.CURVES}},
    ]
    found = curve(lines, 100)
    assert found["success_once"][25] == 0.25 and found["return"][0] is None


def test_no_trainings_have_no_mean() -> None:
    assert summarize([]) == {}


def test_the_page_has_the_settings() -> None:
    text = (DOCS / "rl_protocol.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \| ([^|]+) \|", text, re.MULTILINE))
    assert {key: int(steps.replace(",", "")) for key, steps in rows.items()} == {
        key: settings.total_steps for key, settings in PROTOCOLS["states"].items()
    }


def test_an_interval_is_for_runs_and_episodes() -> None:
    def of(*successes: int) -> str:
        results = [{"successes": won, "episodes": 50} for won in successes]
        return over_seeds(results).percent(0)

    assert of(25) == "50 [37, 63]"  # Wilson's
    assert of(25, 25, 25) == "50 [37, 63]"  # the same episodes, three times
    assert of(0, 50, 50) == "67 [0, 100]"
    assert of(47, 45, 41) == "89 [70, 100]"
