"""Prompts of LoHoRavens: golden files, parsed replies, a reader of prompts over HTTP.

``python -m tests.suites.lohoravens.prompts.test_prompts`` writes the golden files anew.
"""

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from readers.lohoravens import reply

from clevrskills.agents import mock_server
from clevrskills.agents.client import ChatClient
from clevrskills.agents.par import PAR
from clevrskills.agents.scripted_models import GARBAGE
from clevrskills.core.env_config import EnvConfig
from clevrskills.core.policy import ImagePart, Message, PromptInput
from clevrskills.core.policy_loader import PolicySource, policy_arguments
from clevrskills.core.suite import all_views, find_interface, load_suite
from clevrskills.errors import ClevrSkillsError, UnknownArgumentError, UnknownNameError
from clevrskills.suites.lohoravens.captions import true_statements
from clevrskills.suites.lohoravens.interfaces.grammar import canonical, parse
from clevrskills.suites.lohoravens.interfaces.words import ground
from clevrskills.suites.lohoravens.prompts.phrasing import instruction_for
from clevrskills.suites.lohoravens.prompts.prompter import DONE, FieldPrompter, texts
from clevrskills.suites.lohoravens.published import WORKSHOP
from clevrskills.suites.lohoravens.solver import next_move
from clevrskills.suites.lohoravens.solver.rehearsal import carry_out
from tests.suites.lohoravens.field import block, bowl, field, zone

GOLDEN = Path(__file__).parent / "golden"
RECIPE = Path(__file__).parents[4] / "recipes" / "lohoravens_turns.py"
SUITE = load_suite("lohoravens")
WORDS = find_interface(SUITE, "pick_place_text")
TURNS = (
    ("pick up the red block and place it on the blue bowl", "Success."),
    ("I cannot tell", "Failure."),
)


def requests(preset: str) -> list[Message]:
    """Messages after two turns; images are blank."""
    options = SUITE.presets()[preset].options
    caption = "There is 1 smaller red block.\nThe smaller red block is in the top left area."
    image = np.zeros((360, 640, 3), np.uint8)
    kinds = all_views(SUITE)
    views = {v: caption if kinds[v] == "text" else image for v in options["view"]}
    given = options["feedback"] != "none"
    turns = [
        {"index": k, "action": action, "message": message if given else ""}
        for k, (action, message) in enumerate(TURNS)
    ]
    prompter = SUITE.prompter(WORDS, {})
    assert prompter is not None
    prompter.begin(PromptInput("Put the blocks into the bowls with matching colors.", {}))
    return prompter.messages({"views": views, "turn": 2, "turns": turns}, [])


def written(messages: list[Message]) -> str:
    """A request as a person reads it."""
    parts = (
        (m.role, [f"[{p.name}]" if isinstance(p, ImagePart) else p for p in m.parts])
        for m in messages
    )
    return "".join(f"== {role}\n" + "\n".join(given) + "\n" for role, given in parts)


@pytest.mark.parametrize("preset", ["explicit", "implicit"])
def test_prompts_equal_the_golden_files(preset: str) -> None:
    assert written(requests(preset)) == (GOLDEN / f"{preset}.txt").read_text(encoding="utf-8")


def test_examples_are_instructions_for_tasks_that_neither_protocol_keeps_unseen() -> None:
    named = {row[1] for row in WORKSHOP if row[0].endswith(", unseen")}
    for example in texts()[1]:
        assert example["reply"] == DONE or parse(example["reply"]) is not None
        assert example["task"] not in named
        assert SUITE.tasks[example["task"]].level in ("primitive", "seen")


@pytest.mark.parametrize(
    ("reply", "action", "stop"),
    [
        ("Instruction: Pick up the red block and place it on the blue bowl.", "pick up", False),
        ("It failed.\n**Instruction:** pick up a\nInstruction: pick up b", "pick up b", False),
        ("All is there.\nDone", "done", True),
        ("done.", "done", True),
        ("Instruction: done", "done", True),
        ("I am done with this", "", False),
    ],
)
def test_replies_are_read(reply: str, action: str, stop: bool) -> None:
    said = FieldPrompter({}).parse(reply)
    assert said.action.startswith(action) and bool(said.action) == bool(action)
    assert said.stop == stop
    assert FieldPrompter({}).parse(FieldPrompter({}).reply("done")).stop
    assert not any(canonical(FieldPrompter({}).parse(reply).action) for reply in GARBAGE)


def test_options_of_the_prompt() -> None:
    prompter = FieldPrompter({"examples": 2})
    prompter.begin(PromptInput("Stack.", {}))
    text = written(prompter.messages({"views": {}, "turns": (), "turn": 0}, []))
    assert text.count("Seen: ") == 2
    with pytest.raises(UnknownArgumentError):
        FieldPrompter({"sample": 3})


@pytest.mark.parametrize("task", ["bowls_matching", "bowls_mismatching", "move_area"])
def test_a_reader_behind_http_solves_tasks_from_the_text(task: str) -> None:
    """Where every instruction is carried out as it should."""
    env: Any = SUITE.make(EnvConfig(task, "test"))
    prompter = FieldPrompter({})
    with mock_server.serving(mock_server.behavior("readers.lohoravens:reply")) as url:
        client = ChatClient(url, "m")
        for seed in range(2):
            env.reset(options={"episode": SUITE.draw(task, "test", seed)})
            prompt = PromptInput(env.prompt.plain(), {}, seed)
            prompter.begin(prompt)
            client.begin(prompt)
            for turn in range(env.turn_limit):
                views = env.look(["caption_positions"])
                asked = prompter.messages({"views": views, "turn": turn, "turns": ()}, [])
                said = prompter.parse(client.answer(asked).text)
                if said.stop:
                    break
                move = ground(said.action, env).move
                assert move is not None, said.action
                carry_out(env.world, move)
                env._settle()
            assert said.stop and turn == int(env.layouts[0].roles["n_min"])
            with torch.inference_mode():
                assert bool(env.goal.evaluate(env.world, env.goal_state).holds[0])
    env.close()


def test_the_reader_reports_unreadable_sentences() -> None:
    with pytest.raises(ClevrSkillsError, match="caption_positions"):
        reply([Message("user", ("Goal: Put the blocks into the bowls with matching colors.",))])
    with pytest.raises(ClevrSkillsError, match="knows no way"):
        reply(
            [
                Message(
                    "user",
                    ("Goal: Fly.\nThe smaller red block is in the top left area.",),
                )
            ]
        )


@pytest.mark.parametrize("task", ["stack_by_color", "bowls_mismatching", "pick_place_side"])
def test_the_next_move_has_an_instruction_that_parses(task: str) -> None:
    env: Any = SUITE.make(EnvConfig(task, "test"))
    env.reset(options={"episode": SUITE.draw(task, "test", 0)})
    with torch.inference_mode():
        for _ in range(int(env.layouts[0].roles["n_min"])):
            move = next_move(env.goal, env.world, env.goal_state)
            assert move is not None
            text = instruction_for(move, env)
            meant = ground(text, env).move
            assert meant is not None, text
            carry_out(env.world, meant)
            env._settle()
        assert bool(env.goal.evaluate(env.world, env.goal_state).holds[0])
    env.close()


def test_statements_of_a_report_are_judged() -> None:
    truth = "The smaller red block is in the top left area.\nThe blue zone is in the top left area."
    lies = "- The blue zone is in the bottom right area."
    report = f"I see:\nThe smaller red block is in the top left area.\n{lies}\nMaybe more."
    assert true_statements(report, truth) == (1, 2)
    assert true_statements("Nothing.", truth) == (0, 0)


def test_parts_of_par_have_arguments_of_their_own() -> None:
    given = policy_arguments(["planner=chat:http://x/v1", "planner.model=m", "reporter=none"])
    policy = PAR(SUITE, WORDS, **given)
    assert policy.extra_views == ("top",)
    assert PAR(SUITE, WORDS, planner="greedy_text").extra_views == ("caption_change",)
    with pytest.raises(UnknownNameError):
        PAR(SUITE, WORDS, **{"thinker.model": "m"})
    with pytest.raises(UnknownNameError):
        PAR(SUITE, WORDS, reporter="rumor")
    with pytest.raises(ClevrSkillsError, match="pick_place_text"):
        PAR(SUITE, find_interface(SUITE))


def test_parts_of_par_have_their_own_observations() -> None:
    pytest.importorskip("torch")
    given = {
        "planner": "greedy_text",
        "actor": "checkpoint:zoo/cliport-primitives",
        "reporter": "chat:http://x/v1",
        "reporter.model": "m",
    }
    shown = {"views": SUITE.presets()["p10_explicit"].options["view"]}
    source = PolicySource("par", given, overrides=shown, own=SUITE.policies())
    options = source.make(SUITE, WORDS.name).options
    assert options.views is not None and options.views[0] == "caption_change"
    assert {"map", "top"} <= {*options.views} and {"map", "top"} <= {*options.cameras}


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    for name in ("explicit", "implicit"):
        (GOLDEN / f"{name}.txt").write_text(written(requests(name)), encoding="utf-8")


def test_sampled_instructions_are_parsed_by_a_perfect_actor() -> None:
    bodies = (
        *(block("block_0", "ravens/red", -0.2, -0.2), block("block_1", "ravens/blue", -0.1, 0.1)),
        *(bowl("bowl_0", "ravens/green", 0.0, 0.25), zone("zone_0", "ravens/pink", -0.25, 0.2)),
    )
    env = field(*bodies)
    recipe = runpy.run_path(str(RECIPE), run_name="recipe")
    drawn = recipe["draw_instructions"](env, 30, np.random.default_rng(0))
    assert len(drawn) == 30 and len({text for text, _ in drawn}) > 20
    given = [(text, move, ground(text, env).move) for text, move in drawn if "it on the" in text]
    given = [(text, move, meant) for text, move, meant in given if text.startswith("pick up")]
    assert 10 < len(given) < 30 and all(move == meant for _, move, meant in given)
