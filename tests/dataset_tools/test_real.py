"""The dataset tools with the real simulation and oracle."""

import filecmp
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from clevrskills.core.env import RecordableEnv
from clevrskills.core.env_config import EnvConfig
from clevrskills.dataset_tools import Dataset, Episode
from clevrskills.dataset_tools.check.replay import replay
from clevrskills.dataset_tools.generate.command import GenerateArgs, generate
from clevrskills.dataset_tools.record.recorder import Recorder
from clevrskills.dataset_tools.record.rollout import rollout
from clevrskills.dataset_tools.render.command import RenderArgs, render
from clevrskills.envs.environment import ClevrSkillsEnv
from clevrskills.predicates import Picked, Predicate
from clevrskills.sim.robots.vacuum import Vacuum
from clevrskills.solvers import skills
from clevrskills.solvers.motion import Arm, SkillFailed
from clevrskills.solvers.oracle import Oracle
from clevrskills.solvers.skills import pick
from clevrskills.suites.clevrskills.suite import ClevrSkillsSuite

SOURCE = ClevrSkillsSuite()


def check_replay(episode: Episode, cameras: tuple[str, ...]) -> None:
    env = SOURCE.make(EnvConfig(episode.info["task"], "train", "xarm6", "paper", cameras))
    start = SOURCE.draw(episode.info["task"], "train", episode.info["seed"], wording=None)
    assert isinstance(env, RecordableEnv)
    report = replay(episode, env, start)
    assert report, str(report)
    assert report.success and report.states == len(episode) + 1


def test_recorded_actions_give_the_recorded_states(tmp_path: Path) -> None:
    args = GenerateArgs(tasks=("pick", "sort"), episodes=1, out=tmp_path, no_cameras=True)
    assert generate(args) == 0
    for episode in Dataset(tmp_path):
        check_replay(episode, cameras=())
        assert np.abs(episode.actions).max() <= 1.0
        assert episode.state_layout[-1]["stop"] == episode.states.shape[1]
        assert episode.proprioception("ee_pose").shape == (len(episode) + 1, 7)
        assert episode.steps["success"].iloc[-1] and not episode.steps["success"].iloc[:-1].any()
        for level in ("subtask", "instruction"):
            texts = [segment["plain"] for segment in episode.segments[level]]
            assert texts and all(texts) and not any("{" in text for text in texts)


def record(root: Path, task: str, seed: int = 0) -> Episode:
    """The episode of a seed, without cameras, whether it succeeds or not."""
    config = EnvConfig(task, "train", "xarm6", "paper")
    suite = SOURCE
    env = suite.make(config)
    oracle = suite.oracle(env)
    with Recorder(root, config, suite.draw(task, "train", seed), suite) as recorder:
        rollout(env, oracle, recorder)
        return Episode(recorder.commit(success=True))


def test_labels_of_an_episode(tmp_path: Path) -> None:
    episode = record(tmp_path, "sort")
    steps = episode.steps
    assert [node["predicate"] for node in episode.nodes][0] == "set"
    leaves = {node["leaf"]: node for node in episode.nodes if node["leaf"] is not None}
    for row in steps.itertuples():
        assert row.predicate == leaves[row.subgoal]["predicate"] and row.skill == "place"
        assert row.subtask_text == leaves[row.subgoal]["text"]
    order = [segment["action_class"] for segment in episode.segments["instruction"][:5]]
    assert order == ["move", "pick", "lift", "move", "place"]
    assert steps["instruction_text"].str.contains(r"\{pos:-?[0-9.]+,-?[0-9.]+,-?[0-9.]+\}").any()
    holds, terms = (np.stack(steps[name].to_list()) for name in ("holds", "terms"))
    np.testing.assert_array_equal(holds[:, 0], steps["success"])
    np.testing.assert_array_equal(terms[:, 0], steps["reward"].astype(np.float32))
    for keystep in episode.keysteps[1:]:
        node = 1 + keystep["subgoal"]
        assert holds[keystep["step"] - 1, node] and not holds[: keystep["step"] - 1, node].all()
    roles = {entry["key"]: entry["role"] for entry in episode.objects}
    assert roles["object_0"] == "goal"
    assert episode.object_poses.shape == (len(episode) + 1, len(roles), 7)
    held = np.flatnonzero(steps["holding"] & (steps["subgoal"] == steps["subgoal"][0]))
    index = list(roles).index(f"object_{steps['subgoal'][0]}")
    gap = episode.object_poses[held, index, :3] - episode.proprioception("ee_pose")[held, :3]
    assert np.linalg.norm(gap, axis=1).max() < 0.1


def test_a_grasp_that_fails_is_labelled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The vacuum fails at first: the steps until the retry are marked as failed."""
    take, blocked = Vacuum.take, [True]

    def take_late(self: Vacuum, body: int, cups: int, distance_m: float) -> None:
        if not blocked[0]:
            take(self, body, cups, distance_m)

    mark_failed = Arm.mark_failed

    def now_it_works(self: Arm, start: int) -> None:
        blocked[0] = False
        mark_failed(self, start)

    monkeypatch.setattr(Vacuum, "take", take_late)
    monkeypatch.setattr(Arm, "mark_failed", now_it_works)
    episode = record(tmp_path, "pick")
    failed = episode.steps["failed"].to_numpy()
    assert episode.steps["success"].iloc[-1] and 0 < failed.sum() < len(failed)
    assert failed[: failed.sum()].all()  # the first attempt, and nothing after it
    tries = [s for s in episode.segments["instruction"] if s["action_class"] == "pick"]
    assert [s["failed"] for s in tries] == [True, False] and [s["attempt"] for s in tries] == [0, 0]
    assert not episode.steps["holding"][failed].any()


def test_a_repeated_leaf_is_labeled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A skill that gives up, and then works: the second attempt at the same leaf."""
    solve, calls = pick.solve_picked, []

    def gives_up_once(arm: Arm, goal: Predicate) -> Iterator[np.ndarray]:
        calls.append(arm)
        if len(calls) == 1:
            arm.set_label("move", "Dither")
            yield from arm.wait(5)
            raise SkillFailed("not today")
        yield from solve(arm, goal)

    monkeypatch.setitem(skills._SKILLS, Picked, gives_up_once)
    episode = record(tmp_path, "pick")
    steps = episode.steps
    assert steps["success"].iloc[-1]
    assert list(steps["failed"]) == [True] * 6 + [False] * (len(steps) - 6)
    assert list(steps["attempt"]) == [0] * 6 + [1] * (len(steps) - 6)
    assert [s["attempt"] for s in episode.segments["subtask"]] == [0, 1]
    assert [s["failed"] for s in episode.segments["subtask"]] == [True, False]


@pytest.mark.slow
def test_every_task_is_recorded(tmp_path: Path) -> None:
    """A few steps of every task of the registry, without cameras."""
    for task in SOURCE.tasks:
        config = EnvConfig(task, "train", "xarm6", "paper")
        suite = SOURCE
        env = suite.make(config)
        oracle = suite.oracle(env)
        with Recorder(tmp_path, config, suite.draw(task, "train", 1), suite) as recorder:
            result = rollout(env, oracle, recorder, limit=4)
            assert result.turns == 4, task
            episode = Episode(recorder.commit(success=False))
        env.close()
        steps, names = episode.steps, [node["predicate"] for node in episode.nodes]
        assert set(steps["predicate"]) <= set(names), task
        assert (steps["action_class"] != "").all() and (steps["skill"] != "").all(), task
        assert len(steps["holds"][0]) == len(steps["terms"][0]) == len(names), task
        assert len(steps["object_poses"][0]) == 7 * len(episode.objects), task
        for text in [
            *steps["instruction"],
            *steps["subtask"],
            *(n["plain"] for n in episode.nodes),
        ]:
            assert text and "{" not in text, task


@pytest.mark.slow
@pytest.mark.render
def test_filmed_later_is_the_same(tmp_path: Path) -> None:
    """Repainted textures, held bodies, hinged bodies: all bytes but the manifest's."""
    tasks, roots = ("trace", "balance", "throw"), [tmp_path / name for name in "abc"]
    for root, no_cameras in ((roots[0], False), (roots[1], True)):
        args = GenerateArgs(tasks=tasks, episodes=1, out=root, no_cameras=no_cameras)
        args.segmentation = True
        assert generate(args) == 0
    assert render(RenderArgs(dataset=roots[1], out=roots[2], segmentation=True)) == 0
    for episode in Dataset(roots[0]):
        names = [path.name for path in episode.path.iterdir()]
        assert len(names) == 9
        _, different, odd = filecmp.cmpfiles(
            episode.path, roots[2] / episode.id, names, shallow=False
        )
        assert (different, odd) == ([], []), episode.id
    repainted = Dataset(roots[0]).filter(task="trace")[0]
    assert len(repainted.info["repaints"]) >= 2
    first, last = repainted.images()["keysteps/00"], repainted.keystep_images()[-1]
    assert np.abs(first.astype(int) - last).mean() > 1.0


@pytest.mark.slow
@pytest.mark.render
def test_rendered_images_equal_those_of_the_environment() -> None:
    """The same image as an observation of the simulation itself, up to rounding of poses."""
    env = ClevrSkillsEnv("sort", obs_mode="none", render_backend="cpu")
    env.reset(seed=2)
    oracle = Oracle(env)
    film = SOURCE.trajectory_renderer(
        EnvConfig("sort", "train", "xarm6", "paper", ("base_camera", "hand_camera"))
    )
    assert film is not None
    film.open(env.scene_description())
    for step in range(30):
        if step % 5 == 0:
            pictures = env.capture()
            views = film.render(env.proprioception()["qpos"], env.object_poses(), env.textures)
            for name, view in views.items():
                difference = np.abs(view.color[..., :3].astype(int) - pictures[name])
                assert (difference > 2).mean() < 1e-3, (name, step)
        env.step(oracle.act())


@pytest.mark.slow
@pytest.mark.render
def test_images_and_workers_change_nothing(tmp_path: Path) -> None:
    for name, workers, no_cameras in (("a", 1, False), ("b", 2, False), ("c", 2, True)):
        args = GenerateArgs(tasks=("place", "sort"), episodes=3, out=tmp_path / name)
        args.workers, args.no_cameras = workers, no_cameras
        assert generate(args) == 0
    for episode in Dataset(tmp_path / "a"):
        steps = len(episode)
        for camera in ("base_camera", "hand_camera"):
            assert episode.video(camera).shape == (steps + 1, 256, 256, 3)
        assert len(episode.keystep_images()) == len(episode.keysteps) >= 2
        assert set(episode.prompt_images()) == set(episode.prompt["images"])
        for other in ("b", "c"):
            names = ["states.npz", "steps.parquet"]
            if other == "b":
                names += ["episode.json", "base_camera.mp4", "hand_camera.mp4"]
            path = tmp_path / other / episode.id
            _, different, odd = filecmp.cmpfiles(episode.path, path, names, shallow=False)
            assert (different, odd) == ([], [])
    check_replay(Dataset(tmp_path / "a")[-1], cameras=("hand_camera",))
