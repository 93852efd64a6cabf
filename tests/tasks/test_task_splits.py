"""What the episodes of each split show, and what they leave out."""

import numpy as np
import pytest

from clevrskills.assets import SPLITS, pools
from clevrskills.assets.splits import shows_order, shows_pair
from clevrskills.envs.environment import ClevrSkillsEnv
from clevrskills.envs.episode import EpisodeSpec
from clevrskills.envs.scene_sampling import draw_scene
from clevrskills.errors import UnknownNameError
from clevrskills.tasks import LayoutError, task, tasks

SEEDS = range(500, 504)
HAVE = [(key, split) for key, kind in tasks().items() for split in kind.splits()]
ORDERED = {
    "follow_order": lambda layout: visited(layout),
    "follow_order_restore": lambda layout: visited(layout),
    "neighbour": lambda layout: [layout.body("first"), layout.body("second")],
    "stack": lambda layout: named(layout),
    "stack_reversed": lambda layout: named(layout)[::-1],
    "stack_topple": lambda layout: named(layout),
}
"""The bodies of sub-goals, in the order in which they are reached."""
COUNTED = ("match_pose", "trace", "follow_order", "follow_order_restore")
"""Tasks that count goals or visits, not what lies there."""


def visited(layout):
    route = layout.roles["route"][: 1 + int(layout.roles["active"].sum())]
    return [layout.bodies[slot] for slot in route]


def named(layout):
    used = int(layout.roles["active"].sum())
    return [layout.bodies[slot] for slot in layout.roles["named"][:used]]


def layout_of(key, split, seed):
    made = task(key).in_split(split)
    for attempt in range(200):
        try:
            return made.draw(seed, attempt, split)[0]
        except LayoutError:
            continue
    raise AssertionError(f"{key} {split} {seed}")


def pairs_of(layout):
    shapes = pools("train").shapes
    bodies = (*filter(None, layout.bodies), *layout.examples)
    return [(b.shape, b.texture) for b in bodies if b.texture and b.shape in shapes]


@pytest.mark.parametrize(("key", "split"), HAVE)
def test_episodes_follow_the_rules_of_their_split(key, split):
    rule, known = SPLITS[split], pools(split)
    for seed in SEEDS:
        layout = layout_of(key, split, seed)
        for item, texture in pairs_of(layout):
            assert shows_pair(split, item, texture), (item, texture)
            if rule.pairs != "all":
                assert item in known.shapes and texture in known.textures
                assert shows_pair("combinations", item, texture) == (rule.pairs == "held out")
        if key in ORDERED:
            textures = [body.texture for body in ORDERED[key](layout)]
            for one, then in zip(textures, textures[1:], strict=False):
                assert shows_order(split, one, then), (one, then)
                if rule.orders != "all":
                    assert shows_order("orders", one, then) == (rule.orders == "held out")


def how_many(key, layout):
    if key in COUNTED:
        return int(layout.roles["active"].sum())
    return len([b for b in (*layout.bodies, *layout.examples) if b])


@pytest.mark.parametrize("key", [key for key, split in HAVE if split == "counts"])
def test_counts_has_one_more_than_training(key):
    kind = tasks()[key]
    most = getattr(kind(), kind.count_argument)[1]
    usual, more = kind(), kind().in_split("counts")
    assert getattr(more, kind.count_argument) == (most + 1, most + 1)
    there = [how_many(key, layout_of(key, "train", seed)) for seed in range(12)]
    with_more = [how_many(key, layout_of(key, "counts", seed)) for seed in SEEDS]
    if key in COUNTED:
        assert set(with_more) == {most + 1} and max(there) <= most
    else:
        assert min(with_more) > np.mean(there)
    assert set(usual.slots) <= set(more.slots) and len(more.slots) - len(usual.slots) in (0, 1)


def test_an_argument_sets_the_number_even_in_counts():
    assert task("pick", num_distractors=1).in_split("counts").num_distractors == (1, 1)
    spec = EpisodeSpec.draw("pick", "counts", 3)
    assert spec.task_args == {"num_distractors": (4, 4)}
    assert EpisodeSpec.from_json(spec.to_json()).content_hash == spec.content_hash


def test_an_episode_of_counts_starts():
    env = ClevrSkillsEnv("sort", split="counts", obs_mode="none")
    env.reset(options={"episode": EpisodeSpec.draw("sort", "counts", 7)})
    assert len(env.task.slots) == 8 and sum(b is not None for b in env.layouts[0].bodies[3:]) == 5
    env.close()


@pytest.mark.parametrize("key", tasks())
def test_no_two_splits_share_a_scene(key):
    made, places = task(key), set()
    for seed in SEEDS:
        for split in ("train", "val", "test", "paper_test"):
            layout = draw_scene(made, seed, split).layout
            free = (b for k, b in enumerate(layout.bodies) if b and k != layout.in_gripper)
            own = {body.pose[:2] for body in free if body.movable}
            assert not own & places
            places |= own


@pytest.mark.parametrize("key", tasks())
def test_test_has_other_objects_than_train(key):
    made = task(key)
    for seed in SEEDS:
        unseen, seen = (draw_scene(made, seed, split).layout for split in ("test", "train"))
        shapes = [{b.shape for b in (*u.bodies, *u.examples) if b} for u in (unseen, seen)]
        textures = [{b.texture for b in u.bodies if b} for u in (unseen, seen)]
        assert not shapes[0] & shapes[1] & set(pools("train").shapes)
        if key != "trace":  # its goals are green and red in all splits
            assert not textures[0] & textures[1] & set(pools("train").textures)


def test_roles_has_bases_that_training_only_puts_on_others():
    train, seen = pools("train"), set()
    for key in (key for key, split in HAVE if split == "roles"):
        for seed in SEEDS:
            layout = layout_of(key, "roles", seed)
            base = layout.body("bottom")
            assert base.shape in train.movable and base.shape not in train.base + train.primitive
            assert base.texture in train.textures_1
            assert layout.body("top").texture in train.textures_2
            seen.add(base.shape)
    assert len(seen) >= 5


def test_each_split_is_had_by_the_tasks_that_it_makes_sense_for():
    have = {split: {key for key, own in HAVE if own == split} for split in SPLITS}
    everywhere = ("train", "val", "test", "paper_test", "combinations")
    assert all(have[split] == set(tasks()) for split in everywhere)
    assert set(tasks()) - have["counts"] == {"throw", "throw_topple", "swap_push"}
    assert have["orders"] == set(ORDERED)
    assert len(have["roles"]) == 5


def test_a_split_that_a_task_has_not():
    with pytest.raises(UnknownNameError, match="unknown split of pick 'orders'; allowed: train, v"):
        ClevrSkillsEnv("pick", split="orders", obs_mode="none")


def test_one_combination_in_five_is_held_out():
    known = pools("train")
    for shapes, textures in (
        (known.primitive, known.textures_1),
        (known.movable, known.textures_1),
        (known.base, known.textures_2),
    ):
        held_out = [shows_pair("combinations", s, t) for s in shapes for t in textures]
        assert 0.17 < np.mean(held_out) < 0.23
    orders = [
        shows_order("orders", a, b) for a in known.textures_1 for b in known.textures_1 if a != b
    ]
    assert 0.17 < np.mean(orders) < 0.23
