"""Train and test must share nothing, and together use the whole catalogue."""

from dataclasses import fields

import numpy as np
import pytest

from clevrskills.assets import pools, shape, shape_names, texture_names
from clevrskills.assets.topside import heights
from clevrskills.errors import ClevrSkillsError

TRAIN, TEST = pools("train"), pools("test")


def test_nothing_is_shared():
    assert not set(TRAIN.shapes) & set(TEST.shapes)
    assert not set(TRAIN.textures) & set(TEST.textures)


def test_the_whole_catalogue_is_used():
    assert sorted(TRAIN.shapes + TEST.shapes) == sorted(shape_names())
    assert sorted(TRAIN.textures + TEST.textures) == sorted(texture_names())


@pytest.mark.parametrize("split", ["train", "test"])
def test_pools_have_no_repeats_and_are_not_empty(split):
    for field in fields(pools(split)):
        names = getattr(pools(split), field.name)
        assert names and len(set(names)) == len(names)


def test_proportions():
    assert len(TRAIN.base) == 13 and len(TRAIN.top) >= 26 and len(TRAIN.random) == 11
    assert TRAIN.primitive == ("cube", "cylinder", "triangle", "hexagon")
    assert min(len(TEST.base), len(TEST.top), len(TEST.random), len(TEST.primitive)) >= 6


def test_the_test_split_of_the_paper_is_unchanged():
    paper = pools("paper_test")
    assert paper.primitive == ("star",)
    assert paper.base == ("foam brick", "oval dish", "heart", "diamond")
    assert paper.top == ("tuna can", "letter G", "letter S", "letter V")
    assert paper.random == ("lemon", "mushroom", "scissors", "spatula", "bell")
    assert paper.textures == TEST.textures


@pytest.mark.parametrize("name", [*TRAIN.base, *TEST.base])
def test_bases_carry_other_objects(name):
    """The middle 60 mm of a base are level, and what lies there is not much below the rim."""
    base = shape(name)
    assert base.density <= 800
    ticks = np.linspace(-0.03, 0.03, 13)
    xy = np.stack(np.meshgrid(ticks, ticks), axis=-1).reshape(-1, 2)
    level = heights(base, xy[np.linalg.norm(xy, axis=1) <= 0.03])
    assert np.ptp(level) < 1e-6
    assert base.half_extents[2] - level[0] <= 0.0205
    assert min(base.half_extents[:2]) >= 0.048


@pytest.mark.parametrize("name", [*TRAIN.top, *TEST.top])
def test_tops_fit_on_bases(name):
    assert 2 * max(shape(name).half_extents[:2]) <= 0.111


def test_unknown_split_lists_the_known_ones():
    with pytest.raises(
        ClevrSkillsError, match="unknown split 'validation'; allowed: train, val, test, "
    ):
        pools("validation")
