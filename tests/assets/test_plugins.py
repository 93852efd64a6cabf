"""Objects and textures of other distributions: from code, GLB and URDF, checked."""

from importlib.metadata import EntryPoint

import numpy as np
import pytest
import trimesh

from clevrskills.assets import mesh_files, plugins, pools, shape, shape_names, texture
from clevrskills.assets import textures as textures_module
from clevrskills.assets.objects import Item
from clevrskills.assets.shapes import Shape, _build
from clevrskills.assets.solids import Solid, box, prism
from clevrskills.errors import ClevrSkillsError, NameTakenError, UnknownNameError


def crate() -> Solid:
    return box(60, 40, 30)


def pole() -> Solid:
    """Leans far over its foot."""
    return box(20, 20, 10) + box(20, 120, 10, y=50, bottom=10)


def hollow() -> Solid:
    """Its part has a corner inside."""
    solid = box(60, 60, 30)
    return Solid(solid.patches, (np.concatenate([solid.parts[0], [[0.0, 0.0, 15.0]]]),))


def ghost() -> Solid:
    """The visual shape is larger than the collision shape."""
    return Solid(box(90, 90, 30).patches, box(60, 60, 30).parts)


def arrow() -> Solid:
    return prism([(-50, -19), (5, -19), (5, -45), (55, 0), (5, 45), (5, 19), (-50, 19)], 30)


DRAWN = Item(arrow, 500.0, ("train.top", "test.base"))
MISPLACED = Item(arrow, 500.0, ("train.texture_1",))
NUMBER = 3


def chequers(size_px: int) -> np.ndarray:
    return np.full((size_px, size_px, 3), 128, np.uint8)


def too_small(size_px: int) -> np.ndarray:
    return np.zeros((2, 2, 3))


@pytest.fixture(autouse=True)
def added(monkeypatch):
    """Lets a distribution add plugins that are defined here."""
    caches = (plugins.other_object, texture, _build, mesh_files.read)

    def add(kind="objects", package=__name__, **things):
        entries = tuple(
            EntryPoint(name.replace("_", " "), f"{package}:{thing}", f"clevrskills.{kind}")
            for name, thing in things.items()
        )
        monkeypatch.setattr(plugins, "additions", lambda asked: entries if asked == kind else ())
        for cached in caches:
            cached.cache_clear()

    yield add
    for cached in caches:
        cached.cache_clear()


def test_an_object_from_code(added):
    names = shape_names()
    added(tea_crate="crate")
    made = shape("tea crate")
    assert isinstance(made, Shape) and made.name == "tea crate" and made.density == 700
    assert np.allclose(2 * np.array(made.half_extents), (0.04, 0.06, 0.03))
    assert shape("tea crate", (0.1, 0.1, 0.05)).half_extents == pytest.approx((0.05, 0.05, 0.025))
    assert shape_names() == names  # those of the package stay what they are
    with pytest.raises(UnknownNameError, match="unknown shape 'tea tray'.* allowed: .*, tea crate"):
        shape("tea tray")


@pytest.mark.parametrize(
    ("thing", "message"),
    [
        ("pole", "object 'thing': it is not stable: the center of mass is -"),
        ("hollow", "part 0 is not convex: some of its corners are inside"),
        ("ghost", "the visible mesh is .* mm outside the convex parts"),
        ("NUMBER", "is of type int; allowed: an Item, a function that builds a Solid, or"),
        ("missing", "object 'thing' = .*: AttributeError"),
    ],
)
def test_a_shape_that_is_no_standing_rigid_body_is_refused(added, thing, message):
    added(thing=thing)
    with pytest.raises(ClevrSkillsError, match=message) as error:
        shape("thing")
    assert "\n" not in str(error.value)


def test_names_are_words_that_nothing_else_has(added):
    added(cube="crate")
    with pytest.raises(NameTakenError, match="objects 'cube' of .*: clevrskills has one"):
        shape("teapot")
    assert shape("cube").name == "cube"
    added(crate2="crate")
    with pytest.raises(ClevrSkillsError, match="'crate2' = .*: names must consist of words"):
        shape("crate2")


def test_only_the_tasks_of_its_distribution_draw_an_object_that_asks_for_it(added):
    own = pools("train"), pools("test")
    added(big_arrow="DRAWN", tea_crate="crate")
    assert (pools("train"), pools("test")) == own == (pools("train", "lab"), pools("test", "lab"))
    package = __name__.partition(".")[0]
    assert pools("train", package).top == (*own[0].top, "big arrow")
    assert pools("train", package).base == own[0].base
    assert pools("test", package).base == (*own[1].base, "big arrow")
    added(big_arrow="MISPLACED")
    with pytest.raises(UnknownNameError, match="unknown pool of the object 'big arrow' 'train.tex"):
        pools("train", package)


def test_a_texture_from_code(added):
    added("textures", chequered="chequers", tiny="too_small")
    assert texture("chequered").shape == (256, 256, 3) and (texture("chequered") == 128).all()
    assert "chequered" not in textures_module.texture_names()
    with pytest.raises(ClevrSkillsError, match=r"is \(2, 2, 3\); allowed: \(256, 256, 3\)"):
        texture("tiny")
    with pytest.raises(UnknownNameError, match="unknown texture 'tartan'; allowed: .*chequered"):
        texture("tartan")


# ---- files ----


def test_each_piece_of_a_glb_is_a_convex_part(tmp_path):
    scene = trimesh.Scene()
    scene.add_geometry(trimesh.creation.box((0.06, 0.04, 0.08)), node_name="body")
    scene.export(tmp_path / "box.glb")
    solid = mesh_files.read(tmp_path / "box.glb")
    assert np.ptp(solid.bounds(), axis=0) == pytest.approx([60, 80, 40])  # y up becomes z up
    assert [len(part) for part in solid.parts] == [8]


def test_nodes_named_collision_are_the_parts_of_a_glb(tmp_path):
    scene = trimesh.Scene()
    ring = trimesh.creation.annulus(0.02, 0.05, 0.03)
    scene.add_geometry(ring, node_name="ring")
    scene.export(tmp_path / "ring.glb")
    with pytest.raises(ClevrSkillsError, match="part 0 is not convex: it fills 8.% .*collision_0"):
        mesh_files.read(tmp_path / "ring.glb")
    half = trimesh.creation.box((0.05, 0.02, 0.03))
    scene.add_geometry(half, node_name="collision_0", geom_name="collision_0")
    scene.export(tmp_path / "whole.glb")
    solid = mesh_files.read(tmp_path / "whole.glb")
    assert (len(solid.patches), len(solid.parts)) == (1, 1)


URDF = """
<robot name="caddy">
  <link name="box">
    <visual><origin xyz="0 0 0.02"/><geometry><box size="0.1 0.06 0.04"/></geometry></visual>
    <collision><origin xyz="0 0 0.02"/><geometry><box size="0.1 0.06 0.04"/></geometry></collision>
  </link>
  <link name="lid">
    <visual><geometry><mesh filename="lid.stl" scale="0.001 0.001 0.001"/></geometry></visual>
    <collision><geometry><cylinder radius="0.02" length="0.01"/></geometry></collision>
  </link>
  <joint name="hinge" type="fixed">
    <parent link="box"/><child link="lid"/><origin xyz="0 0 0.045"/>
  </joint>
</robot>
"""


@pytest.fixture
def urdf(tmp_path):
    trimesh.creation.box((30, 30, 10)).export(tmp_path / "lid.stl")
    path = tmp_path / "caddy.urdf"
    path.write_text(URDF)
    return path


def test_links_of_a_urdf_file_make_one_body(urdf):
    solid = mesh_files.read(urdf)
    assert len(solid.patches) == len(solid.parts) == 2
    assert solid.bounds()[0] == pytest.approx([-30, -50, 0])  # its front is turned to -y
    assert solid.bounds()[1] == pytest.approx([30, 50, 50])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('type="fixed"', 'type="revolute"', "is revolute; joints of an object must be fixed"),
        ("<box", "<capsule", "geometry <capsule>; allowed: box, cylinder, sphere, mesh"),
        ("</robot>", "", "cannot be read: ParseError"),
        ("lid.stl", "lost.stl", "cannot be read"),
        ("collision", "inertial", "has no convex parts"),
    ],
)
def test_files_that_are_no_object_are_refused(urdf, old, new, message):
    urdf.write_text(URDF.replace(old, new))
    with pytest.raises(ClevrSkillsError, match=message):
        mesh_files.read(urdf)


def test_other_files_are_refused(tmp_path):
    with pytest.raises(ClevrSkillsError, match="allowed: .glb, .gltf, .urdf"):
        mesh_files.read(tmp_path / "a.obj")
