"""Ranges of seeds do not overlap where they must not; names of episodes are read as written."""

import pytest

from clevrskills.core.episode import (
    DAGGER,
    DEMONSTRATIONS,
    FROZEN,
    RL_TRAINING,
    SCENES,
    TRAINING,
    RecordedName,
    episode_id,
    episode_name,
)


def test_nothing_that_is_learned_from_is_evaluated_on():
    for learned in (DEMONSTRATIONS, DAGGER, SCENES, RL_TRAINING):
        assert TRAINING.start <= learned.start < learned.stop <= TRAINING.stop
    assert TRAINING.stop == FROZEN.start < FROZEN.stop
    assert FROZEN.start == 1_000_000_000  # the frozen episodes of the package begin there


def test_rounds_of_dagger_and_scenes_have_seeds_of_their_own():
    assert DEMONSTRATIONS.stop == DAGGER.start < DAGGER.stop == SCENES.start


@pytest.mark.parametrize("name", [RecordedName("sort", "test", 7), RecordedName("a_b", "x", 10**9)])
def test_names_are_read_as_written(name):
    assert RecordedName.parse(str(name)) == name
    assert episode_id(name.task, name.split, name.seed) == str(name)


def test_names_sort_by_seed_and_index():
    assert episode_id("sort", "test", 12) == "sort/test_00000012"
    assert episode_name("sort", "test", 7) == "sort_test_007"
    assert episode_name("sort", "train", 7, 1, seed=42) == "sort_train_00000042_r1"


@pytest.mark.parametrize("text", ["sort", "sort/train_7", "sort/train", "sort/train_0000000x", ""])
def test_invalid_names_are_refused(text):
    with pytest.raises(ValueError, match="is not the name of an episode"):
        RecordedName.parse(text)
