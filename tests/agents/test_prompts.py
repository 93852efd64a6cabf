"""Prompts, word for word; parsing of replies; image budgets.

``python -m tests.agents.test_prompts`` rewrites the golden files.
"""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from readers.ivispar import reply

from clevrskills.agents.messages import budgeted, from_openai, images_of, to_openai, tokens_of
from clevrskills.agents.prompter import PlainPrompter
from clevrskills.core.env_config import EnvConfig
from clevrskills.core.interface import TextInterface, turn_feedback
from clevrskills.core.policy import ImagePart, Message, PromptInput
from clevrskills.core.replies import read_reply
from clevrskills.core.suite import DEFAULT_PRESET, all_views, find_interface, load_suite
from clevrskills.errors import ClevrSkillsError

GOLDEN = Path(__file__).parent / "golden"
SUITE = load_suite("ivispar")
BOARDS = {
    **{
        name: ("geoms", "base", name)
        for name, preset in SUITE.presets().items()
        if name != DEFAULT_PRESET and not preset.sampling
    },
    "sizes": ("geoms", "sizes", "text"),
    "tiles": ("tiles", "base", "text"),
    "listing": ("listing", "base", "schematic"),
}
"""Task, split and preset of each golden file."""
MOVES = ("move red cube left", "")


def board(task: str, split: str, preset: str, moves: tuple[str, ...] = MOVES) -> list[Any]:
    """The requests of an episode, turn by turn; images are blank."""
    options = SUITE.presets()[preset].options
    env = SUITE.make(EnvConfig(task, split))
    env.reset(options={"episode": SUITE.frozen(task, split)[7]})
    prompter = SUITE.prompter(find_interface(SUITE), {})
    prompter.begin(PromptInput(env.prompt.text, {}, 0, env.prompt.about))
    kinds, blank = all_views(SUITE), np.zeros((900, 2400, 3), np.uint8)
    turns: list[dict[str, Any]] = []
    history: list[Any] = []
    requests = []
    for turn, move in enumerate((*moves, "")):
        words = env.look([view for view in options["view"] if kinds[view] == "text"])
        views = {view: words.get(view, blank) for view in options["view"]}
        seen = {"views": views, "turn": turn, "turns": tuple(turns)}
        requests.append(prompter.messages(seen, history))
        said = prompter.parse(prompter.reply(move) if move else "I cannot tell.")
        history.append((seen, said))
        given = turn_feedback(find_interface(SUITE), env.command(move), options["feedback"])
        shown = move or "I cannot tell."
        turns.append({"index": turn, "action": shown, "message": given})
        if env.limit == turn + 1:
            break
    return requests


def written(messages: list[Message]) -> str:
    """A request as a person reads it."""
    lines = []
    for message in messages:
        lines.append(f"=== {message.role}")
        lines += [p if isinstance(p, str) else f"<image {p.name}>" for p in message.parts]
    return "\n".join(lines) + "\n"


def golden(name: str) -> str:
    requests = board(*BOARDS[name])
    shown = dict.fromkeys((0, len(requests) - 1))
    return "\n".join(f"##### turn {k + 1}\n{written(requests[k])}" for k in shown)


@pytest.mark.parametrize("name", BOARDS)
def test_prompts_equal_the_golden_files(name: str) -> None:
    given = (GOLDEN / f"{name}.txt").read_text(encoding="utf-8")
    assert golden(name) == given, "run python -m tests.agents.test_prompts"


def test_two_past_turns_are_shown_and_the_rules_stay_the_same() -> None:
    requests = board("geoms", "base", "text", (*MOVES, *MOVES))
    assert len({messages[0] for messages in requests}) == 1
    said = [[m.role for m in messages].count("assistant") for messages in requests]
    assert said == [0, 1, 2, 2, 2]
    images = [len(images_of(messages)) for messages in board("geoms", "base", "view3d")]
    assert images == [2, 3, 4]


def test_options_of_prompts() -> None:
    short = SUITE.prompter(find_interface(SUITE), {"explain": False})
    short.begin(PromptInput("", {}, 0, {"task": "tiles", "size": 3, "colors": (), "shapes": ()}))
    seen = {"views": {"text": "A1 tile 1"}, "turn": 0, "turns": ()}
    assert "Reply with one line" in written(short.messages(seen, []))
    with pytest.raises(ClevrSkillsError, match="explane.*explain"):
        SUITE.prompter(find_interface(SUITE), {"explane": False})


@pytest.mark.parametrize("preset", ["view3d", "schematic"])
def test_the_reader_needs_words(preset: str) -> None:
    with pytest.raises(ClevrSkillsError, match="needs boards in words"):
        reply(board("geoms", "base", preset)[0])


def test_the_reader_reads_requests_to_endpoints() -> None:
    messages = board("geoms", "base", "text")[0]
    assert from_openai(to_openai(messages)) == messages
    assert re.fullmatch(r"move \w+ \w+ \w+", read_reply(reply(messages)).action)


def plain() -> PlainPrompter:
    commands = ["plug red", "switch red"]
    return PlainPrompter(TextInterface("text", {"commands": commands}), ("state",))


def test_default_prompter() -> None:
    prompter, image = plain(), np.zeros((4, 4, 3), np.uint8)
    prompter.begin(PromptInput("Switch on: red", {"goal": image}))
    actions = ("do 0", "do 1", "I see", "do 3")
    turns = [{"index": k, "action": do, "message": "No."} for k, do in enumerate(actions)]
    seen = {"turn": 4, "turns": turns, "views": {"state": "red is off", "top": image}}
    text = written(prompter.messages(seen, []))
    assert text.splitlines()[:2] == ["=== system", "Task: Switch on: red"]
    for part in (
        "commands: plug red, switch red",
        "action: <command>",
        "Image of the task (goal):\n<image goal>",
        "Last turns:\nTurn 3: I see. No.\nTurn 4: do 3. No.",
        "What is seen now (state):\n\nred is off",
        "What is seen now (top):\n<image top>",
        "Turn 5. What do you do?",
    ):
        assert part in text
    assert prompter.parse("action: done").stop and not prompter.parse("action: go").stop


def test_images_fit_the_budget() -> None:
    pixels = [np.full((60, 80, 3), k, np.uint8) for k in range(3)]
    parts = [ImagePart(str(k), image) for k, image in enumerate(pixels)]
    messages = [Message("user", (parts[0], "then")), Message("user", (parts[1], parts[2]))]
    assert budgeted(messages, None, None) == messages == budgeted(messages, 3, 80)
    fewer = budgeted(messages, 1, None)
    assert fewer[0].parts == ("(image left out)", "then")
    assert fewer[1].parts == ("(image left out)", parts[2])
    assert not images_of(budgeted(messages, 0, None))
    small = images_of(budgeted(messages, None, 40))
    assert {image.shape for image in small.values()} == {(30, 40, 3)}
    assert small["2"].mean() == 2 and tokens_of(messages) == pytest.approx(3 * 6.4 + 1, abs=1)


if __name__ == "__main__":
    for file in BOARDS:
        (GOLDEN / f"{file}.txt").write_text(golden(file), encoding="utf-8")
