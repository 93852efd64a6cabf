"""Tasks with invented words: what the prompt shows is what lies on the table."""

import re

import numpy as np
import pytest

from clevrskills.assets import shape
from clevrskills.envs.scene_sampling import draw_scene
from clevrskills.errors import ClevrSkillsError
from clevrskills.sim.tensor_world import TensorWorld
from clevrskills.suites.clevrskills.wording_checks import draw_layout
from clevrskills.tasks import task
from clevrskills.tasks.novel import ADJECTIVES, NOUNS, SIZES, fits, scaled
from tests.predicates.examples import achieve
from tests.tasks.scenes import SPLITS, scenes

WITH_PAIRS = ("novel_adjective", "novel_adjective_noun")
WITH_NOUNS = ("novel_noun", "novel_adjective_noun")


def pair_of(layout):
    """The object meant and its twin."""
    top = int(layout.roles["top"])
    return layout.bodies[top], layout.bodies[3 - top]


def sizes(body):
    return 2 * np.array(body.geometry.half_extents)


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("key", WITH_PAIRS)
def test_every_pair_differs_as_the_pair_on_the_table(key, split):
    for drawn in scenes(key, split):
        target, twin = pair_of(drawn.layout)
        ratio = sizes(target) / sizes(twin)
        assert (target.shape, target.texture) == (twin.shape, twin.texture)
        assert any(np.allclose(ratio, scale, atol=2e-3) for scale, *_ in SIZES.values())
        examples = {b.key: b for b in drawn.layout.examples}
        pairs = sum(name.startswith("example") for name in examples) // 2
        assert 1 <= pairs <= 3
        for i in range(pairs):
            one, other = examples[f"example_{2 * i}"], examples[f"example_{2 * i + 1}"]
            assert (one.shape, one.texture) == (other.shape, other.texture)
            assert np.allclose(sizes(one) / sizes(other), ratio, atol=2e-3)
            assert all(f"{{obj:{one.key}}} is" in text for text in task(key).prompts(drawn.layout))
        assert all(text.count(" than ") == pairs for text in task(key).prompts(drawn.layout))


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("key", WITH_PAIRS)
def test_the_twin_does_not_do(key, split):
    """The other one of the pair on the base is no success, and changes nothing about the target."""
    for drawn in scenes(key, split)[:6]:
        goal = drawn.goal
        wrong = type(goal)(3 - goal.top, goal.bottom)  # type: ignore[call-arg]
        world = TensorWorld.snapshot(drawn.start)
        assert achieve(wrong, world).holds.all()
        assert not goal.evaluate(world, {}).holds.any()


@pytest.mark.parametrize("key", WITH_PAIRS)
def test_only_the_definition_identifies_the_object(key):
    """Of 400 episodes, who takes the object of unnatural size, the one unlike the image in the
    prompt, the larger one or the one listed first is right in about half.
    """
    right = np.zeros(4)
    for seed in range(400):
        layout = draw_layout(task(key), seed, SPLITS[seed % len(SPLITS)])
        target, twin = pair_of(layout)
        (shown,) = [b for b in layout.examples if b.key == "thing"] or [target]
        natural = 2 * np.array(shape(target.shape).half_extents)
        right += (
            not np.allclose(sizes(target), natural, atol=1e-4),
            not np.allclose(sizes(target), sizes(shown), atol=1e-4),
            np.prod(sizes(target)) > np.prod(sizes(twin)),
            target.key < twin.key,
        )
    if key != "novel_adjective":  # its prompt shows a plain example of the shape alone
        right[1] = 200
    assert (abs(right / 400 - 0.5) <= (0.05, 0.05, 0.1, 0.1)).all(), right


def test_words_in_plain_language_distinguish_the_pair():
    for meaning, (_, word, opposite) in SIZES.items():
        made = task("novel_adjective", meanings=meaning, num_examples=1)
        drawn = draw_scene(made, 4, "train", prompt_index=0)
        (adjective,) = drawn.layout.words
        assert adjective in ADJECTIVES
        expected = rf"The {word} (.+) is {adjective} than the {opposite} \1\. Put the {adjective} "
        assert re.match(expected, drawn.prompt.plain())


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("key", WITH_NOUNS)
def test_nouns_name_the_shapes_of_target_and_base(key, split):
    for drawn in scenes(key, split):
        *_, noun, base = drawn.layout.words
        assert {noun, base} <= set(NOUNS) and noun != base
        examples = {b.key: b for b in drawn.layout.examples}
        target, bottom = (
            drawn.layout.bodies[int(drawn.layout.roles[r])] for r in ("top", "bottom")
        )
        assert examples["noun_0"].shape == target.shape
        assert examples["noun_1"].shape == bottom.shape
        assert examples["noun_0"].texture is None
        alike = [b for b in drawn.layout.bodies if b and b.shape == target.shape]
        assert len(alike) == (2 if key in WITH_PAIRS else 1)
        for wording in task(key).wordings(drawn.layout):
            assert {"{obj:noun_0}", "{obj:noun_1}"} <= set(re.findall(r"\{.*?\}", wording.text))
            assert {noun, base} <= set(re.findall(r"\w+", wording.text.lower()))


def test_adjective_and_nouns_have_different_stems():
    for split in SPLITS:
        for drawn in scenes("novel_adjective_noun", split):
            assert len({word[:3] for word in drawn.layout.words}) == 3


def test_examples_are_not_in_the_scene():
    drawn = draw_scene(task("novel_adjective_noun", num_examples=3), 1, "train")
    assert len(drawn.layout.bodies) == 3 and len(drawn.layout.examples) == 8
    assert len(drawn.start.keys) == 3


@pytest.mark.parametrize("name", ["cube", "letter E", "tuna can"])
def test_scaled_sizes(name):
    assert scaled(name, (1.0, 1.0, 1.8))[2] == pytest.approx(1.8 * scaled(name, (1.0,) * 3)[2])


def test_objects_too_small_or_too_large_to_handle_are_left_out():
    assert fits("letter E", (0.7, 0.7, 0.7))
    assert not fits("letter E", (0.3, 0.3, 0.3))
    assert not fits("plate", (1.5, 1.5, 1.5))


def test_an_unknown_meaning_raises():
    with pytest.raises(ClevrSkillsError, match="meanings='heavier'; allowed: .*'taller'"):
        task("novel_adjective", meanings="heavier")
