"""Tests of the shortcuts of drawing: each gives what the longer way gives, bit for bit."""

from math import pi

import numpy as np

from clevrskills.assets import shape
from clevrskills.sim.robots.controller import kinematics
from clevrskills.sim.setting import TABLETOP
from clevrskills.tasks.layout import TableLayout, _Outline, _outline


def test_taken_places_are_those_of_the_outlines() -> None:
    generator, taken, refused = np.random.default_rng(5), 0, 0
    items = [shape(name) for name in ("bowl", "hexagon", "star", "letter R", "raindrop")]
    for _ in range(40):
        table = TableLayout(np.random.default_rng(0))
        table.reserve(-0.2, 0.1, 0.09)
        kept = list(table._taken)
        for _ in range(40):
            item = items[generator.integers(len(items))]
            x, y, yaw = generator.uniform((-0.5, -0.5, 0.0), (0.2, 0.5, 2 * pi)).tolist()
            moved = _outline(item).moved(x, y, yaw)
            outline = _Outline.around(moved.corners, x, y)
            assert np.isclose(moved.inner_radius_m, outline.inner_radius_m, atol=1e-9)
            box = np.zeros((2, len(outline.corners), 3))
            box[..., :2], box[1, :, 2] = outline.corners, 2 * item.half_extents[2]
            fits = all(outline.keeps(0.02, other) for other in kept)
            fits = fits and TABLETOP.main_camera.sees(box.reshape(-1, 3))
            assert table.take(item, x, y, yaw) == fits
            if fits:
                kept.append(outline)
            taken, refused = taken + fits, refused + (not fits)
    assert min(taken, refused) > 100


def test_a_pose_is_reached_by_the_same_joint_angles_again() -> None:
    solver, generator = kinematics("xarm6"), np.random.default_rng(8)
    poses = [solver.forward(generator.uniform(-0.5, 0.5, 6)) for _ in range(10)]
    first = [solver.reach(pose) for pose in poses]
    for pose, qpos in reversed(list(zip(poses, first, strict=True))):
        again = solver.reach(pose)
        assert (again is None) == (qpos is None)
        assert qpos is None or again.tolist() == qpos.tolist()  # whatever was asked for between
