"""Kinds of failure events, and the first failure of an episode."""

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
"""Kinds of events with descriptions."""
LASTING = (
    *("wrong grasp", "dropped", "misplaced", "missed", "toppled", "swept", "out of workspace"),
    *("undone", "unsolvable"),
)
"""Kinds with lasting consequences, and misses. The others may be harmless, so they count as the
cause of a failure only if none of these occurred."""
NOTHING = "nothing noted"
"""Kind of a failed episode without events."""


@dataclass(frozen=True)
class Event:
    """Failure event of an episode."""

    kind: str  # one of :data:`KINDS`
    step: int  # control step after which it was detected, from 1
    object: str = ""  # key of the body, ``table`` or empty
    # path of the next or the undone leaf of the goal tree, e.g. ``set/1.inside``; empty: none
    goal: str = ""
    detail: str = ""  # description, e.g. why the goal is unsolvable

    def to_json(self) -> dict[str, Any]:
        """Return JSON data without empty entries."""
        return {name: value for name, value in asdict(self).items() if value != ""}


def first_failure(events: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """Return the earliest event of the :data:`LASTING` kinds, or else the earliest of all; ``None``
    without events. Ties are broken by the order of :data:`KINDS`.

    Args:
        events: Data of :meth:`Event.to_json`.

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
