"""DAgger: policy and oracle in turns, and training on their episodes."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from fabricated import outcomes, write_run
from fake_source import SIZE, FakeEnv, FakeFilm, FakeOracle, FakeSource, FakeStart

from clevrskills.baselines import checkpoint, load
from clevrskills.baselines.data.sources import open_source
from clevrskills.baselines.data.windows import DemonstrationFilter, Windows
from clevrskills.baselines.training.dagger import DaggerArgs, dagger
from clevrskills.baselines.training.dagger_rollout import DaggerOracle, DaggerSuite
from clevrskills.baselines.training.train import TrainArgs, train
from clevrskills.core.checkpoint import CONFIG_FILE, find
from clevrskills.core.env_config import EnvConfig
from clevrskills.core.policy import ObservationOptions
from clevrskills.dataset_tools import Dataset
from clevrskills.dataset_tools.layout import POLICY
from clevrskills.errors import ClevrSkillsError
from clevrskills.evaluation.evaluate import EvaluateArgs
from clevrskills.jobs.pool import InlinePool
from clevrskills.sim.robots.delta_action import DELTA


@pytest.fixture(autouse=True)
def inline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything in this process: quick."""
    monkeypatch.setattr("clevrskills.jobs.work.open_pool", lambda _, make, *rest: InlinePool(make))


@dataclass(frozen=True)
class Leaf:
    """A leaf of the fake goal."""

    text: str
    name = "reached"

    def describe(self, world: None) -> str:
        return self.text


class WatchedEnv(FakeEnv):
    """Draws what a policy is shown, and has a goal that can be asked."""

    world = None

    @property
    def goal(self) -> Any:
        leaves = [Leaf(node["text"]) for node in self.nodes[1:]]
        later = [*leaves, None]
        return SimpleNamespace(
            to_json=FakeEnv.goal.to_json,
            leaves=lambda: leaves,
            next_leaf=lambda _: later[self.reached],
        )

    def __init__(self, config: EnvConfig) -> None:
        super().__init__(config)
        self._film = FakeFilm(config)

    def reset(self, *, options: dict[str, Any]) -> tuple[None, dict]:
        self.steps = 0
        result = super().reset(options=options)
        self._film.open(self.scene_description())
        return result

    def step(self, action: np.ndarray) -> tuple:
        self.steps += 1
        return super().step(action)

    @property
    def elapsed_steps(self) -> torch.Tensor:
        return torch.tensor([self.steps])

    def capture(self) -> dict[str, np.ndarray]:
        self._film.draw(self.proprioception()["qpos"], self.object_poses(), self.textures)
        return {name: view.color for name, view in self._film.views().items()}


class WatchedSource(FakeSource):
    def make(self, config: EnvConfig) -> Any:
        return WatchedEnv(config)


def turns(folder: Path) -> DaggerSuite:
    return DaggerSuite(folder, WatchedSource({}))


class Drifter:
    """Moves along the diagonal; counts how often it is asked."""

    observation = ObservationOptions(("base_camera", "hand_camera"), history=2)
    concurrency = "batched"

    def reset(self, prompts: dict) -> None:
        assert set(prompts) == {0} and prompts[0].images
        self.steps: list[int] = []

    def act(self, observations: dict) -> dict:
        assert observations[0]["images"]["hand_camera"].shape == (2, SIZE, SIZE, 3)
        self.steps.append(observations[0]["step"])
        return {0: np.full((3, 7), 0.3, np.float32)}


class GivesUp(FakeOracle):
    """Says that its second action of each turn came to nothing."""

    def act(self) -> np.ndarray:
        action = super().act()
        self.failed = [(1, 2)] if self.calls > 1 else []
        return action


def play(steps: int = 60) -> tuple[list[np.ndarray], list[str], DaggerOracle, Drifter]:
    config = EnvConfig("visit", "train", cameras=Drifter.observation.cameras)
    env, policy = WatchedEnv(config), Drifter()
    turns = DaggerOracle(env, policy, GivesUp(env, {}, 0.0), DELTA)  # type: ignore[arg-type]
    env.reset(options={"episode": FakeStart("visit", "train", 4)})
    turns.reset()
    actions, who = [], []
    for _ in range(steps):
        if env.reached == 2:
            break
        actions.append(turns.act())
        who.append(turns.skill)
        env.step(actions[-1])
    return actions, who, turns, policy


def test_turns() -> None:
    actions, who, turns, policy = play()
    assert who[0] == POLICY and "move" in who and len(who) < 60
    drifted = [bool(np.all(action == np.float32(0.3))) for action in actions]
    assert drifted == [name == POLICY for name in who]
    marked = {step for start, stop in turns.failed for step in range(start, stop)}
    mine = {step for step, name in enumerate(who) if name == POLICY}
    starts = [k for k in range(1, len(who)) if who[k] != POLICY and who[k - 1] == POLICY]
    second = {k + 1 for k in starts if k + 1 < len(who) and who[k + 1] != POLICY}
    assert starts and marked == mine | second
    # in its own turns it executes its chunks, in the oracle's it watches every step
    watched = {step for step, name in enumerate(who) if name != POLICY}
    assert watched <= set(policy.steps)
    again, *_ = play()
    assert all(np.array_equal(a, b) for a, b in zip(actions, again, strict=True))


@pytest.fixture(scope="module")
def trained(demos: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("dagger") / "first"
    args = TrainArgs(
        policy="bc", configuration="tiny", data=(demos,), out=out, steps=2, workers=0, cpu=True
    )
    assert train(args) == 0
    return out


def args_for(trained: Path, demos: Path, out: Path, **more: object) -> DaggerArgs:
    given = {"episodes": 2, "steps": 2, "cpu": True, "load_workers": 0, **more}
    return DaggerArgs(from_=trained, data=(demos,), out=out, **given)  # type: ignore[arg-type]


@pytest.mark.slow
def test_rounds(trained: Path, demos: Path, tmp_path: Path) -> None:
    args = args_for(trained, demos, tmp_path / "out", rounds=2)

    assert dagger(args, turns) == 0
    seeds = []
    for number in (1, 2):
        made = Dataset(args.out / f"round_{number}/demos")
        assert {episode.info["task"] for episode in made} == {"reach", "visit"}
        seeds += [episode.info["seed"] for episode in made.filter(task="visit")]
        for episode in made:
            mine = (episode.steps["skill"] == POLICY).to_numpy()
            assert mine[0] and not mine.all()
            assert episode.steps["failed"].to_numpy()[mine].all()
        about = checkpoint.describe(find(args.out / f"round_{number}/training"))
        assert len(about.provenance["data"]) == 1 + number
    assert len(set(seeds)) == 4
    assert about.provenance["from"].endswith("round_1/training")
    before = {p: p.stat().st_mtime_ns for p in args.out.rglob("*.safetensors")}
    assert dagger(args, turns) == 0
    assert {p: p.stat().st_mtime_ns for p in args.out.rglob("*.safetensors")} == before


def test_steps_of_the_policy_are_not_learned(trained: Path, demos: Path, tmp_path: Path) -> None:
    args = args_for(trained, demos, tmp_path / "out", task=("visit",))
    assert dagger(args, turns) == 0
    root = args.out / "round_1/demos"
    config = load(trained, "cpu").config
    windows = Windows(
        [open_source(root, config.cameras)],
        config,
        DemonstrationFilter(),
        load(trained, "cpu").tokenizer,
    )
    learned = int(windows[range(len(windows))].action_mask[..., 0].sum())
    steps = [episode.steps for episode in Dataset(root)]
    assert learned == sum(int((~s["failed"]).sum()) for s in steps) > 0
    assert learned < sum(map(len, steps))


def with_provenance(trained: Path, folder: Path, **changes: Any) -> Path:
    """Copy a checkpoint with some entries of its provenance changed; ``None``: without it."""
    shutil.copytree(find(trained), folder)
    path = folder / CONFIG_FILE
    about = json.loads(path.read_text())
    provenance = {**about["provenance"], **changes}
    about["provenance"] = {k: v for k, v in provenance.items() if v is not None}
    path.write_text(json.dumps(about))
    return folder


def test_new_tasks_are_learned_and_earlier_ones_need_no_demonstrations(
    trained: Path, demos: Path, tmp_path: Path
) -> None:
    first = with_provenance(trained, tmp_path / "a", tasks=["reach"], earlier_tasks=["sort"])
    args = args_for(first, demos, tmp_path / "new", task=("visit",))
    assert dagger(args, turns) == 0
    assert {e.info["task"] for e in Dataset(args.out / "round_1/demos")} == {"visit"}
    about = checkpoint.describe(find(args.out / "round_1/training"))
    assert about.provenance["tasks"] == ["reach", "visit"]
    second = with_provenance(trained, tmp_path / "b", tasks=["reach"], earlier_tasks=["visit"])
    args = args_for(second, demos, tmp_path / "all", episodes=1)
    assert dagger(args, turns) == 0
    assert {e.info["task"] for e in Dataset(args.out / "round_1/demos")} == {"reach", "visit"}


def test_policies_that_it_cannot_train_are_refused(
    trained: Path, demos: Path, tmp_path: Path
) -> None:
    from clevrskills.baselines.policies.compact.policy import CompactPolicy

    config, spec = CompactPolicy.configurations["tiny"], CompactPolicy.make_spec("flat")
    made = {"tasks": ["reach"], "data": [str(demos)]}
    about = checkpoint.CheckpointDescription("compact", config, spec, made)
    compact = tmp_path / "compact"
    compact.mkdir()
    checkpoint.write(compact, CompactPolicy(config, spec), about)  # type: ignore[arg-type]
    for folder in (compact, with_provenance(trained, tmp_path / "unknown", robot=None)):
        with pytest.raises(ClevrSkillsError, match=f"demonstrations with images, not {folder}"):
            dagger(args_for(folder, demos, tmp_path / "out"))
    assert not (tmp_path / "out").exists()


def test_before_and_after_are_compared(
    trained: Path,
    demos: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked = []

    def evaluated(request: EvaluateArgs) -> int:
        asked.append(request)
        solved = 2 * len(asked)
        write_run(request.out, outcomes("trace", [k < solved for k in range(6)]))
        return 0

    monkeypatch.setattr("clevrskills.baselines.training.dagger.evaluate", evaluated)
    args = args_for(trained, demos, tmp_path / "out", task=("visit",), evaluate_episodes=6)
    assert dagger(args, turns) == 0
    before, after = asked
    assert (before.tasks, before.episodes, before.split) == (("visit",), 6, ("val",))
    assert before.policy.startswith(f"checkpoint:{trained}")
    assert "round_1/training/checkpoints" in after.policy
    shown = capsys.readouterr().out
    assert "McNemar" in shown and "+33.3" in shown


def test_bad_arguments(trained: Path, demos: Path, tmp_path: Path) -> None:
    with pytest.raises(ClevrSkillsError, match="--rounds must be at least 1, not 0"):
        dagger(args_for(trained, demos, tmp_path, rounds=0))
    for bad, message in (
        ({"load_workers": -1}, "--load-workers must be at least 0, not -1"),
        ({"evaluate_split": "dev"}, "unknown split 'dev'; allowed: train, val, test"),
        ({"set": ("wdth=3",)}, "unknown entry of BehaviorCloningConfig 'wdth'"),
    ):
        with pytest.raises(ClevrSkillsError, match=message):
            dagger(args_for(trained, demos, tmp_path, **bad))
    with pytest.raises(ClevrSkillsError, match="is not a checkpoint"):
        dagger(args_for(tmp_path, demos, tmp_path / "out"))
    with pytest.raises(ClevrSkillsError, match="unknown task 'sort'; allowed: reach"):
        dagger(
            args_for(trained, demos, tmp_path / "out", task=("sort",)),
            turns,
        )
