"""Tasks in which objects are turned or swapped: their goals, and states that are no success."""

from math import radians

import numpy as np
import pytest
import torch

from clevrskills.assets.topside import outline_symmetry
from clevrskills.core.geometry import quaternion_multiply, yaw_quaternion
from clevrskills.envs.scene_sampling import draw_scene
from clevrskills.predicates import Rotated
from clevrskills.sim.tensor_world import TensorWorld
from clevrskills.tasks import task
from clevrskills.tasks.turning import turnable
from tests.tasks.scenes import SPLITS, scene, scenes

TURNING = ("rotate", "rotate_restore", "rotate_symmetry", "swap_rotate")
ALL = (*TURNING, "swap")
in_both_splits = pytest.mark.parametrize("split", SPLITS)


def few(key, split):
    return [scene(key, split, seed) for seed in range(3)]


def slot(k):
    return torch.tensor([int(k)])


class Played:
    """A scene, changed by hand, whose goal is looked at after each change."""

    def __init__(self, drawn):
        self.world, self.goal = TensorWorld.snapshot(drawn.start), drawn.goal
        self.outcome = self.goal.evaluate(self.world, self.goal.initial_state(self.world))

    def look(self):
        self.outcome = self.goal.evaluate(self.world, self.outcome.state)
        return bool(self.outcome.holds)

    def move(self, k, xy=None, turn_deg=0.0):
        """Move a body to a place and turn it, by at most 90 degrees in one go."""
        parts = max(1, int(np.ceil(abs(turn_deg) / 90)))
        for _ in range(parts):
            at = self.world.pose(slot(k)).clone()
            turn = yaw_quaternion(torch.tensor([radians(turn_deg / parts)]))
            at[:, 3:] = quaternion_multiply(turn, at[:, 3:])
            if xy is not None:
                at[0, :2] = torch.as_tensor(np.asarray(xy), dtype=torch.float32)
            self.world.set_body_pose(slot(k), at)
            held = self.look()
        return held


def angle_deg(drawn):
    return float(np.degrees(drawn.layout.roles["angle_rad"]))


# ---- what is laid out ----


@in_both_splits
@pytest.mark.parametrize("key", TURNING)
def test_only_shapes_whose_outline_shows_each_turn_are_used(key, split):
    for drawn in scenes(key, split):
        for body in filter(None, drawn.layout.bodies):
            assert outline_symmetry(body.geometry) == 1


@in_both_splits
def test_there_are_enough_such_shapes(split):
    assert len(turnable(task("rotate").rng(0, 0, split))) >= 4


@in_both_splits
@pytest.mark.parametrize("key", ALL)
def test_each_object_can_be_turned_all_the_way_where_it_is(key, split):
    """And, where two are swapped, where the other is."""
    for drawn in scenes(key, split):
        used = [k for k, body in enumerate(drawn.layout.bodies) if body]
        places = {k: drawn.start.position(slot(k))[0, :2] for k in used}
        radius = {k: float(drawn.start.solids.points[0, k, :, :2].norm(dim=-1).max()) for k in used}
        if "aside" in drawn.layout.roles:
            places["aside"] = torch.as_tensor(drawn.layout.roles["aside"]).float()
            radius = dict.fromkeys(places, max(radius.values()))
        for k, other in ((a, b) for a in places for b in places if a != b):
            gap = float((places[k] - places[other]).norm()) - radius[k] - radius[other]
            assert gap > 0.015, (k, other)


@pytest.mark.parametrize("key", TURNING)
def test_angles_and_directions_can_be_chosen(key):
    made = task(key, angles_deg=90, directions="clockwise")
    for seed in range(4):
        layout = draw_scene(made, seed, "train").layout
        assert float(layout.roles["angle_rad"]) == pytest.approx(-radians(90))
        assert all("90 degrees clockwise" in text for text in made.prompts(layout))


@pytest.mark.parametrize("key", TURNING)
def test_all_angles_and_directions_come_up(key):
    angles = {round(angle_deg(d)) for split in SPLITS for d in scenes(key, split, 15)}
    assert {abs(a) for a in angles} == {30, 60, 90, 120, 150}
    assert min(angles) < 0 < max(angles)


@in_both_splits
def test_two_objects_share_a_texture_and_no_others_do(split):
    for drawn in scenes("rotate_symmetry", split):
        bodies = [body for body in drawn.layout.bodies if body]
        pair = {drawn.layout.bodies[k].texture for k in drawn.layout.roles["objects"]}
        assert len(pair) == 1 and len({b.texture for b in bodies}) == len(bodies) - 1


# ---- what is no success ----


@in_both_splits
def test_rotate_is_about_one_object_and_one_direction(split):
    for drawn in few("rotate", split):
        target, angle = int(drawn.layout.roles["object"]), angle_deg(drawn)
        for k, body in enumerate(drawn.layout.bodies):
            if body and k != target:
                assert not Played(drawn).move(k, turn_deg=angle)
        assert not Played(drawn).move(target, turn_deg=-angle)
        assert not Played(drawn).move(target, turn_deg=angle - np.sign(angle) * 360)
        played = Played(drawn)
        assert played.move(target, turn_deg=angle)
        place = played.world.position(slot(target))[0, :2]
        assert not played.move(target, xy=place + torch.tensor([0.0, 0.06]))


@in_both_splits
def test_restoring_the_position_alone_is_not_enough(split):
    for drawn in few("rotate_restore", split):
        target, angle = int(drawn.layout.roles["object"]), angle_deg(drawn)
        played = Played(drawn)
        assert not played.move(target, turn_deg=angle)
        home = played.world.position(slot(target))[0, :2]
        assert not played.move(target, xy=home + torch.tensor([0.1, 0.0]))
        assert not played.move(target, xy=home)
        assert not played.move(target, turn_deg=-angle / 2)
        assert played.move(target, turn_deg=-angle / 2)


@in_both_splits
def test_nothing_is_restored_that_was_not_turned(split):
    for drawn in few("rotate_restore", split):
        target, angle = int(drawn.layout.roles["object"]), angle_deg(drawn)
        played = Played(drawn)
        assert not played.look()
        played.move(target, turn_deg=-angle)  # the wrong way, and back
        assert not played.move(target, turn_deg=angle)


@in_both_splits
def test_both_alike_objects_must_be_turned(split):
    for drawn in few("rotate_symmetry", split):
        (one, other), angle = drawn.layout.roles["objects"], angle_deg(drawn)
        played = Played(drawn)
        assert not played.move(one, turn_deg=angle)
        assert not played.move(other, turn_deg=-angle)
        assert played.move(other, turn_deg=2 * angle)


@in_both_splits
@pytest.mark.parametrize("key", ["swap", "swap_rotate"])
def test_both_objects_must_be_in_the_place_of_the_other(key, split):
    for drawn in few(key, split):
        roles = drawn.layout.roles
        (first, second), (here, there) = roles["objects"], roles["poses"][:, :2]
        turn = angle_deg(drawn) if key == "swap_rotate" else 0.0
        played = Played(drawn)
        assert not played.move(first, roles["aside"])
        assert not played.move(second, here, turn)
        assert played.move(first, there, turn)
        assert not played.move(second, roles["aside"])
        assert not played.move(first, here)


@in_both_splits
def test_swapped_objects_must_be_turned_too(split):
    for drawn in few("swap_rotate", split):
        roles, angle = drawn.layout.roles, angle_deg(drawn)
        (first, second), (here, there) = roles["objects"], roles["poses"][:, :2]
        for turns in ((angle, 0.0), (0.0, angle), (angle, -angle), (-angle, -angle), (0.0, 0.0)):
            played = Played(drawn)
            played.move(first, roles["aside"])
            played.move(second, here, turns[0])
            assert not played.move(first, there, turns[1]), turns


@pytest.mark.parametrize("key", TURNING)
def test_rotations_are_worded_as_they_are_counted(key):
    for drawn in scenes(key, "train"):
        angle = angle_deg(drawn)
        word = "anti-clockwise" if angle > 0 else "clockwise"
        assert f" {abs(round(angle))} degrees {word}" in f" {drawn.prompt.plain()}"
        for leaf in drawn.goal.leaves():
            if isinstance(leaf, Rotated):
                assert float(leaf.angle_rad[0]) == pytest.approx(radians(angle), abs=1e-6)
