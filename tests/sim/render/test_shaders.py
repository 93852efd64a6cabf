import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from clevrskills import assets
from clevrskills.core.env_config import LOOKS
from clevrskills.errors import ClevrSkillsError, UnknownNameError
from clevrskills.sim.cache import cached_directory
from clevrskills.sim.render import scene_visuals, shaders
from clevrskills.sim.render.offscreen import render_device

ROOT = Path(__file__).parents[3]


@pytest.fixture
def fresh_pack():
    cached = shaders.shader_pack, shaders.shader_digest
    for function in cached:
        function.cache_clear()
    yield
    for function in cached:
        function.cache_clear()


@pytest.fixture
def stock_shaders(monkeypatch, tmp_path):
    """A copy of the installed shaders that a test may change."""
    import shutil

    root = tmp_path / "vulkan_shader"
    for pack in ("minimal", "common"):
        shutil.copytree(shaders._shader_root() / pack, root / pack)
    monkeypatch.setattr(shaders, "_shader_root", lambda: root)
    monkeypatch.setenv("CLEVRSKILLS_CACHE", str(tmp_path / "cache"))
    return root


@pytest.mark.parametrize("look", ["soft", "flat"])
@pytest.mark.parametrize("geometry", [False, True])
def test_pack_has_no_environment_lookups(fresh_pack, stock_shaders, tmp_path, look, geometry):
    pack = Path(shaders.shader_pack(look, geometry))
    assert pack.is_relative_to(tmp_path / "cache")
    files = {"gbuffer.frag", "gbuffer.vert", "shadow.vert"}
    files |= {"composite.vert", "composite0.frag"} if look == "soft" else set()
    assert {file.name for file in pack.iterdir()} == files
    text = (pack / "gbuffer.frag").read_text()
    for term in ("samplerBRDFLUT", "samplerEnvironment", "IBL", "getBackgroundColor"):
        assert term not in text
    assert ("PositionSegmentation" in text) == geometry
    assert text.count("{") == text.count("}")


def test_pack_with_numbers_gives_those_alone(fresh_pack, stock_shaders):
    text = (Path(shaders.shader_pack("flat", numbers=True)) / "gbuffer.frag").read_text()
    assert "outPositionSegmentation" not in text and "outNumber = inSegmentation[1];" in text
    assert text.replace("outNumber", "") != text and text.count("{") == text.count("}")


def test_only_directional_lights_lose_their_highlights(fresh_pack, stock_shaders):
    file = Path("common", "lights.glsl")
    stock = (stock_shaders / file).read_text()
    own = (Path(shaders.shader_pack("flat")).parent / file).read_text()
    assert stock.count(" ggx(") == own.count(" ggx(") + 1
    light = own[own.index("vec3 computeDirectionalLight") : own.index("vec3 computePointLight")]
    assert " ggx(" not in light and "return color;" in light


@pytest.mark.parametrize("look", ["soft", "flat"])
@pytest.mark.parametrize("geometry", [False, True])
def test_other_shaders_are_refused_but_for_stock(fresh_pack, stock_shaders, look, geometry):
    file = stock_shaders / "minimal" / "gbuffer.frag"
    known = shaders.shader_digest("stock")
    shaders.shader_digest.cache_clear()
    file.write_text(file.read_text() + "\n")  # every edit would still match
    with pytest.raises(ClevrSkillsError, match="gbuffer|sapien==3.0.3.*look 'stock'") as error:
        shaders.prepare(look, geometry)
    assert "\n" not in str(error.value)
    with pytest.raises(ClevrSkillsError):
        shaders.shader_digest(look)
    assert shaders.prepare("stock", geometry) == "minimal"
    assert shaders.shader_digest("stock") != known


def test_missing_shaders_are_refused(fresh_pack, monkeypatch, tmp_path):
    monkeypatch.setattr(shaders, "_shader_root", lambda: tmp_path)
    with pytest.raises(ClevrSkillsError, match="cannot read SAPIEN's shaders"):
        shaders.prepare("soft")


def test_each_look_has_a_digest_of_its_own(fresh_pack):
    assert shaders.shader_digest("stock") == shaders.KNOWN_SHADERS
    assert len({shaders.shader_digest(look) for look in LOOKS}) == len(LOOKS)


def test_an_unwritable_cache_is_an_error(fresh_pack, monkeypatch, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("CLEVRSKILLS_CACHE", str(blocked / "below"))
    with pytest.raises(ClevrSkillsError, match="CLEVRSKILLS_CACHE"):
        shaders.prepare("soft")


def test_a_disk_that_fills_while_the_cache_is_written_is_an_error(monkeypatch, tmp_path):
    def write(folder):
        raise OSError(28, "No space left on device")

    monkeypatch.setenv("CLEVRSKILLS_CACHE", str(tmp_path))
    with pytest.raises(ClevrSkillsError, match="No space left"):
        cached_directory("x/y", write)
    assert not list((tmp_path / "x").iterdir())


def test_prepare_asks_for_one_raster_thread_but_obeys_the_user(fresh_pack, monkeypatch):
    monkeypatch.delenv("LP_NUM_THREADS", raising=False)
    shaders.prepare("soft")
    assert os.environ["LP_NUM_THREADS"] == "0"
    monkeypatch.setenv("LP_NUM_THREADS", "2")
    shaders.prepare("soft")
    assert os.environ["LP_NUM_THREADS"] == "2"


def test_prepare_configures_maniskill_once():
    import sapien
    from mani_skill.render import shaders as known_shaders
    from mani_skill.sensors import camera

    name = shaders.prepare("flat")
    wrapped = known_shaders.set_shader_pack
    assert shaders.prepare("flat") == name == "clevrskills_flat"
    assert known_shaders.set_shader_pack is wrapped is camera.set_shader_pack
    pose = sapien.Pose()
    config = camera.CameraConfig("c", pose=pose, width=8, height=8, fov=1.0, shader_pack=name)
    assert config.shader_config.shader_pack == shaders.shader_pack("flat")
    assert config.shader_config.texture_names == {"Color": ["rgb"]}
    name = shaders.prepare("soft", geometry=True)
    assert name == "clevrskills_soft_geometry" and known_shaders.set_shader_pack is wrapped
    stock = known_shaders.PREBUILT_SHADER_CONFIGS["minimal"]
    known = known_shaders.PREBUILT_SHADER_CONFIGS[name]
    assert known.shader_pack == shaders.shader_pack("soft", True)
    assert known.texture_names == stock.texture_names


class FakeBuilder:
    def __init__(self):
        self._procedural_shapes = []


@pytest.fixture(scope="module")
def device():
    """The device that scenes draw with: a material that comes first would choose another one."""
    import sapien

    return sapien.render.RenderSystem(sapien.Device(render_device()))


@pytest.mark.render
def test_body_visual_has_the_shapes_mesh(device):
    builder = FakeBuilder()
    shape = assets.shape("star")
    scene_visuals.add_body_visual(builder, shape, assets.texture_names()[0])
    (visual,) = builder._procedural_shapes
    np.testing.assert_array_equal(visual.parts[0].vertices, shape.vertices)
    np.testing.assert_array_equal(visual.parts[0].triangles, shape.faces)


@pytest.mark.render
def test_unknown_texture_is_refused():
    with pytest.raises(UnknownNameError, match="invisible"):
        scene_visuals.add_body_visual(FakeBuilder(), assets.shape("star"), "invisible")


@pytest.mark.render
def test_a_texture_is_uploaded_once(device):
    name = assets.texture_names()[1]
    materials = [
        scene_visuals.body_visual(assets.shape(s), name).material for s in ("cube", "star")
    ]
    assert materials[0] == materials[1]
    assert materials[0] is not None


@pytest.mark.render
def test_table_top_is_at_zero_and_floor_below(device):
    table, floor, backdrop = scene_visuals.table_visuals()
    assert table.parts[0].vertices[:, 2].max() == 0
    assert floor.parts[0].vertices[:, 2].max() == pytest.approx(-0.01)
    low, high = table.parts[0].vertices.min(axis=0), table.parts[0].vertices.max(axis=0)
    np.testing.assert_allclose((low + high)[:2] / 2, (-0.5, 0), atol=1e-6)
    np.testing.assert_allclose((high - low)[:2], (1.7, 2.2), atol=1e-6)
    assert np.linalg.norm(backdrop.parts[0].vertices, axis=1).min() > 5


IMAGE = """
import sys
import numpy as np
from clevrskills.sim.render import scene_visuals, shaders
from clevrskills.sim.robots.description import robot
look = "stock" if sys.argv[1] == "stock" else "flat"
geometry = sys.argv[1] != "colors"
import sapien
from clevrskills import assets
shaders.use_shader_pack(look, geometry)
scene = sapien.Scene([sapien.physx.PhysxCpuSystem(), sapien.render.RenderSystem()])
scene_visuals.load_lighting(scene, look)
description = robot(sys.argv[2])
arm = scene.create_urdf_loader().load(str(description.urdf(visual=True)))
arm.set_root_pose(sapien.Pose(description.base_position))
arm.set_qpos(np.array(description.neutral_qpos, np.float32))
shape = assets.shape("bowl")
for visuals, height in (
    (scene_visuals.table_visuals(), 0.0),
    ([scene_visuals.body_visual(shape, assets.texture_names()[2])], shape.half_extents[2]),
):
    component = sapien.render.RenderBodyComponent()
    for visual in visuals:
        component.attach(visual)
    entity = sapien.Entity()
    entity.add_component(component)
    entity.set_pose(sapien.Pose([0, 0, height]))
    scene.add_entity(entity)
camera = scene.add_camera("camera", 256, 256, 1.2, 0.01, 10)
images = []
for eye, quaternion in (
    ([0.7, 0.0, 0.5], [0.2588190, 0, 0, 0.9659258]),
    ([0.0, 0.1, 0.6], [0.7071068, 0, 0.7071068, 0]),
    ([-1.0, -0.2, 0.3], [1, 0, 0, 0]),
):
    camera.entity.set_pose(sapien.Pose(eye, quaternion))
    scene.update_render()
    camera.take_picture()
    images.append(camera.get_picture("Color"))
    if geometry:
        images.append(camera.get_picture("PositionSegmentation"))
np.savez(sys.argv[3], *images)
"""


@pytest.mark.slow
@pytest.mark.render
@pytest.mark.parametrize("robot_name", ["xarm6", "panda"])
def test_flat_images_equal_stock_images(tmp_path, robot_name):
    images = {}
    for pack in ("stock", "own", "colors"):
        file = tmp_path / f"{pack}.npz"
        command = [sys.executable, "-c", IMAGE, pack, robot_name, str(file)]
        environment = os.environ | {"PYTHONPATH": str(ROOT), "LP_NUM_THREADS": "0"}
        subprocess.run(command, check=True, env=environment, timeout=300)
        with np.load(file) as archive:
            images[pack] = [archive[name] for name in archive.files]
    colors = images["own"][::2]
    for stock, own in zip(images["stock"][::2], colors, strict=True):
        difference = np.abs(stock[..., :3].astype(int) - own[..., :3])
        # only the sheen of what is seen at a glancing angle is missing
        assert difference.mean() < 2.5 and difference.max() <= 16
        np.testing.assert_array_equal(stock[..., 3], own[..., 3])
    for stock, own in zip(images["stock"][1::2], images["own"][1::2], strict=True):
        np.testing.assert_array_equal(stock, own)
    for own, only in zip(colors, images["colors"], strict=True):
        np.testing.assert_array_equal(own, only)
    assert all(image[..., :3].std() > 10 for image in colors)  # there is something to see
