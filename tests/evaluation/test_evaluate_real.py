"""``clevrskills evaluate`` on the real tasks."""

from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from clevrskills.cli import main
from clevrskills.core.episode import FrozenHeader
from clevrskills.dataset_tools.dataset import Dataset
from clevrskills.dataset_tools.generate.command import GenerateArgs, generate
from clevrskills.envs.episode import EpisodeSpec
from clevrskills.evaluation.evaluate import EvaluateArgs, evaluate
from clevrskills.evaluation.freeze import frozen
from clevrskills.evaluation.results import EpisodeResult, read_results, read_run
from clevrskills.jobs.pool import InlinePool
from clevrskills.solvers.requirements import planner_obstacle
from clevrskills.suites.clevrskills.suite import ClevrSkillsSuite

PASSING = ("policy_s", "env_s", "wall_s", "worker", "ended", "starts")
needs_oracle = pytest.mark.skipif(planner_obstacle() is not None, reason=str(planner_obstacle()))


@pytest.fixture(autouse=True)
def inline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything in this process: quick."""
    monkeypatch.setattr("clevrskills.jobs.work.open_pool", lambda _, make, *rest: InlinePool(make))


@pytest.fixture(scope="module")
def episodes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with three frozen episodes of each of two tasks."""
    folder: Path = tmp_path_factory.mktemp("frozen")
    for task, max_steps in (("pick", 80), ("follow_order", 500)):
        specs = [EpisodeSpec.draw(task, "test", 700 + k, k) for k in range(3)]
        head = FrozenHeader(task, "test", "xarm6", len(specs), max_steps, (20,) * 3)
        frozen.write(folder, head, specs)
    return folder


def args_for(root: Path, policy: str, episodes: Path, **more: object) -> EvaluateArgs:
    given = {"tasks": ("pick",), "split": ("test",), "episodes": 3, "frozen": episodes, **more}
    return EvaluateArgs(policy=policy, out=root, **given)  # type: ignore[arg-type]


def core(root: Path) -> list[dict]:
    return [{k: v for k, v in asdict(r).items() if k not in PASSING} for r in read_results(root)]


def results(root: Path) -> list[EpisodeResult]:
    return list(read_results(root))


@pytest.mark.slow
@needs_oracle
def test_the_oracle_succeeds_and_zero_does_not(tmp_path: Path, episodes: Path) -> None:
    assert evaluate(args_for(tmp_path / "oracle", "oracle", episodes)) == 0
    for k, r in enumerate(results(tmp_path / "oracle")):
        spec = ClevrSkillsSuite(episodes).frozen("pick", "test")[k]
        assert (r.id, r.episode, r.seed) == (f"pick_test_00{k}", spec.content_hash, 700 + k)
        assert (r.level, r.cause, r.success_once, r.success_at_end) == ("L0", "success", True, True)
        assert (r.goal_fraction, r.depth, r.progress, r.max_steps) == (1.0, None, 1.0, 80)
        assert 5 < r.steps < 60 and r.total_reward > r.steps
    run = read_run(tmp_path / "oracle")
    assert run.episodes == {
        "pick_test": ClevrSkillsSuite(episodes).frozen("pick", "test").content_hash
    }
    assert run.renderer == "" and run.versions["mani_skill"]
    assert evaluate(args_for(tmp_path / "zero", "zero", episodes)) == 0
    for r in results(tmp_path / "zero"):
        assert (r.cause, r.success_once, r.goal_fraction, r.steps) == ("step limit", False, 0.0, 80)


@pytest.mark.slow
def test_the_same_in_batches_and_shards(tmp_path: Path, episodes: Path) -> None:
    policy = "fake_policies:Groper"
    assert evaluate(args_for(tmp_path / "one", policy, episodes)) == 0
    assert evaluate(args_for(tmp_path / "batch", policy, episodes, batch=3)) == 0
    for shard in ("1/2", "0/2"):
        assert evaluate(args_for(tmp_path / "shards", policy, episodes, shard=shard)) == 0
    rewards = {r["total_reward"] for r in core(tmp_path / "one")}
    assert len(rewards) == 3
    assert core(tmp_path / "one") == core(tmp_path / "batch") == core(tmp_path / "shards")


@pytest.mark.slow
@pytest.mark.render
def test_the_same_with_pictures_and_videos(tmp_path: Path, episodes: Path) -> None:
    arguments = ('cameras=["base_camera", "hand_camera"]', "size_px=64")
    policy = "fake_policies:Groper"
    for name, more in (("one", {}), ("two", {"batch": 2, "video": ("1",)})):
        args = args_for(tmp_path / name, policy, episodes, policy_arg=arguments, **more)
        args.episodes = 2
        assert evaluate(args) == 0
    assert core(tmp_path / "one") == core(tmp_path / "two")
    assert read_run(tmp_path / "one").renderer != ""
    (video,) = (tmp_path / "two/videos").iterdir()
    from clevrskills.sim.render.video import read_video

    frames = read_video(video)
    assert frames.shape == (results(tmp_path / "two")[0].steps + 1, 256, 256, 3)
    assert np.ptp(frames[0]) > 100 and not np.array_equal(frames[0], frames[-1])


@pytest.mark.slow
def test_words_alone(tmp_path: Path, episodes: Path) -> None:
    """``follow_order`` has a text prompt; it is left out of its level, but not if it is named."""
    args = args_for(tmp_path / "named", "fake_policies:Listener", episodes)
    args.tasks = ("pick", "follow_order")
    args.episodes = 1
    assert evaluate(args) == 0
    assert {r.task for r in results(tmp_path / "named")} == {"pick", "follow_order"}
    depths = {r.task: (r.depth, r.depth_of) for r in results(tmp_path / "named")}
    assert depths["pick"] == (None, None) and depths["follow_order"][0] == 0


@pytest.mark.slow
@needs_oracle
def test_replay(tmp_path: Path) -> None:
    """The recorded actions do again what they did, on the episodes of the dataset."""
    demos = tmp_path / "demos"
    given = GenerateArgs(
        tasks=("pick",), episodes=2, seed=5, out=demos, no_cameras=True, robot="panda"
    )
    assert generate(given) == 0
    for name, chunk in (("all", None), ("some", 3)):
        args = EvaluateArgs(policy=f"replay:{demos}", out=tmp_path / name, chunk=chunk)
        assert evaluate(args) == 0
        for episode, r in zip(Dataset(demos), results(tmp_path / name), strict=True):
            assert (r.seed, r.steps, r.success_once) == (episode.info["seed"], len(episode), True)
            assert r.total_reward == pytest.approx(episode.info["return"], abs=1e-9)
    assert read_run(tmp_path / "all").robot == "panda"
    args = EvaluateArgs(policy=f"replay:{demos}", out=tmp_path / "on", stop="limit")
    assert evaluate(args) == 0
    assert all(r.steps == 80 and r.success_at_end for r in results(tmp_path / "on"))


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    words = f"evaluate --policy zero touch --seed 3 --split train --episodes 1 --out {tmp_path}/a"
    assert main(words.split()) == 0
    printed = capsys.readouterr().out
    assert "touch" in printed and "0.0 [0.0, 79.3]" in printed and "Episodes end when" in printed
    assert main(f"evaluate --policy oracel touch --out {tmp_path}/b".split()) == 2
    assert capsys.readouterr().err.startswith(
        "clevrskills: unknown policy 'oracel'; did you mean oracle? allowed: "
    )
