"""Prompts: cutting up, plain words, images, JSON."""

import copy
import json
import os
import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from clevrskills.errors import ClevrSkillsError, UnknownNameError
from clevrskills.sim.body import Body
from clevrskills.sim.prompt import DeferredPrompt, Keystep, Prompt

ROOT = Path(__file__).parents[2]
CUBE = Body("object_0", "cube", "red swirl", (-0.2, 0.1, 0.025, 1.0, 0.0, 0.0, 0.0), (0.05,) * 3)
LETTER = Body("object_1", "letter R", "yellow", (-0.1, -0.1, 0.01, 0.6, 0.0, 0.0, 0.8))
PLAIN = Body("area_0", "hexagon", None, (-0.3, 0.0, 0.005, 1, 0, 0, 0), (0.2, 0.2, 0.01), True)
BODIES = (CUBE, LETTER, PLAIN)
MOVED = (replace(CUBE, pose=(-0.3, 0.0, 0.035, 1.0, 0.0, 0.0, 0.0)), LETTER, PLAIN)
TEXT = "Put {obj:object_0} with {tex:object_1} beside {obj:object_0}, then {ks:1}."


def prompt(text=TEXT):
    return Prompt(text, BODIES, (Keystep(BODIES), Keystep(MOVED)))


def test_placeholders_each_once_in_order():
    assert prompt().placeholders() == [("obj", "object_0"), ("tex", "object_1"), ("ks", "1")]
    assert prompt("nothing").placeholders() == []


def test_parts_in_order():
    assert prompt().parts() == [
        ("text", "Put "),
        ("obj", "object_0"),
        ("text", " with "),
        ("tex", "object_1"),
        ("text", " beside "),
        ("obj", "object_0"),
        ("text", ", then "),
        ("ks", "1"),
        ("text", "."),
    ]


@pytest.mark.parametrize("text", [TEXT, "words", "{obj:object_0}", "{ks:0}{ks:1}", "", "a {ks:0}"])
def test_parts_make_up_the_text(text):
    parts = prompt(text).parts()
    joined = "".join(words if kind == "text" else f"{{{kind}:{words}}}" for kind, words in parts)
    assert joined == text
    assert all(words for _, words in parts)


@pytest.mark.parametrize(
    "access",
    [
        lambda deferred: deferred == prompt(),
        lambda deferred: prompt() == deferred,
        lambda deferred: pickle.loads(pickle.dumps(deferred)) == prompt(),
        lambda deferred: copy.deepcopy(deferred) == prompt(),
        lambda deferred: replace(deferred, text="words") == prompt("words"),
        lambda deferred: deferred.text == TEXT,
        lambda deferred: repr(deferred) == repr(prompt()),
    ],
)
def test_deferred_prompt_is_worded_once_and_then_like_any_other(access):
    calls = []
    deferred = DeferredPrompt(lambda: calls.append(1) or prompt())
    assert not calls
    assert access(deferred)
    assert deferred.parts() == prompt().parts()
    assert type(deferred) is Prompt and calls == [1]


def test_deferred_prompt_that_cannot_be_worded_raises_at_each_access():
    deferred = DeferredPrompt(lambda: prompt("{obj:object_9}"))
    for _ in range(2):
        with pytest.raises(UnknownNameError, match="object_9"):
            deferred.plain()


def test_plain_words():
    cube = "the red swirl cube"
    assert prompt().plain() == (
        f"Put {cube} with yellow beside {cube}, then the scene at key-step 1."
    )
    assert prompt().plain("Lift {obj:object_1}") == "Lift the yellow letter R"
    assert prompt().plain("Lift the {obj:object_1}") == "Lift the yellow letter R"
    assert prompt().plain("The {tex:object_1} one, as in the {ks:0}") == (
        "The yellow one, as in the scene at key-step 0"
    )
    assert prompt("{obj:area_0}").plain() == "The hexagon"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "{obj:object_7}",
            "unknown obj of the prompt 'object_7'; allowed: object_0, object_1, area_0",
        ),
        ("{tex:cube}", "unknown tex of the prompt 'cube'"),
        ("{pic:object_0}", "unknown kind of placeholder 'pic'; allowed: obj, tex, ks"),
        ("{ks:2}", "unknown ks of the prompt '2'; allowed: 0, 1"),
        ("{ks:last}", "unknown ks of the prompt 'last'"),
    ],
)
def test_unknown_placeholders_raise(text, message):
    with pytest.raises(UnknownNameError, match=message):
        prompt(text)


def test_unknown_bodies_in_other_texts_raise():
    with pytest.raises(ClevrSkillsError, match="'object_7'"):
        prompt().plain("{obj:object_7}")


def test_keysteps_must_be_given():
    with pytest.raises(UnknownNameError):
        Prompt("{ks:0}", BODIES)


def test_json_round_trip_keeps_the_other_texts():
    original = replace(prompt(), others=("Do {obj:object_0}", "Do it"))
    assert Prompt.from_json(json.loads(json.dumps(original.to_json()))) == original


def test_json_round_trip():
    data = json.loads(json.dumps(prompt().to_json()))
    copy = Prompt.from_json(data)
    assert copy == prompt()
    assert copy.to_json() == prompt().to_json()
    assert copy.keysteps[1].bodies[0].pose == MOVED[0].pose
    assert data["bodies"][0]["name"] == "red swirl cube"


def test_bad_json_raises():
    data = prompt().to_json() | {"text": "{obj:nobody}"}
    with pytest.raises(UnknownNameError):
        Prompt.from_json(data)


# ---- images ----


@pytest.fixture(scope="module")
def images():
    return prompt(
        "{obj:object_0} {obj:object_1} {tex:object_0} {tex:object_1} {ks:0} {ks:1}"
    ).images()


@pytest.mark.render
def test_every_placeholder_has_its_image(images):
    assert list(images) == [
        "{obj:object_0}",
        "{obj:object_1}",
        "{tex:object_0}",
        "{tex:object_1}",
        "{ks:0}",
        "{ks:1}",
    ]
    for image in images.values():
        assert image.shape == (256, 256, 3) and image.dtype == np.uint8
        assert image.std() > 2 or (image == image[0, 0]).all()


@pytest.mark.render
def test_images_of_objects_differ(images):
    names = list(images)
    for i, one in enumerate(names):
        for other in names[i + 1 :]:
            difference = np.abs(images[one].astype(int) - images[other].astype(int)).max(-1)
            assert (difference > 12).mean() > 0.002, (one, other)


@pytest.mark.render
def test_key_steps_differ_where_the_cube_moved_and_nowhere_else(images):
    changed = np.abs(images["{ks:0}"].astype(int) - images["{ks:1}"].astype(int)).max(-1) > 12
    assert 0.002 < changed.mean() < 0.25


@pytest.mark.render
def test_the_same_prompt_gives_the_same_images_anywhere(images):
    copy = Prompt.from_json(json.loads(json.dumps(prompt("{obj:object_1} {ks:1}").to_json())))
    again = copy.images()
    assert list(again) == ["{obj:object_1}", "{ks:1}"]
    assert all((again[name] == images[name]).all() for name in again)


@pytest.mark.slow
@pytest.mark.render
@pytest.mark.parametrize(
    "first", ["images", pytest.param("environment", marks=pytest.mark.slow)]
)  # the other order: a simulation before images, is in test_prompt_images.py
def test_images_and_environments_share_a_process_in_any_order(first):
    steps = {
        "images": "prompt('{obj:object_0} {ks:1}').images()",
        "environment": "make_env('pick', 'rgb').reset(seed=0)",
    }
    order = sorted(steps, key=lambda step: step != first)
    lines = ["from tests.support.envs import make_env", "from tests.sim.test_prompt import prompt"]
    run = subprocess.run(
        [sys.executable, "-c", "; ".join(lines + [steps[step] for step in order])],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr[-500:]


@pytest.mark.render
def test_a_body_without_texture_has_no_swatch():
    assert prompt("{obj:area_0}").images()["{obj:area_0}"].shape == (256, 256, 3)
    with pytest.raises(ClevrSkillsError, match="area_0 has no texture"):
        prompt("{tex:area_0}").images()
