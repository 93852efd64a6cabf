"""Boxes and visible shares, against hand-made scenes and a rasterizer of every pixel."""

import numpy as np
import pytest
import trimesh

from clevrskills.assets import shape
from clevrskills.dataset_tools.record.annotations import Annotator, Sighting
from clevrskills.sim.cameras import ROBOT_ID, TABLE_ID, Camera, CameraImage, to_buffer

CAMERA = Camera("camera", 64, 48, 2 * np.arctan(0.75), {})  # focal length 32 pixels
DOWN = np.array([[1.0, 0, 0, 0], [0, -1.0, 0, 0], [0, 0, -1.0, 1.0]])  # from 1 m above the origin
CUBE = trimesh.creation.box((0.2, 0.2, 0.2))


def pose(x: float, y: float, z: float, quaternion: tuple[float, ...] = (1, 0, 0, 0)) -> np.ndarray:
    return np.array([x, y, z, *quaternion])


def view(labels: np.ndarray | int = 0, depth_m: np.ndarray | float = 5.0) -> CameraImage:
    size = (CAMERA.height, CAMERA.width)
    numbers = np.broadcast_to(np.asarray(labels, np.uint8), size)
    depth = np.broadcast_to(np.asarray(depth_m, float), size)
    table = np.arange(256, dtype=np.uint8)
    return CameraImage(np.zeros((*size, 3), np.uint8), numbers, table, to_buffer(depth), DOWN)


def look(poses: list[np.ndarray], seen: CameraImage | None = None, mesh: object = CUBE) -> Sighting:
    annotator = Annotator([mesh] * len(poses), {"camera": CAMERA})  # type: ignore[list-item]
    return annotator.look(np.array(poses).reshape(-1, 7), {"camera": seen or view()})["camera"]


def test_known_projection() -> None:
    # upper side 0.9 m away: 0.2 m are 32 / 0.9 * 0.2 = 7.1 pixels around (32 + 3.56, 24 - 7.11)
    box = look([pose(0.1, 0.2, 0.0)]).boxes[0]
    left, right = 32 + 32 * 0.0 / 0.9, 32 + 32 * 0.2 / 0.9
    top, bottom = 24 - 32 * 0.3 / 0.9, 24 - 32 * 0.1 / 1.1  # the lower edge is farther away
    assert list(box) == [
        np.ceil(left - 0.5),
        np.ceil(top - 0.5),
        np.floor(right - 0.5) + 1,
        np.floor(bottom - 0.5) + 1,
    ]


def test_cut_off_at_the_edge() -> None:
    boxes = look([pose(0.9, 0.0, 0.0), pose(-0.9, 0.0, 0.0), pose(0.0, -0.7, 0.0)]).boxes
    assert boxes[0, 0] > 0 and boxes[0, 2] == 64
    assert boxes[1, 0] == 0 and boxes[1, 2] < 64
    assert boxes[2, 1] < 48 and boxes[2, 3] == 48


def test_out_of_the_image_and_behind_the_camera() -> None:
    sighting = look([pose(3.0, 0.0, 0.0), pose(0.0, 0.0, 1.5), pose(0.0, 0.0, 0.0)])
    assert sighting.boxes[:2].tolist() == [[-1] * 4] * 2
    assert sighting.visible.tolist()[:2] == [0.0, 0.0]
    assert sighting.boxes[2, 0] > 0 and sighting.visible[2] > 0.0


def test_around_the_camera() -> None:
    """What reaches from before the camera to behind it fills the image on its side."""
    big = trimesh.creation.box((1.0, 1.0, 1.8))
    box = look([pose(0.6, 0.0, 0.3)], mesh=big).boxes[0]
    assert box[0] > 30 and box[1:].tolist() == [0, 64, 48]


def pixels(mesh: object, at: np.ndarray) -> np.ndarray:
    """Which pixels have their middle inside a projected triangle, (H, W), one after the other."""
    turn = trimesh.transformations.quaternion_matrix(at[3:])[:3, :3]
    points = (mesh.vertices @ turn.T + at[:3]) @ DOWN[:, :3].T + DOWN[:, 3]
    corners = points[:, :2] * 32 / points[:, 2:] + (32, 24)
    middle = np.stack(np.meshgrid(np.arange(64) + 0.5, np.arange(48) + 0.5), -1)
    covered = np.zeros((48, 64), bool)
    for a, b, c in corners[np.asarray(mesh.faces)]:
        sides = [
            (q[0] - p[0]) * (middle[..., 1] - p[1]) - (q[1] - p[1]) * (middle[..., 0] - p[0])
            for p, q in ((a, b), (b, c), (c, a))
        ]
        inside = np.all([s >= 0 for s in sides], 0) | np.all([s <= 0 for s in sides], 0)
        covered |= inside
    return covered


@pytest.mark.parametrize("name", ["star", "ring", "moon", "scissors", "bowl"])
def test_boxes_are_those_of_a_rasteriser(name: str) -> None:
    """Tips narrower than a pixel included: the very box of the covered pixels."""
    mesh, generator = shape(name), np.random.default_rng(0)
    for _ in range(15):
        at = np.concatenate((generator.uniform(-0.25, 0.25, 3), generator.normal(size=4)))
        at[3:] /= np.linalg.norm(at[3:])
        rows, columns = np.nonzero(pixels(mesh, at))
        expected = [columns.min(), rows.min(), columns.max() + 1, rows.max() + 1]
        assert look([at], mesh=mesh).boxes[0].tolist() == expected


def test_visible_share() -> None:
    poses = [pose(-0.3, 0.0, 0.0), pose(0.3, 0.0, 0.0)]
    labels = np.zeros((48, 64), np.uint8)
    labels[:, :32], labels[:, 32:] = 1, 2
    assert look(poses, view(labels, 0.9)).visible.tolist() == [1.0, 1.0]
    mask = pixels(CUBE, poses[0])
    for column in range(18, 26):
        labels[:, :column] = ROBOT_ID  # before the left part of the first
        depth = np.where(labels == ROBOT_ID, 0.5, 0.9)
        visible = look(poses, view(labels, depth)).visible
        share = mask[:, column:].sum() / mask.sum()
        assert visible[0] == pytest.approx(share, abs=0.1) and visible[1] == 1.0


def test_only_nearer_bodies_occlude() -> None:
    at = [pose(0.0, 0.0, 0.0)]
    assert look(at, view(ROBOT_ID, 0.5)).visible[0] == 0.0
    assert look(at, view(2, 0.5)).visible[0] == 0.0
    assert look(at, view(2, 2.0)).visible[0] == 1.0
    assert look(at, view(0, 5.0)).visible[0] == 1.0
    # beside an object that stands on it the table is nearer than the foot of the object
    assert look(at, view(TABLE_ID, 0.5)).visible[0] == 1.0


def test_bodies_outside_the_image_are_not_visible() -> None:
    visible = look([pose(1.0, 0.0, -0.1), pose(3.0, 0.0, 0.0)], view(1, 0.9)).visible
    # from the foot of its near side, 0.9 m aside and 1.2 m away, to the far end of its upper side
    start, end = 32 + 32 * 0.9 / 1.2, 32 + 32 * 1.1 / 1.0
    assert visible[0] == pytest.approx((64 - start) / (end - start), abs=0.05)
    assert visible[1] == 0.0


def test_bodies_that_cover_no_pixel_center_are_not_visible() -> None:
    tile = trimesh.creation.box((0.1, 0.1, 1e-4))  # 1 m away: the image ends at x = 1 m
    sighting = look([pose(1.04, 0.0, 0.0), pose(1.02, 0.0, 0.0)], view(0, 5.0), tile)
    assert sighting.boxes[0].tolist() == [-1] * 4 and sighting.visible[0] == 0.0
    assert sighting.boxes[1, 0] == 63 and sighting.visible[1] > 0.0


def test_nothing_to_see() -> None:
    sighting = look([])
    assert sighting.boxes.shape == (0, 4) and sighting.visible.shape == (0,)


@pytest.mark.slow
@pytest.mark.render
def test_against_the_renderer() -> None:
    """Boxes and visible shares of real frames, against each object drawn alone in a larger image:
    IoU of boxes, mean error of shares.
    """
    from clevrskills.core.env_config import EnvConfig
    from clevrskills.suites.clevrskills.suite import ClevrSkillsSuite

    overlaps, errors = [], []
    for task in ("sort", "stack", "throw_topple", "move_without_hitting"):
        config = EnvConfig(task, "train", "xarm6", "paper", ("base_camera", "hand_camera"))
        suite = ClevrSkillsSuite()
        env = suite.make(config)
        oracle = suite.oracle(env)
        film = ClevrSkillsSuite().trajectory_renderer(config)
        assert film is not None
        env.reset(options={"episode": suite.draw(task, "train", 0)})
        oracle.reset()
        annotator = Annotator(film.open(env.scene_description()), film.cameras)
        for step in range(41):
            if step % 10 == 0:
                qpos, poses = env.proprioception()["qpos"], env.object_poses()
                alone = alone_in_large(env, qpos, poses)
                views = film.render(qpos, poses, {})
                for name, sighting in annotator.look(poses, views).items():
                    seen = views[name]
                    for k, mask in enumerate(alone[name]):
                        total, inside = mask.sum(), mask[256:512, 256:512].sum()
                        shown = (seen.segmentation == 1 + k).sum() / total if total else 0.0
                        errors.append(abs(sighting.visible[k] - shown))
                        if total and inside == total:
                            overlaps.append(overlap(sighting.boxes[k], mask[256:512, 256:512]))
            env.step(oracle.act())
        env.close()
    assert len(overlaps) > 70 and np.mean(overlaps) >= 0.98 and np.min(overlaps) >= 0.9
    assert len(errors) > 90 and np.mean(errors) <= 0.05 and np.max(errors) <= 0.2


def alone_in_large(env: object, qpos: np.ndarray, poses: np.ndarray) -> dict[str, list[np.ndarray]]:
    """Masks of each object drawn alone in images that reach three times as far."""
    from math import atan, tan

    from clevrskills.sim.render import trajectory_renderer

    def wide(name: str, *about: object) -> Camera:
        usual = camera(name, *about)
        fov_rad = 2 * atan(3 * tan(usual.fov_rad / 2))
        return Camera(name, 768, 768, fov_rad, usual.mounting)

    camera = trajectory_renderer.camera
    film = trajectory_renderer.TrajectoryRenderer(("base_camera", "hand_camera"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trajectory_renderer, "camera", wide)
        film.open(env.scene_description())  # type: ignore[attr-defined]
    for link in film._links.values():
        film._scene.scene.remove_entity(link)
    film._links = {}
    masks: dict[str, list[np.ndarray]] = {name: [] for name in film.cameras}
    for k in range(len(poses)):
        away = np.tile(pose(0.0, 0.0, -50.0), (len(poses), 1))
        away[k] = poses[k]
        for name, seen in film.render(qpos, away, {}).items():
            masks[name].append(seen.segmentation == 1 + k)
    return masks


def overlap(box: np.ndarray, mask: np.ndarray) -> float:
    """Intersection over union of a box and that of a mask (H, W)."""
    rows, columns = np.nonzero(mask)
    other = np.array([columns.min(), rows.min(), columns.max() + 1, rows.max() + 1])
    box = box.astype(int)
    sizes = np.maximum(0, np.minimum(box[2:], other[2:]) - np.maximum(box[:2], other[:2]))
    both = sizes.prod()
    return float(both / ((box[2:] - box[:2]).prod() + (other[2:] - other[:2]).prod() - both))
