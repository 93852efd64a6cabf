"""Evaluation in other wordings: presets, prompts of policies, records in results."""

import json

import pytest
from inline import one_worker_here

from clevrskills.cli import main
from clevrskills.core.suite import WORDINGS
from clevrskills.envs.episode import EpisodeSpec
from clevrskills.errors import UnknownNameError
from clevrskills.suites.clevrskills.prompt_wordings import PRESETS
from clevrskills.suites.clevrskills.suite import KEYSTEP_TASKS, ClevrSkillsSuite
from clevrskills.tasks import task

SUITE = ClevrSkillsSuite()


@pytest.fixture(scope="module")
def episode() -> EpisodeSpec:
    return EpisodeSpec.draw("pick", "test", 3)


def test_every_preset_sets_a_wording():
    assert set(PRESETS) == {"language_seen", "language_unseen", "empty_prompt", "other_task_prompt"}
    assert [preset.options["wording"] for preset in PRESETS.values()] == [*WORDINGS[1:]]
    assert PRESETS.items() <= SUITE.presets().items()


def test_episodes_hold_the_papers_wording(episode):
    assert episode.prompt.wording == {"index": 0, "style": "plain", "held_out": False}
    assert episode.prompt.text == f"Pick up {{obj:{episode.layout.body('object').key}}}."
    assert SUITE.prompt_variant(episode, "own", 5).text == episode.prompt.text


@pytest.mark.parametrize("wording", ["seen", "held_out"])
def test_wordings_take_turns(episode, wording):
    held_out = wording == "held_out"
    count = task("pick").count_wordings()[wording]
    given = [SUITE.prompt_variant(episode, wording, number) for number in range(count + 1)]
    assert len({prompt.text for prompt in given}) == count
    assert given[-1].text == given[0].text
    assert all(prompt.wording["held_out"] == held_out for prompt in given)
    texts = [w.text for w in task("pick").wordings(episode.layout) if w.held_out == held_out]
    assert [prompt.text for prompt in given[:-1]] == texts
    assert set(given[1].others) == {*texts} - {given[1].text}


def test_an_empty_prompt_has_no_text_and_images(episode):
    given = SUITE.prompt_variant(episode, "empty", 0)
    assert given.text == given.plain() == "" and not given.others and not given.images()


def test_other_tasks_take_turns_and_need_no_keysteps(episode):
    given = [SUITE.prompt_variant(episode, "other_task", number) for number in range(3)]
    assert len({prompt.wording["task"] for prompt in given}) == 3
    for prompt in given:
        assert prompt.wording["task"] not in ("pick", *KEYSTEP_TASKS)
        assert prompt.plain() and prompt.plain() != episode.prompt.plain()


def test_images_have_the_look_of_the_episode(episode):
    assert SUITE.prompt_variant(episode, "seen", 0, "flat").setting.look == "flat"


def test_keysteps_are_those_of_the_episode():
    episode = EpisodeSpec.draw("rearrange", "train", 0)
    given = SUITE.prompt_variant(episode, "seen", 4)
    assert given.keysteps == episode.prompt.keysteps


def test_unknown_wordings_raise(episode):
    with pytest.raises(
        UnknownNameError, match="'loud'; allowed: own, seen, held_out, empty, other"
    ):
        SUITE.prompt_variant(episode, "loud", 0)


@pytest.mark.parametrize(
    "preset",
    [
        "language_unseen",
        "other_task_prompt",
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("language_seen", "empty_prompt")),
    ],
)
def test_presets_are_evaluated_and_reported(preset, tmp_path):
    out = tmp_path / "results"
    words = ["--policy", "zero", "--preset", preset, "--cameras", "none", "--prompt", "language"]
    words += ["--seed", "7", "--episodes", "1", "--split", "train", "--out", str(out)]
    with one_worker_here():
        assert main(["evaluate", "pick", *words]) == 0
    run = json.loads((out / "run.json").read_text())
    assert (run["preset"], run["wording"]) == (preset, PRESETS[preset].options["wording"])
    (file,) = (out / "results").glob("*.jsonl")
    (line,) = map(json.loads, file.read_text().splitlines())
    given = line["wording"]
    assert given["from"] == run["wording"]
    if preset.startswith("language"):
        first = task("pick").count_wordings()["seen"] if preset == "language_unseen" else 0
        assert (given["index"], given["held_out"]) == (first, preset == "language_unseen")
    else:
        assert ("task" in given) == (preset == "other_task_prompt")


def test_runs_of_different_wordings_are_not_one(tmp_path, capsys):
    words = ["evaluate", "pick", "--policy", "zero", "--cameras", "none", "--seed", "7"]
    words += ["--episodes", "1", "--split", "train", "--out", str(tmp_path / "results")]
    with one_worker_here():
        assert main(words) == 0
    (file,) = (tmp_path / "results" / "results").glob("*.jsonl")
    assert json.loads(file.read_text())["wording"] == {
        "from": "own",
        "index": 0,
        "style": "plain",
        "held_out": False,
    }
    assert main([*words, "--wording", "seen"]) != 0
    assert "wording" in capsys.readouterr().err
