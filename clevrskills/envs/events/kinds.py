"""Kinds of failure events, and which of an episode's events comes first."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

KINDS = {
    "wrong grasp": "the gripper took hold of a body that the goal does not ask to handle",
    "wrong touch": "the robot touched a body that the goal does not name, or that is to be avoided",
    "dropped": "a body was lost with the vacuum on, or let go in the air",
    "misplaced": "a body was let go and left where the goal does not ask for it",
    "missed": "a throw did not hit, or the gripper came near what is to be handled, and not there",
    "toppled": "a body tipped over that was not to",
    "out of workspace": "a body came to where the arm does not reach, or off the table",
    "swept": "a body slid away without being held",
    "collision": "the arm touched the table or a body, or the gripper the table",
    "undone": "a part of the goal that held was undone",
    "unsolvable": "the goal can't be achieved any more",
    "not approached": "the gripper came near nothing that the goal asks to handle",
    "idle": "the arm stood still",
}
"""Events of an episode, with their meaning."""
LASTING = (
    *("wrong grasp", "dropped", "misplaced", "missed", "toppled", "swept", "out of workspace"),
    *("undone", "unsolvable"),
)
"""Kinds that change what is on the table or what can be achieved, and misses. The others do not
need to matter, so they are named as the cause of a failure only where none of these happened."""
NOTHING = "nothing noted"
"""In place of a kind: an episode failed, and none of its events explains it."""


@dataclass(frozen=True)
class Event:
    """Event that went wrong in an episode."""

    kind: str  # one of :data:`KINDS`
    step: int  # control step after which it was so, from 1
    object: str = ""  # key of the body it is about; ``table``; or empty
    # path of the leaf of the goal tree that was to be achieved then, or that was undone, e.g.
    # ``set/1.inside``; empty: none was
    goal: str = ""
    detail: str = ""  # more in words, e.g. why the goal is unsolvable

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON data without what is empty."""
        return {name: value for name, value in asdict(self).items() if value != ""}


def first_failure(events: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """Return the event where an episode began to fail: the earliest of the :data:`LASTING` kinds;
    if there is none, the earliest of all. ``None``: there are no events.

    Of one step, the kind that comes first in :data:`KINDS` counts.

    Args:
        events: As :meth:`Event.to_json` has them.

    Raises:
        ValueError: A kind is unknown.
    """
    order = list(KINDS)
    lasting = [event for event in events if event["kind"] in LASTING]
    return min(
        lasting or events,
        key=lambda event: (event["step"], order.index(event["kind"])),
        default=None,
    )
