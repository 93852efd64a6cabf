"""Training scenes: their labels match the world, the prompt and the goal."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from clevrskills.core.env_config import EnvConfig
from clevrskills.core.episode import SCENES
from clevrskills.core.suite import load_suite
from clevrskills.dataset_tools import Dataset
from clevrskills.dataset_tools.generate.command import GenerateArgs, generate
from clevrskills.dataset_tools.scenes.command import SceneArgs, scenes
from clevrskills.dataset_tools.scenes.drawing import acted_bodies
from clevrskills.dataset_tools.scenes.scene_set import NONE, LabeledScene, SceneHeader, SceneSet
from clevrskills.errors import ClevrSkillsError

TASKS = ("pick", "place", "move_without_hitting", "trace")
PX = 64


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four episodes of each of :data:`TASKS`. Not to be written to."""
    out = tmp_path_factory.mktemp("scenes") / "drawn"
    assert scenes(SceneArgs(tasks=TASKS, scenes=4, size=PX, out=out)) == 0
    return out


@pytest.fixture(scope="module")
def drawn(folder: Path) -> SceneSet:
    return SceneSet(folder)


@pytest.fixture(scope="module")
def demonstrations(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two demonstrations of `trace`, made without cameras. Not to be written to."""
    out = tmp_path_factory.mktemp("scenes") / "demonstrations"
    args = GenerateArgs(tasks=("trace",), episodes=2, out=out, no_cameras=True)
    assert generate(args) == 0
    return out


@pytest.fixture(scope="module")
def begun(demonstrations: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The scenes of them. Not to be written to."""
    out = tmp_path_factory.mktemp("scenes") / "begun"
    assert scenes(SceneArgs(demonstrations=demonstrations, size=PX, out=out)) == 0
    return out


def started(scene: LabeledScene) -> Any:
    """The environment of a scene's episode, just started."""
    suite, of = load_suite(), scene.episode
    env = suite.make(EnvConfig(of.task, of.split))
    env.reset(options={"episode": suite.draw(of.task, of.split, of.seed, wording=None)})
    return env


def pixels(header: SceneHeader, points: np.ndarray) -> np.ndarray:
    """World points (K, 3) in the image, by the calibration, (K, 2)."""
    camera = header.camera
    seen = np.c_[points, np.ones(len(points))] @ np.array(camera["extrinsic"]).T
    seen = seen @ np.array(camera["intrinsic"]).T
    return seen[:, :2] / seen[:, 2:]


@pytest.mark.parametrize("task", TASKS)
def test_labels_match_the_world(drawn: SceneSet, task: str) -> None:
    of_task = [scene for scene in drawn.scenes if scene.episode.task == task]
    scene, subgoal = of_task[0], of_task[0].subgoal
    env = started(scene)
    world, bodies = env.world, env.scene_description()["bodies"]
    assert scene.episode.seed == SCENES.start
    assert scene.episode.keys == tuple(body["key"] for body in bodies)
    assert (scene.positions == env.object_poses()[:, :3]).all()
    assert (scene.orientations == env.object_poses()[:, 3:]).all()
    assert (scene.held >= 0) == bool(env.proprioception()["holding"][0])
    leaf = env.goal.next_leaf(env.outcome)
    assert (subgoal.predicate, subgoal.text) == (leaf.name, leaf.describe(world))
    assert subgoal.plain == env.prompt.plain(subgoal.text)
    slots = [*map(world.keys.index, scene.episode.keys), NONE]
    assert (slots[subgoal.object], slots[subgoal.target]) == acted_bodies(leaf)
    named = [f"{{obj:{scene.episode.keys[k]}}}" for k in (subgoal.object, subgoal.target) if k >= 0]
    assert all(name in subgoal.text for name in named)
    if task == "move_without_hitting":
        avoided = env.goal.objects[0]
        present = avoided[world.solids.present[0, avoided]].tolist()
        assert [slots[k] for k in subgoal.avoided] == present and present
        goal = np.r_[leaf.position[0], leaf.orientation[0]].astype(np.float32)
        assert (subgoal.ee_pose == goal).all()
        assert any(name.startswith("{ks:") for name in scene.episode.prompt_images)
    else:
        assert not subgoal.avoided and np.isnan(subgoal.ee_pose).all()
    if task == "pick":
        gap = world.distance_to(torch.tensor([slots[subgoal.object]]), _points(subgoal.contact))
        assert abs(float(gap)) < 0.005
    else:
        assert np.isnan(subgoal.contact).all() or task == "trace"
    env.close()


def _points(point: np.ndarray) -> torch.Tensor:
    return torch.as_tensor(point, dtype=torch.float32).reshape(1, 1, 3)


def test_boxes_are_where_the_calibration_puts_bodies(drawn: SceneSet) -> None:
    for scene in drawn.scenes:
        at, boxes = pixels(drawn.header, scene.positions), scene.boxes
        assert ((boxes[:, :2] <= at) & (at <= boxes[:, 2:])).all()
        assert ((0 <= boxes) & (boxes <= PX)).all()
        assert (scene.visible > 0).any()


def test_images_of_prompt_and_bodies(drawn: SceneSet) -> None:
    for of in drawn.episodes:
        assert [*of.prompt_images] == [*dict.fromkeys(re.findall(r"{\w+:\w+}", of.text))]
        for (placeholder, name), shown in zip(of.prompt_images.items(), of.shows, strict=True):
            kind = placeholder[1:].partition(":")[0]
            assert (shown == NONE) == (kind == "ks")
            if kind == "obj":
                assert placeholder == f"{{obj:{of.keys[shown]}}}" and name == of.body_images[shown]
            # key-steps as the main camera's own
            assert drawn.pixels(name).shape == ((256, 256, 3) if kind == "ks" else (64, 64, 3))
        assert all(drawn.pixels(name).shape == (64, 64, 3) for name in of.body_images)


def test_the_arm_elsewhere_changes_the_image_alone(drawn: SceneSet) -> None:
    by_image = {scene.image: scene for scene in drawn.scenes}
    moved = [scene for scene in drawn.scenes if scene.elsewhere]
    assert 0 < len(moved) < len(drawn.episodes)
    assert len({drawn.images[scene.image] for scene in moved}) == len(moved)
    for scene in moved:
        own = by_image[scene.first]
        assert not own.elsewhere and scene.held == own.held == NONE
        assert (scene.positions == own.positions).all() and (scene.boxes == own.boxes).all()
        assert scene.subgoal.text == own.subgoal.text
        assert (drawn.pixels(scene.image) != drawn.pixels(own.image)).mean() > 0.02
    assert all(scene.held >= 0 for scene in drawn.scenes if scene.episode.task == "place")


def rows(root: Path, task: str) -> list[tuple[Any, ...]]:
    """All records of the scenes of a task, images included."""
    found = SceneSet(root)
    return [
        (
            scene.episode.id,
            scene.step,
            scene.elsewhere,
            found.images[scene.image],
            scene.positions.tobytes(),
            scene.subgoal.contact.tobytes(),
            *(found.images[name] for name in scene.episode.body_images),
        )
        for scene in found.scenes
        if scene.episode.task == task
    ]


def test_it_continues_and_one_seed_is_one_scene(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "more"
    assert scenes(SceneArgs(tasks=("pick",), scenes=1, size=PX, out=out)) == 0
    (out / ".partial-local-0").mkdir()
    assert scenes(SceneArgs(tasks=("pick",), scenes=4, size=PX, out=out)) == 0
    assert rows(out, "pick") == rows(folder, "pick")
    assert len(list((out / "pick").iterdir())) == 2 and not list(out.glob(".partial*"))
    assert SceneHeader.read(out).counts == {"pick": len(SceneSet(out))}
    with pytest.raises(ClevrSkillsError, match="was drawn with look flat, not soft"):
        scenes(SceneArgs(tasks=("pick",), scenes=4, size=PX, look="soft", out=out))


def test_subgoals_of_demonstrations(demonstrations: Path, begun: Path) -> None:
    drawn = SceneSet(begun)
    assert drawn.header.demonstrations
    for episode in Dataset(demonstrations):
        own = [s for s in drawn.scenes if s.episode.id == episode.id and not s.elsewhere]
        starts = [segment["start"] for segment in episode.segments["subtask"]]
        assert [scene.step for scene in own] == starts
        assert [scene.done for scene in own] == list(range(len(own)))
        for scene in own:
            assert (scene.positions == episode.object_poses[scene.step, :, :3]).all()
            assert scene.subgoal.leaf == episode.steps["subgoal"][scene.step]
            assert scene.first == own[0].image
    assert any(scene.elsewhere and scene.step for scene in drawn.scenes) or len(drawn) < 8


def test_a_demonstration_of_another_scene_is_refused(demonstrations: Path, tmp_path: Path) -> None:
    changed = tmp_path / "changed"
    shutil.copytree(demonstrations, changed)
    path = next(changed.glob("trace/*/episode.json"))
    info = json.loads(path.read_text())
    info["scene"]["bodies"][0]["pose"][0] += 0.01
    path.write_text(json.dumps(info))
    out = tmp_path / "out"
    with pytest.raises(ClevrSkillsError, match="its seed gives another scene or goal now"):
        scenes(SceneArgs(demonstrations=changed, size=PX, out=out))
    assert not list(out.glob("trace/*")) and not list(out.glob(".partial*"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tasks": ()}, "nothing to draw: name tasks, a level with --level, or --standard"),
        ({"tasks": ("fly",)}, "unknown task 'fly'"),
        ({"scenes": 0}, "--scenes must be at least 1, not 0"),
        ({"size": 8}, "--size must be at least 16, not 8"),
        ({"split": "best"}, "unknown split 'best'"),
        ({"robot": "crane"}, "unknown robot 'crane'"),
        ({"seed": 9_999_999}, "--seed and --scenes must not exceed 10,000,000 together"),
        ({"standard": 10, "seed": 1}, "--standard decides --seed: leave that out"),
        ({"demonstrations": Path("nowhere")}, "nowhere is not a dataset"),
        ({"suite": "asgardbench", "tasks": ()}, "nothing to draw"),
    ],
)
def test_bad_arguments(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    with pytest.raises(ClevrSkillsError, match=message):
        scenes(SceneArgs(**{"tasks": ("pick",), "out": tmp_path / "out", **change}))
    assert not (tmp_path / "out").exists()


def test_tasks_without_an_arm_have_no_scenes(tmp_path: Path) -> None:
    task = next(iter(load_suite("asgardbench").tasks))
    with pytest.raises(ClevrSkillsError, match="has no arm, so no scenes"):
        scenes(SceneArgs(suite="asgardbench", tasks=(task,), out=tmp_path / "out"))


def test_readers_refuse_inconsistent_data(folder: Path, begun: Path, tmp_path: Path) -> None:
    assert len(SceneSet(folder, begun)) == len(SceneSet(folder)) + len(SceneSet(begun))
    with pytest.raises(
        ClevrSkillsError, match=r"is not a folder of scenes: it has no scenes\.json"
    ):
        SceneSet(tmp_path)
    other = tmp_path / "other"
    shutil.copytree(folder, other)
    data = json.loads((other / "scenes.json").read_text())
    (other / "scenes.json").write_text(json.dumps({**data, "size_px": 2 * PX}))
    with pytest.raises(ClevrSkillsError, match="differ in size_px"):
        SceneSet(folder, other)
    part = next(other.glob("pick/*/scenes.parquet"))
    part.write_bytes(part.read_bytes()[:100])
    with pytest.raises(ClevrSkillsError, match="is damaged"):
        SceneSet(other)
