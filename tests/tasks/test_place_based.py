"""Tasks of putting objects on, in and next to each other: what must not pass for solved."""

import itertools

import numpy as np
import pytest
import torch

from clevrskills.core import geometry
from clevrskills.envs.scene_sampling import draw_scene
from clevrskills.errors import ClevrSkillsError
from clevrskills.predicates import AtPose, Inside, SameStack
from clevrskills.sim.placement import put
from clevrskills.sim.setting import TABLETOP
from clevrskills.sim.tensor_world import TensorWorld
from clevrskills.solvers.oracle import Oracle
from clevrskills.tasks import task
from clevrskills.tasks.l1.neighbour import DIRECTIONS, PHRASES
from tests.support.envs import base, make_env, stay
from tests.support.worlds import index
from tests.tasks.scenes import SPLITS, scenes

STACKS = ("stack", "stack_reversed")
ALL = (
    *STACKS,
    "follow_order",
    "follow_order_restore",
    "neighbour",
    "rearrange",
    "rearrange_restore",
    "sort_stack",
)
SOME = 5


class Play:
    """A drawn scene in which parts are realized one by one."""

    def __init__(self, drawn):
        self.goal, self.world = drawn.goal, TensorWorld.snapshot(drawn.start)
        self.outcome = self.goal.evaluate(self.world, self.goal.initial_state(self.world))

    def realize(self, *parts):
        for part in parts:
            part.realize(self.world)
            self.look()
        return self

    def move(self, slot, xy, bottom_z=0.0):
        """Set a body down elsewhere, its orientation kept."""
        body = index(self.world, slot)
        pose = self.world.pose(body).clone()
        pose[:, 2] += bottom_z - self.world.bottom(body)
        pose[:, :2] = torch.as_tensor(xy)
        self.world.set_body_pose(body, pose)
        self.look()

    def turn(self, slot, angle_rad):
        """Turn a body about world z."""
        body = index(self.world, slot)
        pose = self.world.pose(body).clone()
        turn = geometry.yaw_quaternion(torch.tensor([angle_rad]))
        pose[:, 3:] = geometry.quaternion_multiply(turn, pose[:, 3:])
        self.world.set_body_pose(body, pose)
        self.look()

    def look(self):
        self.outcome = self.goal.evaluate(self.world, self.outcome.state)

    @property
    def solved(self):
        return bool(self.outcome.holds)


@pytest.fixture(params=SPLITS)
def split(request):
    return request.param


def some(key, split, least=0):
    """A few scenes with at least that many bodies."""
    found = [s for s in scenes(key, split) if len([b for b in s.layout.bodies if b]) >= least]
    assert found
    return found[:SOME]


@pytest.mark.parametrize("key", ALL)
def test_held_above_its_place_instead_of_put_there_fails(key, split):
    for drawn in some(key, split):
        play = Play(drawn)
        steps = list(play.goal.steps())
        play.realize(*steps[:-1])
        last = TensorWorld.snapshot(play.world)
        steps[-1].realize(last)
        (moved,) = (last.body_pose != play.world.body_pose).any(-1)[0].nonzero()[-1:, 0]
        body = moved[None]
        pose = last.pose(body).clone()
        pose[:, 2] += 0.02
        if isinstance(steps[-1], SameStack):  # it moves several
            steps[-1].realize(play.world)
        play.world.hold(body, pose)
        play.look()
        assert not play.solved and float(play.outcome.progress) < 1.0
        play.world.set_body_pose(body, pose)  # let go in the air
        play.look()
        assert not play.solved


# ---- stacks ----


@pytest.mark.parametrize("key", STACKS)
def test_the_order_of_a_stack_matters(key, split):
    for drawn in some(key, split):
        play = Play(drawn)
        pairs = list(play.goal.steps())
        tower = [pairs[-1].top, *(pair.bottom for pair in reversed(pairs))]  # from the top
        for upper, lower in zip(tower[1:], tower, strict=False):
            put(play.world, upper, lower, inside=False)
            play.look()
        assert not play.solved


def test_the_stack_named_first_is_the_lowest_or_the_highest(split):
    for key, lowest in (("stack", 0), ("stack_reversed", -1)):
        for drawn in some(key, split):
            slots = drawn.layout.roles["named"][: int(drawn.layout.roles["active"].sum())]
            named = [drawn.layout.slot(slot).key for slot in slots]
            play = Play(drawn)
            play.realize(*play.goal.steps())
            assert play.solved
            heights = {
                k: float(play.world.bottom(torch.tensor([i])))
                for i, k in enumerate(play.world.keys)
                if k in named
            }
            order = sorted(heights, key=heights.__getitem__)
            assert order == (named if lowest == 0 else named[::-1])


def test_a_tower_that_breaks_is_not_solved_any_more(split):
    for drawn in some("stack", split, 3):
        play = Play(drawn)
        pairs = list(play.goal.steps())
        play.realize(*pairs)
        assert play.solved
        play.move(int(pairs[-1].top), (0.3, 0.5))
        assert not play.solved


def test_a_lower_part_that_trembles_does_not_hide_the_reward_of_the_next(split):
    for drawn in some("stack", split, 3):
        play = Play(drawn)
        pairs = list(play.goal.steps())
        play.realize(pairs[0])
        before = float(play.outcome.reward)
        play.world.set_body_velocity(pairs[0].bottom, torch.full((1, 6), 0.01))
        play.look()
        assert not play.outcome.children[0].holds
        assert float(play.outcome.reward) == before > 6.0
        play.realize(*pairs[1:])
        assert not play.solved and float(play.outcome.progress) < 1.0


@pytest.mark.parametrize("key", STACKS)
def test_variants_name_the_same_objects_in_another_order(key):
    plain = draw_scene(task(key, num_objects=3), 5, "train").layout
    orders = set()
    for variant in range(6):
        layout = draw_scene(task(key, num_objects=3, variant=variant), 5, "train").layout
        assert layout.bodies == plain.bodies
        orders.add(tuple(layout.roles["named"].tolist()))
    assert len(orders) == 6
    with pytest.raises(ClevrSkillsError, match="0 to 5"):
        draw_scene(task(key, num_objects=3, variant=6), 5, "train")


# ---- stacks of one texture each ----


def members(drawn):
    return [[k for k in stack if k >= 0] for stack in drawn.layout.roles["stacks"].tolist()]


def test_stacks_have_one_texture_and_two_objects_at_least(split):
    seen = set()
    for drawn in scenes("sort_stack", split):
        stacks = [m for m in members(drawn) if m]
        bodies = drawn.layout.bodies
        textures = [{bodies[k].texture for k in stack} for stack in stacks]
        assert all(len(t) == 1 for t in textures) and len(set.union(*textures)) == len(stacks)
        assert sorted(sum(stacks, [])) == [k for k, b in enumerate(bodies) if b]
        assert all(len(stack) >= 2 for stack in stacks)
        seen |= {len(stacks)}
    assert seen == {1, 2, 3}


def test_any_order_within_a_stack_will_do(split):
    for drawn in some("sort_stack", split):
        play = Play(drawn)
        for stack in members(drawn):
            for lower, upper in zip(stack[::-1], stack[-2::-1], strict=False):
                put(play.world, torch.tensor([upper]), torch.tensor([lower]), inside=False)
        play.look()
        assert play.solved


def test_two_beside_each_other_on_a_third_are_no_stack():
    """Small ones on a wide one: as many objects on others as in a stack."""
    bodies = draw_scene(task("sort_stack", num_textures=1, num_objects=3), 0, "train")
    play = Play(bodies)
    poses = play.world.body_pose[0]
    base = poses[0, :2]
    for slot, shift in ((1, 0.052), (2, -0.052)):
        pose = poses[slot].clone()
        pose[:2] = base + torch.tensor([shift, 0.0])
        pose[2] = 0.075
        play.world.set_body_pose(torch.tensor([slot]), pose[None])
    play.look()
    on = [float(play.world.supports(torch.tensor([0]), torch.tensor([k]))) for k in (1, 2)]
    assert min(on) >= 0.5 and not play.solved


def test_a_tower_of_everything_is_not_sorted(split):
    for drawn in some("sort_stack", split):
        groups = [m for m in members(drawn) if m]
        play = Play(drawn)
        tower = sum(groups, [])
        for lower, upper in zip(tower, tower[1:], strict=False):
            put(play.world, torch.tensor([upper]), torch.tensor([lower]), inside=False)
        play.look()
        assert play.solved == (len(groups) == 1)


def test_stacks_of_mixed_textures_do_not_count(split):
    for drawn in some("sort_stack", split, 4):
        groups = [m for m in members(drawn) if m]
        if len(groups) < 2:
            continue
        play = Play(drawn)
        for lower, upper in zip(groups[0], groups[1], strict=False):
            put(play.world, torch.tensor([upper]), torch.tensor([lower]), inside=False)
        play.look()
        assert not play.solved and float(play.outcome.reward) < 6.0


# ---- areas in order ----


def test_areas_count_only_in_their_turn(split):
    drawn = [s for s in scenes("follow_order", split) if s.layout.roles["active"].sum() >= 2][0]
    play = Play(drawn)
    first, second, *more = play.goal.steps()
    play.realize(second, *more)
    assert not play.solved
    assert int(play.outcome.state["stage"]) == 0
    play.realize(first)
    assert int(play.outcome.state["stage"]) == 1 and not play.solved
    play.realize(second, *more)
    assert play.solved


@pytest.mark.parametrize("seed", [1_000_000_001, 1_000_000_002, 1_000_000_018])
def test_the_object_is_not_pushed_aside_by_pieces_of_its_area(seed):
    """An S on a star: pieces that touch exactly were pushed apart by 0.8 mm."""
    env = make_env("follow_order_restore", split="test")
    env.reset(seed=seed)
    layout = base(env).layouts[0]
    start = layout.bodies[int(layout.roles["route"][0])]
    assert len(start.geometry.parts) > 1 and len(layout.bodies[4].geometry.parts) > 1
    laid = torch.tensor(layout.bodies[4].pose[:3])
    assert float((base(env).world.body_pose[0, 4, :3] - laid).norm()) < 1e-4
    env.close()


@pytest.mark.parametrize("key", ["follow_order", "follow_order_restore"])
def test_the_object_starts_in_an_area_that_is_not_visited(key, split):
    for drawn in scenes(key, split):
        roles = drawn.layout.roles
        route = roles["route"].tolist()
        visits = int(roles["active"].sum())
        assert 1 <= visits < sum(b is not None for b in drawn.layout.bodies[:4])
        assert len(set(route[: visits + 1])) == visits + 1
        start = Inside(torch.tensor([4]), torch.tensor([route[0]]))
        assert start.evaluate(drawn.start, {}).holds.all()


@pytest.mark.parametrize(
    ("shift_m", "angle_rad", "restored"),
    [(0.0, 0.0, True), (0.04, 0.0, True), (0.06, 0.0, False), (0.0, 0.5, False)],
)
def test_restored_is_the_pose_not_the_area(shift_m, angle_rad, restored, split):
    for drawn in some("follow_order_restore", split):
        play = Play(drawn)
        *visits, back = play.goal.steps()
        play.realize(*visits)
        assert not play.solved
        back.realize(play.world)
        xy = play.world.position(torch.tensor([4]))[0, :2]
        play.move(4, xy + torch.tensor([shift_m, 0.0]), 0.01)
        if angle_rad:
            play = Play(drawn).realize(*visits)
            back.realize(play.world)
            play.turn(4, angle_rad)
        assert play.solved == restored


def test_back_without_having_been_away_is_not_restored(split):
    for drawn in some("follow_order_restore", split):
        play = Play(drawn)
        play.realize(list(play.goal.steps())[-1])
        assert not play.solved


# ---- neighbors ----


def test_the_neighbour_put_in_first_does_not_count(split):
    done = 0
    for drawn in scenes("neighbour", split):
        play = Play(drawn)
        first, second = play.goal.steps()
        early = Inside(second.top, second.bottom)
        try:
            play.realize(early, first)
        except ValueError:  # in the middle of a narrow area it leaves no room for the other
            continue
        done += 1
        assert not play.solved and float(play.outcome.progress) < 1.0
        start = drawn.start.position(second.top)[0, :2]
        play.move(int(second.top), start)  # aside, and in again
        play.realize(early)
        assert play.solved
    assert done


def test_both_must_be_in_at_the_end(split):
    for drawn in some("neighbour", split):
        play = Play(drawn)
        first, second = play.goal.steps()
        play.realize(first, second)
        assert play.solved
        play.move(int(first.top), drawn.start.position(first.top)[0, :2])
        assert not play.solved


def neighbours_of(layout):
    """The object named, its neighbor, and the others."""
    named = [layout.body(name) for name in ("first", "second")]
    return [*named, *(b for b in layout.bodies[3:] if b and b not in named)]


def test_just_one_object_lies_in_the_direction_named(split):
    for drawn in scenes("neighbour", split):
        direction = list(DIRECTIONS)[int(drawn.layout.roles["direction"])]
        here, *others = [b.pose[:2] for b in neighbours_of(drawn.layout)]
        offsets = [np.subtract(other, here) for other in others]
        cosines = [o @ DIRECTIONS[direction] / np.linalg.norm(o) for o in offsets]
        assert len(others) >= 2  # or else the direction would say nothing
        assert cosines[0] == pytest.approx(1.0) and all(c <= 0.0 for c in cosines[1:])
        assert all(PHRASES[direction] in text for text in task("neighbour").prompts(drawn.layout))


def test_the_direction_named_is_that_in_the_image(split):
    right_and_down = {"left": (-1, 0), "right": (1, 0), "towards": (0, -1), "away": (0, 1)}
    for drawn in scenes("neighbour", split):
        direction = list(DIRECTIONS)[int(drawn.layout.roles["direction"])]
        feet = np.array([[*b.pose[:2], 0.0] for b in neighbours_of(drawn.layout)])
        here, *others = TABLETOP.main_camera.pixels(feet)
        ways = [(other - here) / np.linalg.norm(other - here) for other in others]
        cosines = [way @ right_and_down[direction] for way in ways]
        assert cosines[0] >= 0.8 and all(c <= 0.5 for c in cosines[1:])


def test_another_object_than_the_neighbour_does_not_do(split):
    with_three = [s for s in scenes("neighbour", split) if s.layout.bodies[5]]
    for drawn in with_three[:3]:
        play, right = Play(drawn), Play(drawn)
        first, second = play.goal.steps()
        right.realize(first, second)
        play.realize(first)
        (other, *_) = {3, 4, 5} - {int(drawn.layout.roles[name]) for name in ("first", "second")}
        play.move(other, right.world.position(second.top)[0, :2], 0.01)
        assert right.solved and not play.solved


def test_arguments_of_neighbour():
    drawn = draw_scene(task("neighbour", num_distractors=2, directions="right"), 3, "train")
    assert drawn.layout.bodies[5] and drawn.layout.bodies[6]
    assert " on the right" in drawn.prompt.text
    with pytest.raises(ClevrSkillsError, match="'away', 'towards', 'right', 'left'"):
        task("neighbour", directions="up")
    with pytest.raises(ClevrSkillsError, match="num_distractors=0; allowed: .* from 1 to 3"):
        task("neighbour", num_distractors=0)


# ---- rearranging ----


def test_no_place_is_where_another_object_is_at_the_start(split):
    for key in ("rearrange", "rearrange_restore"):
        for drawn in scenes(key, split):
            used = [k for k, b in enumerate(drawn.layout.bodies) if b]
            target = torch.as_tensor(drawn.layout.roles["target"]).float()
            turned = geometry.rotate(
                drawn.start.body_pose[0, :, None, 3:], drawn.start.solids.points[0]
            )
            for k in used:
                there = turned[k, :, :2] + target[k, :2]
                for j in used:
                    here = turned[j, :, :2] + drawn.start.body_pose[0, j, :2]
                    assert float(torch.cdist(there, here).min()) > 0.03


@pytest.mark.parametrize("key", ["rearrange", "rearrange_restore"])
def test_all_places_count_at_once(key, split):
    for drawn in some(key, split):
        places = list(drawn.goal.steps())[: int(drawn.layout.roles["active"].sum())]
        play = Play(drawn)
        play.realize(*places[:-1])
        home = drawn.start.position(places[0].object)[0, :2]
        play.move(int(places[0].object), home)
        play.realize(places[-1])
        assert not play.solved and float(play.outcome.progress) < 1.0


def test_swapped_places_are_not_the_places_shown(split):
    for drawn in some("rearrange", split):
        play = Play(drawn)
        target = drawn.layout.roles["target"]
        for k, body in enumerate(filter(None, drawn.layout.bodies)):
            assert body.key == play.world.keys[k]
            count = int(drawn.layout.roles["active"].sum())
            play.move(k, target[(k + 1) % count][:2].astype(np.float32))
        assert not play.solved


def test_places_are_shown_with_the_orientation_kept(split):
    for drawn in some("rearrange", split):
        shown = drawn.keysteps()[-1].bodies
        for body, start in zip(shown, filter(None, drawn.layout.bodies), strict=True):
            assert body.pose[3:] == pytest.approx(start.pose[3:], abs=1e-5)
            assert body.pose[:2] != start.pose[:2]


def test_restored_needs_the_rearrangement_and_the_orientation(split):
    for drawn in some("rearrange_restore", split):
        play = Play(drawn)
        steps = list(play.goal.steps())
        there, back = steps[: len(steps) // 2], steps[len(steps) // 2 :]
        assert all(isinstance(step, AtPose) for step in back)
        play.realize(*back)
        assert not play.solved
        play.realize(*there)
        assert not play.solved
        play.realize(*back[:-1])
        back[-1].realize(play.world)
        play.turn(int(back[-1].object), 0.5)
        assert not play.solved
        play.turn(int(back[-1].object), -0.5)
        assert play.solved


# ---- the oracle, from states that are harder than the start ----


def _solves(env):
    oracle = Oracle(base(env))
    for _ in range(900):
        *_, terminated, truncated, info = env.step(oracle.act())
        if terminated or truncated:
            break
    return info["success"]


def test_the_oracle_takes_out_an_object_put_in_too_early():
    env = make_env("neighbour")
    env.reset(seed=1)
    _, second = base(env).goal.leaves()
    put(base(env).world, second.top, second.bottom, inside=True)
    stay(env, 12)
    assert bool(base(env).outcome.children[1].state["early"])
    assert _solves(env)


@pytest.mark.slow
@pytest.mark.parametrize("key", [*STACKS, "sort_stack"])
def test_the_oracle_takes_a_wrong_tower_apart(key, split):
    env = make_env(key, split=split)
    env.reset(seed=2)
    bodies = [k for k, b in enumerate(base(env).layouts[0].bodies) if b]
    tower = np.random.default_rng(2).permutation(bodies).tolist()
    for lower, upper in itertools.pairwise(tower):
        put(base(env).world, torch.tensor([upper]), torch.tensor([lower]), inside=False)
        stay(env, 12)
    assert not base(env).outcome.holds.any()
    assert _solves(env)
