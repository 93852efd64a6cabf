"""Setting of a task: its cameras, its workspace and its table are what an environment has."""

from collections.abc import Iterator
from math import pi

import numpy as np
import pytest

from clevrskills.core.env_config import EnvConfig
from clevrskills.envs.environment import ClevrSkillsEnv
from clevrskills.envs.scene_sampling import draw_scene, keystep_scenes
from clevrskills.errors import UnknownNameError
from clevrskills.sim.cameras import FixedCamera
from clevrskills.sim.prompt import Prompt
from clevrskills.sim.setting import TABLETOP, Setting, Workspace
from clevrskills.suites.clevrskills.suite import ClevrSkillsSuite
from clevrskills.tasks import base, task, tasks

CORNER = FixedCamera((0.5, 0.5, 0.6), (-0.1, 0.1, 0.0), pi / 3, 64)
TOY = Setting(
    "toy",
    {"corner": CORNER, "render_camera": FixedCamera((1.0, -1.0, 1.0), (0.0, 0.0, 0.0), 1.0, 96)},
    watch=("corner",),
    workspace=Workspace(x_m=(-0.2, 0.0), y_m=(0.0, 0.3)),
    table_size_m=(1.0, 1.0),
)
KEY = "sort_stack"


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The task takes place in the toy setting."""
    monkeypatch.setitem(base._TASKS, KEY, type("Elsewhere", (tasks()[KEY],), {"setting": TOY}))
    yield


def test_objects_are_placed_in_its_workspace_in_view_of_its_camera() -> None:
    for seed in range(3):
        scene = draw_scene(task(KEY, num_objects=2, num_textures=1), seed, "train")
        for body in filter(None, scene.layout.bodies):
            assert -0.2 <= body.pose[0] <= 0.0 and 0.0 <= body.pose[1] <= 0.3
            assert CORNER.sees(np.add(body.geometry.vertices, body.pose[:3]), margin=-0.1)
        assert scene.prompt.setting is TOY


def test_its_cameras_are_known_and_no_others() -> None:
    assert TOY.camera_names() == ("corner", "hand_camera", "render_camera")
    assert TABLETOP.camera_names()[:3] == ("base_camera", "hand_camera", "render_camera")
    with pytest.raises(UnknownNameError, match="'base_camera'; allowed: corner, hand_camera"):
        ClevrSkillsEnv(KEY, cameras=("base_camera",), obs_mode="none")


@pytest.mark.render
def test_its_cameras_take_the_images() -> None:
    arguments = {"num_objects": 2, "num_textures": 1}
    env = ClevrSkillsEnv(KEY, task_args=arguments, render_mode="rgb_array")
    obs, _ = env.reset(seed=0)
    assert {n: tuple(o["rgb"].shape) for n, o in obs["sensor_data"].items()} == {
        "corner": (1, 64, 64, 3)
    }
    assert env.render().shape == (1, 96, 96, 3)
    assert not any(env.faults().values())
    film = ClevrSkillsSuite().trajectory_renderer(EnvConfig(KEY, cameras=("corner",)))
    film.open(env.scene_description())
    qpos = np.asarray(env.agent.robot.get_qpos()[0])
    (view,) = film.render(qpos, env.object_poses(), env.textures).values()
    taken = obs["sensor_data"]["corner"]["rgb"][0].numpy().astype(int)
    assert np.abs(view.color[..., :3] - taken).mean() < 1.0
    keysteps = keystep_scenes(env.goal, env.start, env.layouts[0], "xarm6")
    prompt = Prompt("{ks:0}", env.prompt.bodies, keysteps, setting=TOY)
    (image,) = prompt.images().values()
    assert np.abs(image.astype(int) - taken).mean() < 1.0
    env.close()
