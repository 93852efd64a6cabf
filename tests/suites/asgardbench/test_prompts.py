"""Prompts of the household: golden files of all presets, parsing of replies.

``python -m tests.suites.asgardbench.test_prompts`` rewrites the golden files.
"""

import re
from pathlib import Path

import numpy as np
import pytest
from readers.asgardbench import reply

from clevrskills.core.env_config import EnvConfig
from clevrskills.core.interface import turn_feedback
from clevrskills.core.policy import PromptInput, TextAction
from clevrskills.core.suite import DEFAULT_PRESET, find_interface, load_suite

GOLDEN = Path(__file__).parent / "golden"
SUITE = load_suite("asgardbench")
PRESETS = {name: preset for name, preset in SUITE.presets().items() if name != DEFAULT_PRESET}


def prompter_of(preset):
    return SUITE.prompter(find_interface(SUITE), PRESETS[preset].prompt)


def requests(preset, commands=("FIND Mug", "PICKUP Mug", "PICKUP Plate")):
    """Messages of each turn, with blank images."""
    options, prompter = PRESETS[preset].options, prompter_of(preset)
    env = SUITE.make(EnvConfig("coffee"))
    env.reset(options={"episode": SUITE.frozen("coffee", "test")[0]})
    prompter.begin(PromptInput(env.prompt.text, {}, 0, env.prompt.about))
    blank, turns, history, sent = np.zeros((8, 8, 3), np.uint8), [], [], []
    for turn, command in enumerate((*commands, "")):
        views = {
            v: env.look((v,))[v] if v == "text_state" else blank for v in options.get("view", ())
        }
        seen = {"views": views, "turn": turn, "turns": tuple(turns)}
        seen["feedback"] = options["feedback"]
        sent.append(prompter.messages(seen, history))
        if command:
            said = prompter.parse(prompter.reply(command, (command, "FIND Cabinet")))
            assert said.action == command
            history.append((seen, said))
            message = turn_feedback(
                find_interface(SUITE), env.command(command), options["feedback"]
            )
            turns.append({"index": turn, "action": command, "message": message})
    return sent


def written(messages):
    parts = [part for m in messages for part in (f"=== {m.role}", *m.parts)]
    return "\n".join(p if isinstance(p, str) else f"<image {p.name}>" for p in parts) + "\n"


@pytest.mark.parametrize("preset", PRESETS)
def test_prompts_equal_the_golden_files(preset):
    given = (GOLDEN / f"{preset}.txt").read_text(encoding="utf-8")
    assert written(requests(preset)[-1]) == given, (
        "run python -m tests.suites.asgardbench.test_prompts"
    )


def test_presets_differ():
    given = {written(requests(preset)[-1]) + str(PRESETS[preset].options) for preset in PRESETS}
    assert len(PRESETS) == len(given) == 13


@pytest.mark.parametrize("preset", [p for p in PRESETS if "text" in p])
def test_prompts_without_images_do_not_mention_images(preset):
    given = written(requests(preset)[-1]).lower()
    assert not re.search(r"\bimages?\b|\bcamera\b|\bpictures?\b", given)


def test_prompts_without_images_have_the_rules_of_the_baseline_and_no_hints():
    def rules(preset):
        given = written(requests(preset)[-1])
        work = given.partition("# How to work\n")[2].partition("# How to answer")[0]
        return {line for line in work.split("\n- ") if line}

    shown = "- Nothing is shown to you. If what came of an action does not agree with your plan, "
    assert rules("text_simple") - rules("baseline") == {shown + "change the plan."}
    assert len(rules("text_hints") - rules("text_simple")) == 2
    given = [written(requests(preset)[-1]) for preset in ("text_simple", "text_none", "state_text")]
    assert not any(word in text for text in given for word in ("does no harm", "may be dirty"))


def test_presets_omit_the_section_in_their_name():
    assert "SUGGESTED PLAN" not in written(requests("single_action")[-1])
    assert "THINGS TO REMEMBER" not in written(requests("no_memory")[-1])
    assert "<image previous>" not in written(requests("no_previous")[-1])
    assert "<image previous>" in written(requests("baseline")[-1])
    assert "Failure" not in written(requests("no_feedback")[-1])
    assert "you hold the Mug" in written(requests("detailed")[-1])
    assert "you hold the Mug" not in written(requests("baseline")[-1])


@pytest.mark.parametrize(
    ("reply", "action"),
    [
        ("<answer>\nAction: FIND Mug\n</answer>", "FIND Mug"),
        ("Action: FIND Pan\n<answer>**Action:** `pickup mug`.</answer>", "PICKUP mug"),
        ("<think>Action: FIND Pan", ""),
        ("Action: please do whatever helps", "please do whatever helps"),
        ("", ""),
        ("<answer></answer>", ""),
    ],
)
def test_the_last_action_of_the_answer_counts(reply, action):
    assert prompter_of("baseline").parse(reply).action == action


def test_plan_and_memory_are_parsed_from_the_answer_only():
    said = prompter_of("baseline").parse(
        "<think>THINGS TO REMEMBER:\n- no</think><answer>\nSUGGESTED PLAN:\n"
        "1. FIND Mug\n2) pickup Mug\n"
        "THINGS TO REMEMBER:\n- yes\n- too\nAction: FIND Mug\n</answer>"
    )
    expected = TextAction("FIND Mug", plan=("FIND Mug", "PICKUP Mug"), memory="- yes\n- too")
    assert said == expected


@pytest.mark.parametrize("task", ["coffee", "clean_mirror", "put_away_food", "turn_on_tv"])
def test_the_reader_solves_instances_from_their_prompts(task):
    env, prompter = SUITE.make(EnvConfig(task)), prompter_of("state_text")
    env.reset(options={"episode": SUITE.frozen(task, "test")[0]})
    prompter.begin(PromptInput(env.prompt.text, {}, 0, env.prompt.about))
    turns, history, turn = [], [], None
    while turn is None or not (turn.success or turn.ended):
        seen = {"views": env.look(("text_state",)), "turn": len(turns), "turns": tuple(turns)}
        seen["feedback"] = "detailed"
        said = prompter.parse(reply(prompter.messages(seen, history)))
        history.append((seen, said))
        turn = env.command(said.action)
        message = turn_feedback(find_interface(SUITE), turn, "detailed")
        turns.append({"index": len(turns), "action": said.action, "message": message})
    assert turn.success


if __name__ == "__main__":
    for name in PRESETS:
        (GOLDEN / f"{name}.txt").write_text(written(requests(name)[-1]), encoding="utf-8")
