"""Wordings of the household's tasks: unique, and parsed back to the goal."""

import re
from collections import Counter

import numpy as np
import pytest

from clevrskills.core.env_config import EnvConfig
from clevrskills.core.suite import load_suite
from clevrskills.errors import ClevrSkillsError, UnknownNameError
from clevrskills.suites.asgardbench.rules.catalogue import catalogue
from clevrskills.suites.asgardbench.tasks.instances import TABLE, banks, read_sentence, wordings
from clevrskills.suites.clevrskills.wording_checks import FAULTS, HELD_OUT, SEEN
from clevrskills.tasks.bank import STYLES
from tests.support.household_grammar import NOT_SO, read

SUITE = load_suite("asgardbench")
MUTATIONS, FEWEST = 200, 30
SWAPS = (
    *(("bowl", "plate"), ("mug", "bowl"), ("mug", "cup"), ("plate", "pan"), ("pan", "pot")),
    *(("potato", "egg"), ("egg", "bread"), ("toast", "egg"), ("microwave", "oven")),
    *(("microwave", "pan"), ("coffee", "tea"), ("fridge", "drawer"), ("cabinet", "fridge")),
    *(("television", "mirror"), ("tv", "mirror"), ("one", "two"), ("a slice", "two slices")),
    *(("dining table", "cabinet"), ("slice", "whole")),
)
"""Words that make a sentence ask for something else."""


def mutations(text, variant, kinds):
    """Yield a sentence with other objects, numbers or places, or a negation dropped."""
    for one, other in (*SWAPS, *(pair[::-1] for pair in SWAPS)):
        if not re.search(rf"\b{other}\b", text, re.I):
            yield re.sub(rf"\b{one}\b", other, text, flags=re.I)
    for found in NOT_SO.finditer(text):
        yield text.replace(found[0], found[0].replace("not ", ""))
    named = [*variant.objects, *filter(None, [variant.food])]
    for one in named:
        for other in {t for types in kinds.values() for t in types} - {*named}:
            yield re.sub(rf"\b{one}\b", other, text)


@pytest.mark.parametrize("task", TABLE)
def test_a_separate_reader_finds_the_goal_and_every_mutation(task):
    classes = catalogue().classes
    kinds = {name: classes[name.title()] for name in ("food", "silverware", "dishes")}
    kinds["dishes"] = (*kinds["dishes"], "Pan")
    changed, generator = dict[str, tuple[object, ...]](), np.random.default_rng(1)
    for variant in {(v.objects, v.food): v for v in TABLE[task]}.values():
        meaning = (task, variant.objects, variant.food)
        for wording in wordings(task, variant):
            assert read(wording.text, kinds) == meaning, wording.text
            new = {*mutations(wording.text, variant, kinds)} - {wording.text}
            changed |= dict.fromkeys(new, meaning)
    some = generator.permutation(sorted(changed))[:MUTATIONS].tolist()
    assert len(some) >= FEWEST
    assert not [text for text in some if read(text, kinds) == changed[text]]


@pytest.mark.parametrize("task", TABLE)
def test_wordings_are_parsed_back(task):
    assert banks()[task].count() == {"seen": SEEN, "held_out": HELD_OUT}
    assert set(SUITE.tasks[task].details["wordings"].values()) == {SEEN, HELD_OUT}
    for variant in {v.objects: v for v in TABLE[task]}.values():
        for wording in wordings(task, variant):
            found = [fault for fault, pattern in FAULTS.items() if pattern.search(wording.text)]
            assert not found, (found, wording.text)
            read, given = read_sentence(wording.text)
            assert (read, given.objects, given.food) == (task, variant.objects, variant.food)
    styles = Counter((w.style, w.held_out) for w in wordings(task, TABLE[task][0]))
    assert set(styles) == {(style, held_out) for style in STYLES for held_out in (False, True)}


def test_wordings_are_unique_and_others_are_refused():
    texts = {w.text for task in TABLE for w in wordings(task, TABLE[task][0])}
    assert len(texts) == 30 * len(TABLE)
    with pytest.raises(ClevrSkillsError, match="not a known instruction"):
        read_sentence("Paint the kitchen.")


def test_prompt_variants():
    episode = SUITE.frozen("distribute", "test")[0]
    env = SUITE.make(EnvConfig("distribute"))
    env.reset(options={"episode": episode})
    seen = [SUITE.prompt_variant(episode, "seen", k) for k in range(20)]
    held_out = [SUITE.prompt_variant(episode, "held_out", k) for k in range(10)]
    assert seen[0].text == episode.text == SUITE.prompt_variant(episode, "own", 3).text
    assert len({given.text for given in (*seen, *held_out)}) == 30
    assert [given.wording["held_out"] for given in (seen[1], held_out[0])] == [False, True]
    assert all(given.about == env.prompt.about for given in (*seen, *held_out))
    assert SUITE.prompt_variant(episode, "empty", 0).text == ""
    other = SUITE.prompt_variant(episode, "other_task", 5)
    assert read_sentence(other.text)[0] == other.wording["task"] != "distribute"
    with pytest.raises(UnknownNameError, match="wording"):
        SUITE.prompt_variant(episode, "shouted", 0)


def test_training_episodes_have_various_wordings():
    given = {SUITE.draw("turn_on_tv", "train", seed).text for seed in range(12)}
    assert len(given) > 5
    episodes = SUITE.frozen("turn_on_tv", "test")
    assert {episode.text for episode in episodes} == {banks()["turn_on_tv"].paper}
