"""Three worked examples of the prompt of the household, told as each preset tells of a turn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Example:
    """A turn, and a good answer.

    Attributes:
        title: What it shows.
        task: What is asked for.
        past: Actions before, the last of which failed.
        why: The sentence of that failure.
        seen: What is noticed, by what the agent is given: ``images``, ``state``, ``text``.
        held: What is in the hand.
        last: What is made of the last action, by the mode of feedback.
        reasoning: What follows, by what the agent is given.
        plan: What is left to do; its first action is the answer.
        memory: What is to be remembered.
    """

    title: str
    task: str
    past: tuple[str, ...]
    why: str
    seen: Mapping[str, str]
    held: str
    last: Mapping[str, str]
    reasoning: Mapping[str, str]
    plan: tuple[str, ...]
    memory: tuple[str, ...]


_WASH = ("FIND Faucet", "TOGGLE_ON Faucet", "CLEAN {0}", "TOGGLE_OFF Faucet")
_DOWN = ("FIND CounterTop", "PUT CounterTop")
_SPONGE = ("FIND DishSponge", "PICKUP DishSponge")


def _take(kind: str) -> tuple[str, str]:
    return f"FIND {kind}", f"PICKUP {kind}"


def _wash(kind: str) -> tuple[str, ...]:
    return tuple(action.format(kind) for action in _WASH)


EXAMPLES = (
    Example(
        "a mug that turns out to be empty",
        "Have a mug of coffee, then wash the mug and stow it in a cabinet.",
        ("FIND Mug", "PICKUP Mug", "DRINK Mug"),
        "There is nothing in the Mug to drink or pour out.",
        {
            "images": "The Mug is in my hand, and its bottom is bare: no dark liquid in it. The "
            "CoffeeMachine stands on the counter, its lamp is out.",
            "state": "The Mug is in my hand, and nothing is said to be in it. CoffeeMachine: off.",
            "text": "I picked up a Mug. Whether there was coffee in it, nobody told me.",
        },
        "the Mug.",
        {
            "none": "I wanted to drink. I am not told whether I could.",
            "simple": "DRINK Mug failed, so I have not had my coffee yet.",
            "detailed": "DRINK Mug failed because the Mug is empty.",
        },
        {
            "images": "There is no coffee in the Mug, so I make some: the Mug is clean and may go "
            "into the CoffeeMachine.",
            "state": "The Mug is empty and not dirty, so it may go into the CoffeeMachine.",
            "text": "An empty Mug is the likeliest trouble. I make coffee before I drink.",
        },
        (
            *("FIND CoffeeMachine", "PUT CoffeeMachine", "TOGGLE_ON CoffeeMachine"),
            *("TOGGLE_OFF CoffeeMachine", "PICKUP Mug", "DRINK Mug"),
            *("FIND SinkBasin", "PUT SinkBasin", *_SPONGE, *_wash("Mug"), *_DOWN),
            *(*_take("Mug"), "FIND Cabinet", "OPEN Cabinet", "PUT Cabinet", "CLOSE Cabinet"),
        ),
        ("The Mug is in my hand.", "Left: brew, drink, wash the Mug, stow it, close the Cabinet."),
    ),
    Example(
        "something in the basin that must not get wet",
        "Cook a potato in the microwave and serve it in a bowl.",
        (
            *("FIND Bowl", "PICKUP Bowl", "FIND SinkBasin", "PUT SinkBasin", *_SPONGE),
            *("FIND Faucet", "TOGGLE_ON Faucet"),
        ),
        "Something in the sink must not get wet.",
        {
            "images": "No water runs. In the basin, beside the Bowl with its brown smears, lies an "
            "Apple.",
            "state": "Bowl in SinkBasin: dirty. Apple in SinkBasin. Faucet: off.",
            "text": "The Bowl is in the basin. What else lies there I do not know.",
        },
        "the DishSponge.",
        {
            "none": "I wanted the water to run. I have to find out whether it does.",
            "simple": "TOGGLE_ON Faucet failed: something keeps the water off.",
            "detailed": "TOGGLE_ON Faucet failed because of something in the sink.",
        },
        {
            "images": "The Apple blocks the Faucet. My hand is full, so the sponge goes first, "
            "then the Apple, and then I wash the Bowl.",
            "state": "The Apple blocks the Faucet. I lay the sponge down, move the Apple, and go "
            "on with the Bowl.",
            "text": "Food in the basin keeps the Faucet off. I lay the sponge down and try to take "
            "away what may lie there, the Apple first.",
        },
        (
            *(*_DOWN, *_take("Apple"), *_DOWN, *_SPONGE, *_wash("Bowl"), *_DOWN),
            *(*_take("Bowl"), *_DOWN, *_take("Potato"), "FIND Microwave", "OPEN Microwave"),
            *("PUT Microwave", "CLOSE Microwave", "TOGGLE_ON Microwave", "TOGGLE_OFF Microwave"),
            *("OPEN Microwave", "PICKUP Potato", "CLOSE Microwave", "FIND Bowl", "PUT Bowl"),
        ),
        (
            "The dirty Bowl is in the SinkBasin.",
            "Left: clear the basin, wash the Bowl, cook, serve.",
        ),
    ),
    Example(
        "a dish that is dirty when it is needed",
        "Slice the Lettuce and put one piece into each of: Bowl.",
        (
            *("FIND Knife", "PICKUP Knife", "FIND Lettuce", "SLICE Lettuce", *_DOWN),
            *("FIND LettuceSliced", "PICKUP LettuceSliced", "FIND Bowl", "PUT Bowl"),
        ),
        "The Bowl is dirty.",
        {
            "images": "Before me stands the Bowl, with brown smears inside. The green piece is "
            "still in my hand. The other pieces lie on the counter.",
            "state": "Bowl in CounterTop: dirty. LettuceSliced in hand.",
            "text": "I stand before the Bowl with a piece of Lettuce.",
        },
        "a piece of LettuceSliced.",
        {
            "none": "I wanted to put the piece into the Bowl. I am not told whether it went in.",
            "simple": "PUT Bowl failed, the piece is still in my hand.",
            "detailed": "PUT Bowl failed because the Bowl is dirty.",
        },
        {
            "images": "Nothing may be put into a dirty Bowl. I lay the piece down, wash the Bowl, "
            "and then serve.",
            "state": "A dirty Bowl takes nothing. The piece goes onto the counter until I have "
            "washed it.",
            "text": "A Bowl may be dirty, and a dirty one takes nothing. Washing it does no harm.",
        },
        (
            *(*_DOWN, *_take("Bowl"), "FIND SinkBasin", "PUT SinkBasin", *_SPONGE),
            *(*_wash("Bowl"), *_DOWN, *_take("LettuceSliced"), "FIND Bowl", "PUT Bowl"),
        ),
        ("The Lettuce is sliced.", "The Bowl has to be washed before a piece goes in."),
    ),
)
