"""Wordings of all tasks: enough of them, really different, sentences that cannot be mistaken."""

import re
from itertools import combinations

import pytest
import torch

from clevrskills.assets import shape_names, shape_words, texture_names, texture_words
from clevrskills.assets.names import HELD_OUT_NAMES, SEEN_NAMES
from clevrskills.errors import ClevrSkillsError
from clevrskills.sim.body import Body
from clevrskills.sim.prompt import Prompt
from clevrskills.suites.clevrskills.wording_checks import (
    HELD_OUT,
    KEYSTEPS,
    SEEN,
    draw_layout,
    wording_faults,
)
from clevrskills.tasks import Layout, Sentences, Task, Wording, WordingSet, task, tasks
from clevrskills.tasks.bank import STYLES
from clevrskills.tasks.leaf_slots import listed
from tests.support.envs import base, make_env
from tests.tasks.scenes import SPLITS, TASKS

ALIKE = 0.4
"""Greatest mean share of words that two wordings of a task have in common."""


def plain_of(wording: Wording, layout: Layout) -> str:
    bodies = (*filter(None, layout.bodies), *layout.examples)
    return Prompt(wording.text, bodies, KEYSTEPS, names=(wording.names,)).plain()


def frame(wording: Wording, layout: Layout) -> str:
    """A wording without what it names."""
    bodies = [*filter(None, layout.bodies), *layout.examples]
    text = wording.text
    for body in bodies:
        text = text.replace(f"the {body.called(wording.names, bodies)}", "{obj:it}")
    text = re.sub(r"\{\w+:\w+\}", "_", text)
    text = re.sub(r"(_ is \w+ than _(, | and |\. )?)+", "_ ", text)
    return " ".join(re.findall(r"[\w']+", text.lower()))


@pytest.fixture(scope="module", params=TASKS)
def made(request) -> Task:
    return task(request.param)


def test_there_are_enough_of_each_kind_and_style(made):
    count = made.describe()["wordings"]
    assert count["seen"] >= SEEN and count["held_out"] >= HELD_OUT
    for split in SPLITS:
        wordings = made.wordings(draw_layout(made, 1, split))
        held_out = [w.held_out for w in wordings]
        assert held_out == sorted(held_out)
        assert count == {"seen": held_out.count(False), "held_out": held_out.count(True)}
        for kind in (False, True):
            styles = [w.style for w in wordings if w.held_out == kind]
            assert min(styles.count(style) for style in STYLES) >= 3
            names = {w.names for w in wordings if w.held_out == kind}
            assert names == set(HELD_OUT_NAMES if kind else SEEN_NAMES)
        assert made.prompts(draw_layout(made, 1, split)) == [
            w.text for w in wordings if not w.held_out
        ]


def test_sentences_have_the_phrases_of_their_goal(made):
    for seed in range(4):
        for split in SPLITS:
            assert list(wording_faults(made, draw_layout(made, seed, split))) == []


@pytest.mark.slow
def test_they_are_in_a_thousand_scenes(made):
    torch.set_num_threads(1)
    for seed in range(500):
        for split in SPLITS:
            assert list(wording_faults(made, draw_layout(made, seed, split))) == []


def test_they_differ_by_more_than_names(made):
    layout = draw_layout(made, 3, "train")
    frames = [frame(wording, layout) for wording in made.wordings(layout)]
    assert len(set(frames)) == len(frames), sorted(f for f in frames if frames.count(f) > 1)
    shares = []
    for one, other in combinations([set(text.split()) - {"_"} for text in frames], 2):
        shares.append(len(one & other) / len(one | other))
    assert sum(shares) / len(shares) < ALIKE


def test_the_elaborate_ones_are_longest_and_the_terse_ones_shortest(made):
    layout = draw_layout(made, 3, "train")
    wordings = made.wordings(layout)
    lengths = {
        style: [len(frame(w, layout).split()) for w in wordings if w.style == style]
        for style in STYLES
    }
    means = [sum(lengths[style]) / len(lengths[style]) for style in STYLES]
    assert means == sorted(means)


def test_areas_are_areas():
    for key in ("sort", "throw_sort", "follow_order", "follow_order_restore", "neighbour", "throw"):
        for split in SPLITS:
            layout = draw_layout(task(key), 2, split)
            areas = [body for body in layout.bodies if body and body.static]
            assert all(body.noun == "area" for body in areas)
            for wording in task(key).wordings(layout):
                for area in areas:
                    assert area.name.endswith(" area") and area.shape not in area.name
                    assert area.shape not in area.called(wording.names).split()


def test_lists_have_separators():
    layout = draw_layout(task("sort", num_objects=4, num_areas=3), 0, "train")
    text = task("sort").wordings(layout)[1].text
    assert text.count(" in {obj:area_") == 4
    assert text.count(", {obj:") == 2 and text.count(" and {obj:") == 1
    assert listed(["A"]) == "A" and listed(["A", "B"]) == "A and B"
    assert listed(["A", "B", "C"], ", ", ", and ") == "A, B, and C"


def test_stack_reversed_names_the_order_it_reverses():
    layout = draw_layout(task("stack_reversed"), 0, "train")
    for wording in task("stack_reversed").wordings(layout):
        assert re.search(r"\b(bottom|top|last|lowest|highest|foot|after|next)\b", wording.text), (
            wording.text
        )


# ---- names ----


def test_every_shape_and_texture_has_names_of_its_own_in_all_sets():
    for names, words in ((shape_names(), shape_words), (texture_names(), texture_words)):
        meant: dict[str, str] = {}
        for name in names:
            seen = {words(name, k) for k in SEEN_NAMES}
            held_out = {words(name, k) for k in HELD_OUT_NAMES}
            assert words(name, 0) == name and len(seen) == 3 and len(held_out) == 2
            assert not seen & held_out
            for said in seen | held_out:
                assert meant.setdefault(said, name) == name


def test_objects_of_one_name_are_distinguished():
    others = ("dark red swirl", "red", "swirl", "red swirl", "cyan")
    assert [texture_words(t, 0, others) for t in others] == [
        "dark red swirl",
        "plain red",
        "multicolored swirl",
        "bright red swirl",
        "cyan",
    ]
    assert shape_words("cube", 0, ("puzzle cube", "cube")) == "cuboid"
    assert shape_words("their thing") == "their thing"
    assert texture_words("their cloth", 2) == "their cloth"


def test_the_wording_chooses_the_names():
    layout = draw_layout(task("pick"), 0, "train")
    thing = layout.body("object")
    bodies = [body for body in layout.bodies if body]
    for wording in task("pick").wordings(layout):
        if "{obj:" in wording.text:
            assert thing.called(wording.names, bodies) in plain_of(wording, layout)


@pytest.mark.parametrize(
    ("name", "text", "plain"),
    [
        ("apple", "Take a {obj:thing}.", "Take a red apple."),
        ("apple", "Take an old {obj:thing}.", "Take an old red apple."),
        ("apple", "Is it done? {obj:thing} too.", "Is it done? The red apple too."),
    ],
)
def test_articles_and_capitals(name, text, plain):
    body = Body("thing", name, "red", (0, 0, 0, 1, 0, 0, 0))
    assert Prompt(text, (body,), names=(0,)).plain() == plain


def test_an_article_fits_the_next_word():
    body = Body("thing", "apple", None, (0, 0, 0, 1, 0, 0, 0))
    letter = Body("letter", "letter R", None, (0, 0, 0, 1, 0, 0, 0))
    prompt = Prompt("A {obj:thing} and a {obj:letter}.", (body, letter), names=(3,))
    assert prompt.plain() == "An eating apple and an R-shaped piece."


# ---- choosing ----


def test_wordings_are_drawn_from_the_seen_ones():
    env = make_env("pick", task_args={"num_distractors": 0})
    drawn = set()
    for seed in range(12):
        env.reset(seed=seed)
        wording = base(env).prompt.wording
        assert not wording["held_out"]
        drawn.add(wording["index"])
    env.close()
    assert len(drawn) > 6


def test_a_wording_and_a_style_can_be_chosen():
    env = make_env("pick", prompt_index=25)
    env.reset(seed=0)
    assert base(env).prompt.wording == {"index": 25, "style": "elaborate", "held_out": True}
    assert base(env).prompt.names[0] in HELD_OUT_NAMES
    env.close()
    env = make_env("pick", prompt_style="terse")
    env.reset(seed=0)
    assert base(env).prompt.wording["style"] == "terse"
    env.close()
    with pytest.raises(ClevrSkillsError, match="'curt'; allowed: terse, plain, elaborate"):
        make_env("pick", prompt_style="curt")


def test_a_bank_is_read_line_by_line():
    bank = WordingSet(
        "Do it.", Sentences("One.\nTwo.", plain="Three."), Sentences(elaborate="Four.")
    )
    assert [text for _, text, _ in bank.sentences()] == [
        "Do it.",
        "One.",
        "Three.",
        "Two.",
        "Four.",
    ]
    assert bank.count() == {"seen": 4, "held_out": 1}


def test_a_task_needs_prompts_or_a_bank():
    class Silent(type(task("pick"))):
        bank = None

    layout = draw_layout(task("pick"), 0, "train")
    with pytest.raises(NotImplementedError, match="pick has neither prompts nor a bank"):
        Silent().wordings(layout)


def test_a_task_of_prompts_alone_has_them_as_wordings():
    class Spoken(type(task("pick"))):
        def prompts(self, layout):
            return ["Take it", "Do take it"]

    Spoken.bank = None
    layout = draw_layout(task("pick"), 0, "train")
    assert Spoken().wordings(layout) == [Wording("Take it"), Wording("Do take it")]
    assert Spoken().count_wordings() == {"seen": 2, "held_out": 0}
    assert tasks()["pick"] is type(task("pick"))
