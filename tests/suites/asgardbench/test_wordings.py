"""Wordings of the household's tasks: sentences that are read back, no two alike."""

from collections import Counter

import pytest

from clevrskills.core.env_config import EnvConfig
from clevrskills.core.suite import load_suite
from clevrskills.errors import ClevrSkillsError, UnknownNameError
from clevrskills.suites.asgardbench.tasks.instances import TABLE, banks, read_sentence, wordings
from clevrskills.suites.clevrskills.wording_checks import FAULTS, HELD_OUT, SEEN
from clevrskills.tasks.bank import STYLES

SUITE = load_suite("asgardbench")


@pytest.mark.parametrize("task", TABLE)
def test_each_family_has_sentences_that_are_read_back(task):
    assert banks()[task].count() == {"seen": SEEN, "held_out": HELD_OUT}
    assert set(SUITE.tasks[task].details["wordings"].values()) == {SEEN, HELD_OUT}
    for variant in {v.objects: v for v in TABLE[task]}.values():
        for wording in wordings(task, variant):
            found = [fault for fault, pattern in FAULTS.items() if pattern.search(wording.text)]
            assert not found, (found, wording.text)
            read, told = read_sentence(wording.text)
            assert (read, told.objects, told.food) == (task, variant.objects, variant.food)
    styles = Counter((w.style, w.held_out) for w in wordings(task, TABLE[task][0]))
    assert set(styles) == {(style, held_out) for style in STYLES for held_out in (False, True)}


def test_no_two_sentences_are_alike():
    texts = Counter(w.text for task in TABLE for w in wordings(task, TABLE[task][0]))
    assert len(texts) == 30 * len(TABLE)


def test_what_is_no_sentence_is_refused():
    with pytest.raises(ClevrSkillsError, match="no task"):
        read_sentence("Paint the kitchen.")


def test_an_episode_is_told_in_other_wordings():
    episode = SUITE.frozen("distribute", "test")[0]
    env = SUITE.make(EnvConfig("distribute"))
    env.reset(options={"episode": episode})
    seen = [SUITE.prompt_variant(episode, "seen", k) for k in range(20)]
    held_out = [SUITE.prompt_variant(episode, "held_out", k) for k in range(10)]
    assert seen[0].text == episode.text == SUITE.prompt_variant(episode, "own", 3).text
    assert len({told.text for told in (*seen, *held_out)}) == 30
    assert [told.wording["held_out"] for told in (seen[1], held_out[0])] == [False, True]
    assert all(told.about == env.prompt.about for told in (*seen, *held_out))
    assert SUITE.prompt_variant(episode, "empty", 0).text == ""
    other = SUITE.prompt_variant(episode, "other_task", 5)
    assert read_sentence(other.text)[0] == other.wording["task"] != "distribute"
    with pytest.raises(UnknownNameError, match="wording"):
        SUITE.prompt_variant(episode, "shouted", 0)


def test_splits_to_train_and_choose_on_are_told_in_many_ways():
    told = {SUITE.draw("turn_on_tv", "train", seed).text for seed in range(12)}
    assert len(told) > 5
    episodes = SUITE.frozen("turn_on_tv", "test")
    assert {episode.text for episode in episodes} == {banks()["turn_on_tv"].paper}
