import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from clevrskills import assets
from clevrskills.errors import UnknownNameError
from clevrskills.sim.prompt_images import BACKGROUND, PromptRenderer, prompt_renderer
from clevrskills.sim.render import shaders
from clevrskills.sim.robots.description import ROBOTS
from clevrskills.tasks.base import Task

pytestmark = pytest.mark.render
ROOT = Path(__file__).parents[2]
TEXTURE = "red swirl"
DEVICE = "cuda" if shaders.default_backend() == "gpu" else "cpu"
"""As environments draw with: SAPIEN takes one device in a process."""


@pytest.fixture(scope="module")
def shared() -> PromptRenderer:
    return PromptRenderer(DEVICE)


def resting(name: str, x: float, y: float):
    shape = assets.shape(name)
    return shape, TEXTURE, (x, y, shape.half_extents[2], 1.0, 0.0, 0.0, 0.0)


def drawn(image: np.ndarray) -> np.ndarray:
    return (image != np.array(BACKGROUND, np.uint8)).any(axis=-1)


@pytest.mark.parametrize("size_m", [0.03, 0.08, 0.16])
def test_object_fills_the_image_at_any_size(shared, size_m):
    image = shared.object_image("cube", TEXTURE, (size_m, size_m, size_m))
    assert image.shape == (256, 256, 3) and image.dtype == np.uint8
    mask = drawn(image)
    assert 0.2 < mask.mean() < 0.7
    border = np.concatenate([mask[0], mask[-1], mask[:, 0], mask[:, -1]])
    assert not border.any()  # nothing is cut off


@pytest.mark.slow
def test_every_shape_is_fully_visible(shared):
    for name in assets.shape_names():
        mask = drawn(shared.object_image(name, None))
        assert mask.mean() > 0.03, name
        assert not np.concatenate([mask[0], mask[-1], mask[:, 0], mask[:, -1]]).any(), name


def test_background_is_plain(shared):
    image = shared.object_image("letter T", TEXTURE)
    assert (image[:8].reshape(-1, 3) == BACKGROUND).all()
    assert min(BACKGROUND) > 180


def test_textures_distinguish_objects(shared):
    names = ("red swirl", "dark blue purple stripe", "red swirl")
    one, other, again = (shared.object_image("cube", n).astype(int) for n in names)
    assert np.abs(one - other).mean() > 10
    assert (one == again).all()


def test_images_do_not_depend_on_earlier_images(shared):
    fresh = PromptRenderer(DEVICE)
    bodies = [resting("bowl", 0.0, 0.1), resting("cube", -0.1, -0.1)]
    scene = fresh.scene_image(bodies)
    picture = fresh.object_image("star", TEXTURE)
    shared.scene_image([resting("star", 0.0, 0.0)])
    shared.object_image("tray", None)
    np.testing.assert_array_equal(shared.scene_image(bodies), scene)
    np.testing.assert_array_equal(shared.object_image("star", TEXTURE), picture)


def test_images_are_kept_but_callers_cannot_spoil_them(shared):
    first = shared.object_image("heart", TEXTURE)
    expected = first.copy()
    first[:] = 0
    np.testing.assert_array_equal(shared.object_image("heart", TEXTURE), expected)
    texture = shared.texture_image(TEXTURE)
    texture[:] = 0
    np.testing.assert_array_equal(shared.texture_image(TEXTURE), assets.texture(TEXTURE))


def test_scene_shows_bodies_where_they_are(shared):
    empty = shared.scene_image([]).astype(int)
    assert empty.shape == (256, 256, 3)
    left, right = (
        np.abs(shared.scene_image([resting("cube", 0.0, y)]).astype(int) - empty).sum(axis=-1) > 30
        for y in (-0.15, 0.15)
    )
    assert 50 < left.sum() < 10_000 and 50 < right.sum() < 10_000
    # the camera looks along -x: +y is on its right
    assert np.nonzero(left)[1].mean() + 40 < np.nonzero(right)[1].mean()


def test_bodies_leave_no_trace(shared):
    empty = shared.scene_image([])
    shared.scene_image([resting("plate", 0.0, 0.0)])
    np.testing.assert_array_equal(shared.scene_image([]), empty)


@pytest.mark.parametrize("name", Task.robots)
def test_a_robot_is_shown_at_its_joint_angles(shared, name):
    empty = shared.scene_image([]).astype(int)
    neutral = np.array(ROBOTS[name].neutral_qpos)
    turned = neutral + np.eye(len(neutral))[0] * 0.5
    images = [shared.scene_image([], name, qpos).astype(int) for qpos in (neutral, turned)]
    left, right = (np.abs(p - empty).sum(axis=-1) > 30 for p in images)
    assert left.sum() > 1000 and right.sum() > 1000
    # turned to +y, which is on the right of the camera
    assert np.nonzero(right)[1].mean() > np.nonzero(left)[1].mean() + 4
    np.testing.assert_array_equal(shared.scene_image([], name, neutral), images[0])


def test_a_robot_leaves_no_trace(shared):
    bodies = [resting("cube", 0.0, -0.1)]
    before = shared.scene_image(bodies)
    shared.scene_image(bodies, "xarm6", ROBOTS["xarm6"].neutral_qpos)
    np.testing.assert_array_equal(shared.scene_image(bodies), before)


def test_a_robot_occludes_bodies_behind_it(shared):
    qpos = ROBOTS["xarm6"].neutral_qpos
    behind = [(assets.shape("cube"), TEXTURE, (-0.562, 0.0, 0.1, 1.0, 0.0, 0.0, 0.0))]
    alone, both = (shared.scene_image(b, "xarm6", qpos).astype(int) for b in ([], behind))
    seen = np.abs(shared.scene_image(behind).astype(int) - shared.scene_image([])).sum() > 0
    assert seen.any() and (np.abs(both - alone).sum(-1) > 30).sum() < 400


def test_unknown_names_are_refused(shared):
    with pytest.raises(UnknownNameError):
        shared.object_image("unicorn", TEXTURE)
    with pytest.raises(UnknownNameError):
        shared.object_image("cube", "invisible")
    with pytest.raises(UnknownNameError):
        shared.texture_image("invisible")
    for _ in range(8):  # the scene that was begun is taken down, though it was being drawn
        with pytest.raises(UnknownNameError):
            shared.scene_image([], "ur5", (0.0,) * 6)


def test_one_renderer_per_process_and_setting():
    assert prompt_renderer() is prompt_renderer()


ALONGSIDE = """
import gc
import numpy as np
import sapien
from clevrskills import assets
from clevrskills.sim.render import scene_visuals, shaders
from clevrskills.sim.prompt_images import PromptRenderer
shaders.use_shader_pack("flat")
scene = sapien.Scene([sapien.physx.PhysxCpuSystem(), sapien.render.RenderSystem()])
scene_visuals.load_lighting(scene, "flat")
builder = scene.create_actor_builder()
builder.add_box_collision(half_size=[0.1] * 3)
builder.add_box_visual(half_size=[0.1] * 3)
builder.initial_pose = sapien.Pose([1, 0, 1])
box = builder.build("box")
camera = scene.add_camera("camera", 64, 64, 1.0, 0.01, 10)
def look():
    scene.update_render()
    camera.take_picture()
    return np.array(camera.get_picture("Color"))
before, place = look(), box.pose.p.copy()
renderer = PromptRenderer()
for _ in range(3):
    renderer.object_image("cube", None)
    renderer.scene_image([(assets.shape("cube"), None, (0, 0, 0.03, 1, 0, 0, 0))])
assert (look() == before).all() and (box.pose.p == place).all()
del renderer
gc.collect()
assert (look() == before).all()
kept = PromptRenderer()
kept.scene_image([])
"""


@pytest.mark.slow
def test_it_leaves_a_running_simulation_alone_and_ends_cleanly():
    result = subprocess.run(
        [sys.executable, "-c", ALONGSIDE], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert (result.returncode, result.stderr) == (0, "")
