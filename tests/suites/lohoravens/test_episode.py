"""Frozen episodes: packed and read again they equal sampled ones."""

from __future__ import annotations

import json

import pytest

from clevrskills.core.suite import load_suite
from clevrskills.suites.lohoravens.episode import PACKED, pack, unpack

SUITE = load_suite("lohoravens")


@pytest.mark.parametrize("task", ["pick_place_size", "stack_by_side_steps", "circle_by_size"])
def test_packed_episodes_are_read_back_and_others_stay(task: str) -> None:
    episode = SUITE.draw(task, "test", 3)
    data = json.loads(json.dumps(episode.to_json()))
    packed = json.loads(json.dumps(pack(data)))
    assert PACKED in packed and len(json.dumps(packed)) < len(json.dumps(data)) / 2
    assert unpack(packed) == data
    assert SUITE.read_episode({**packed, "index": 7}).index == 7
    assert SUITE.read_episode(packed).content_hash == episode.content_hash
    moved = {**data, "layout": {**data["layout"], "words": ["other"]}}
    assert pack(moved) == moved


def test_frozen_episodes_are_those_of_their_seeds() -> None:
    frozen = SUITE.frozen("pick_place_color", "test")
    assert [episode.index for episode in frozen] == [*range(len(frozen))]
    assert len({episode.content_hash for episode in frozen}) == len(frozen) >= 20
    for episode in frozen[:2]:
        drawn = SUITE.draw("pick_place_color", "test", episode.seed, episode.index)
        assert drawn.content_hash == episode.content_hash
        assert episode.planned_turns == (episode.n_min, episode.limit) == (1, 3)
