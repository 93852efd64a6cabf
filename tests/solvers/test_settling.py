"""Sides on which objects come to rest."""

from math import pi

import numpy as np
import pytest
import torch
from sapien import Pose

from clevrskills.assets import shape
from clevrskills.sim.body_geometry import Solids
from clevrskills.solvers.settling import settled, towards_upright
from tests.support.worlds import CUBE, BodySpec, make_world

BELL = BodySpec("bell", "bell")


def tilt_rad(q):
    return float(np.arccos(np.clip(Pose(q=q).to_transformation_matrix()[2, 2], -1.0, 1.0)))


def lying(spec, q):
    return make_world([spec], [torch.tensor([-0.2, 0.1, 0.05, *q])])


def sides(name, size=None):
    solids = Solids.from_shapes([[shape(name, size)]], [[False]])
    return settled(solids.points[0, 0].double().numpy(), solids.center[0, 0].double().numpy())


def test_every_side_it_comes_to_rest_on_is_at_rest():
    end = sides("hammer")
    assert np.array_equal(end[end], end)


def test_a_cube_comes_to_rest_on_each_of_its_six_faces_alike():
    end = sides("cube", (0.05, 0.05, 0.05))
    shares = np.sort(np.bincount(end))[::-1] / len(end)
    assert (shares[:6] > 0.1).all()
    assert shares[0] == pytest.approx(shares[5], abs=0.05)


def test_a_low_slab_rests_flat_and_a_tall_one_rarely_upright():
    low, tall = sides("cube", (0.1, 0.1, 0.02)), sides("cube", (0.04, 0.04, 0.16))
    assert (low == 0).mean() > 0.3 > 0.05 > (tall == 0).mean() > 0.0


@pytest.mark.parametrize("q", [(0.6018, 0.7986, 0.0, 0.0), (0.6018, 0.0, -0.7986, 0.0)])
def test_a_toppled_bell_rolls_upright_when_it_is_let_go_half_way(q):
    world = lying(BELL, q)
    found = towards_upright(world, 0)
    assert found and tilt_rad(found[0]) < 1.0
    # the least turn comes first
    turns = [2 * np.arccos(min(1.0, abs(float(np.dot(f, q))))) for f in found[:8]]
    assert turns[0] == min(turns) < tilt_rad(q) - 0.5


def test_turning_an_upright_object_gains_nothing():
    assert towards_upright(lying(CUBE, (1.0, 0.0, 0.0, 0.0)), 0) == []


def test_large_rotations_are_done_in_parts():
    """A mushroom on its cap: on the rim of the cap it is less tilted."""
    found = towards_upright(lying(BodySpec("mushroom", "mushroom"), (0.0, 1.0, 0.0, 0.0)), 0)
    assert min(tilt_rad(q) for q in found) < 0.6 < max(tilt_rad(q) for q in found) < pi / 2
