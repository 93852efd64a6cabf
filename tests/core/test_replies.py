"""Reader of replies: those of the corpus, and its rules one by one."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from clevrskills.core.interface import TextInterface
from clevrskills.core.replies import (
    DONE,
    LINE,
    Grammar,
    clean_command,
    first_words,
    read_reply,
)
from clevrskills.core.suite import find_interface, load_suite

REPLIES = Path(__file__).parents[1] / "data" / "replies.toml"
READ = {
    "lohoravens": ("lohoravens", "pick_place_text"),
    "ivispar": ("ivispar", "text"),
    "listing": ("ivispar", "text"),
    "asgardbench": ("asgardbench", "text"),
    "words": ("clevrskills", "skills"),
}
"""Suite and interface of the replies of the corpus."""


def corpus() -> list[dict[str, Any]]:
    replies: list[dict[str, Any]] = tomllib.loads(REPLIES.read_text(encoding="utf-8"))["reply"]
    return replies


def grammar(name: str) -> Grammar | None:
    suite, interface = READ[name]
    found = find_interface(load_suite(suite), interface)
    assert isinstance(found, TextInterface)
    return found.grammar


def misread(half: int) -> list[tuple[dict[str, Any], str]]:
    found = []
    for reply in corpus():
        known, action = (
            grammar(reply["suite"]),
            read_reply(reply["text"], grammar(reply["suite"])).action,
        )
        assert known is not None
        done = action if action == DONE or known(action) else ""  # what is none costs the turn
        if reply["half"] == half and done.lower() != reply["action"].lower():
            found.append((reply, done))
    return found


COMMANDS = {
    "lohoravens": "pick up the red block and place it on the blue bowl",
    "ivispar": "move red cube left",
    "listing": "A1 red cube; B3 blue sphere",
    "asgardbench": "FIND Mug",
    "words": "put object_0 on the plate",
}


def read(reply: str, suite: str = "asgardbench") -> str:
    return read_reply(reply, grammar(suite)).action


@pytest.mark.parametrize(("half", "least"), [(1, 0.95), (2, 0.98)])
def test_replies_are_read_as_they_are_meant(half: int, least: float) -> None:
    of = [reply for reply in corpus() if reply["half"] == half]
    assert len(of) >= 80 and len({reply["family"] for reply in of}) == 8
    assert len(misread(half)) <= (1 - least) * len(of), misread(half)


@pytest.mark.parametrize("suite", COMMANDS)
@pytest.mark.parametrize(
    "layout",
    [
        "{}",
        "Action: {}.",
        "I think so.\n**action:** `{}`",
        "Instruction:\n\n{}\n\nThat is it.",
        'action: "{}"',
        "ACTION: [{}]",
        "- **Next action**: {}",
        '{{"reasoning": "Because.", "action": "{}"}}',
        "<answer>\nAction: {}\n</answer>\nReaction: none",
        "The final answer is $\\boxed{{x}}$:\naction: $\\boxed{{\\text{{{}}}}}$",
        "<action>{}</action>",
        "action: {}</s>",
        "Why: it is next.\n\n{}\n\nI hope so.",
        "Thought 1: it is next.\nAction 1: {}",
        "[Action] {}",
        "[Action]: {}",
        "Action - {}",
        "Next action \u2192 {}",
        "action -> {}",
    ],
)
def test_layouts_are_no_skill(layout: str, suite: str) -> None:
    for command in (COMMANDS[suite], COMMANDS[suite].upper(), COMMANDS[suite].replace("_", "\\_")):
        assert read(layout.format(command), suite).lower() == COMMANDS[suite].lower()


@pytest.mark.parametrize("suite", COMMANDS)
@pytest.mark.parametrize("form", ["{}", "action: {}", "<answer>Action: {}</answer>", "\n\n{}\n\n"])
@pytest.mark.parametrize(
    ("begins", "ends"),
    [
        ("<think>", "</think>"),
        ("<Thinking>\n", "\n</Thinking>"),
        ("[THINK]", "[/THINK]"),
        ("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
        ("◁think▷", "◁/think▷"),
    ],
)
def test_reasoning_is_never_acted_on(begins: str, ends: str, form: str, suite: str) -> None:
    thought = form.format(COMMANDS[suite])
    for reply in (
        f"{begins}{thought}",
        f"{begins}{thought}{ends}",
        f"{thought}{ends}",
        f"{begins}a{ends}{begins}{thought}",
        f"{begins}a{begins}b{ends}{thought}{ends}",
        f"{begins}{thought}{ends}I give up.",
    ):
        assert read(reply, suite) in ("", "I give up"), reply


@pytest.mark.parametrize(
    ("reply", "action"),
    [
        ("Action: FIND Mug\nAction: PICKUP Mug", "PICKUP Mug"),
        ("Action: FIND Mug\nAction: none is left", "FIND Mug"),
        ("Action: FIND Mug\n\nPICKUP Mug", "FIND Mug"),  # a mark goes before a bare line
        ("FIND Mug\nPICKUP Mug", ""),  # a list
        ("1. FIND Mug\n2. PICKUP Mug", ""),
        ("FIND Mug, then PICKUP Mug", ""),
        ("Action: FIND Mug. PICKUP Mug.", "FIND Mug. PICKUP Mug"),  # two: it is no command
        ("Last action: FIND Mug", ""),
        ("The reaction: FIND Mug", ""),
        ("I would say action: FIND Mug", ""),
        ("Action: FIND Mug. I need it.", "FIND Mug"),
        ("Action: FIND Mug (the red one)", "FIND Mug"),
        ("Action: toggle on Faucet", "TOGGLE_ON Faucet"),
        ("Action: GRAB Mug", "GRAB Mug"),
        ("Action: Done.", "done"),
        ("Done.", "done"),
        ("action:", ""),
        ("", ""),
    ],
)
def test_which_command_counts(reply: str, action: str) -> None:
    said = read_reply(reply, grammar("asgardbench"))
    assert said.action == action and said.stop == (action == "done")
    assert said.usage.get("unreadable", 0) == (not action)


def test_repairs_are_counted() -> None:
    for reply in ("Action: FIND Mug", "because\naction: find mug.\nso", "FIND Mug"):
        assert not read_reply(reply, grammar("asgardbench")).usage
    for reply in ("Action: `FIND Mug`", "Action:\nFIND [Mug]", "Action: FIND Mug (red)"):
        assert read_reply(reply, grammar("asgardbench")).usage == {"repaired": 1}


def test_backslashes_in_texts_of_json() -> None:
    for reply, action in (
        (r'{"action": "find \"Mug\" now"}', r"find \"Mug\" now"),
        (r'{"action": "find Mug\"}', "find Mug\\"),
        ('"action": "' + "\\" * 200, ""),
    ):
        assert read_reply(reply).action == action


def test_long_replies_are_cut_to_a_line() -> None:
    assert len(read("Action: " + "find a mug " * 99)) <= LINE
    assert first_words("<think>\nso\n</think>\nI\n\nam  lost") == "I am lost"
    assert first_words("<think>\nso") == "<think> so"
    assert len(first_words("lost " * 99)) == LINE + 1 and first_words(" \n")


@pytest.mark.parametrize(
    ("name", "said", "command"),
    [
        ("asgardbench", "find Mug.", "FIND Mug"),
        ("ivispar", '"Move red cube LEFT."', "move red cube left"),
        ("lohoravens", "`Done.`", "done"),
        ("words", " put object_0  at (0.1, -0.2). ", "put object_0 at (0.1, -0.2)"),
    ],
)
def test_interfaces_read_commands_likewise(name: str, said: str, command: str) -> None:
    suite, interface = READ[name]
    assert find_interface(load_suite(suite), interface).read(said) == [command]


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("**FIND** Mug!", "FIND Mug"),
        ("( «FIND Mug» )", "FIND Mug"),
        ("move to (0.1, 0.2, 0.3)", "move to (0.1, 0.2, 0.3)"),
        ("FIND Mug)", "FIND Mug"),
        (r"\[\boxed{\text{FIND Mug}}\]", "FIND Mug"),
        ("...", ""),
    ],
)
def test_text_outside_the_command_is_ignored(text: str, command: str) -> None:
    assert clean_command(text) == command
