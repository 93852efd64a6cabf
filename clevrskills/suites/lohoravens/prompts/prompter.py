"""Prompter of the field: tells a language model what is asked for and what is seen, and asks for
one instruction at a time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from clevrskills.agents.prompter import message
from clevrskills.core.policy import ImagePart, Message, Observation, PromptInput, TextAction
from clevrskills.core.replies import read_reply
from clevrskills.errors import check_arguments
from clevrskills.suites.lohoravens.interfaces.grammar import DONE_COMMAND, FORMS, canonical
from clevrskills.suites.lohoravens.interfaces.words import PICK_PLACE_TEXT
from clevrskills.suites.lohoravens.palette import ALL_COLORS
from clevrskills.suites.lohoravens.things import AREAS, BESIDE_M, SIDES

INSTRUCTION = "Instruction:"
"""What comes before an instruction, on a line of its own."""
DONE = "Done"
GOAL = "Goal"
SEEN = "What is on the table now"

_ROLE = """\
You plan for a robot arm with a suction gripper at a table.
On the table are blocks, bowls and zones. A bigger block has sides of 6 cm, a smaller one of 4 cm;
bowls and zones, which are colored mats, stay where they are.
You are given a goal. Each turn you say one instruction; the arm picks one block up and puts it
down. Go on until the goal is reached."""
_AREAS = """\
Areas of the table: {areas}.
Top is near the robot and bottom is far from it; left and right are as in the image from above.
Sides of a block: {sides}; the near side is the one towards the robot. A place on a side of a block
is {distance} from it, middle to middle. On a block, or on top of it, means stacked."""
_RULES = """\
- One instruction in each reply, of one of these forms and no other.
- Only a block on which nothing stands can be picked up; a tower is built from below.
- Of several blocks that fit an instruction an uncovered one is taken, the farthest from the place.
- Before you go on, check whether your last instruction worked. If not, say it again or another one.
- A block in the way goes to the free area.
- If all that the goal asks for is so, reply {done}."""
_EXAMPLES = (
    (
        "bowls_matching",
        "Put the blocks into the bowls with matching colors.",
        "a red block lies beside a red bowl, a blue block is in the blue bowl",
        "pick up the red block and place it on the red bowl",
    ),
    (
        "pick_place_size",
        "Pick up the smaller green block and place it on the bigger pink block.",
        "two green blocks and two pink ones lie on the table",
        "pick up the smaller green block and place it on the bigger pink block",
    ),
    (
        "stack_all_on_zone",
        "Stack all the blocks on the white zone.",
        "nothing is on the white zone yet; an orange block and a purple block lie on the table",
        "pick up the orange block and place it on the white zone",
    ),
    (
        "stack_all_on_zone",
        "Stack all the blocks on the white zone.",
        "an orange block is on the white zone; a purple block lies on the table",
        "pick up the purple block and place it on the orange block",
    ),
    (
        "even_to_zone",
        "Move all blocks of a color that occur in even numbers to the same colored zone.",
        "a cyan block is on the cyan zone, another one lies in the top left; three blocks are gray",
        "pick up the cyan block on the top left and place it on the cyan zone",
    ),
    (
        "stack_by_color",
        "Pile up just the warm-colored blocks on the green zone.",
        "a blue block is on the green zone",
        "pick up the blue block and place it on the free area",
    ),
    (
        "pick_place_area",
        "Pick up the yellow block in the top left and place it in the bottom right.",
        "a yellow block is in the top left, another one in the center",
        "pick up the yellow block on the top left and place it on the bottom right area",
    ),
    (
        "hidden_under_block",
        "Put the block hidden under the blue block into the bowl that has its color.",
        "a bigger blue block, a red bowl and a green bowl; what is under the block is not seen",
        "pick up the bigger blue block and place it on the free area",
    ),
    (
        "bowls_matching",
        "Put the blocks into the bowls with matching colors.",
        "each block is in the bowl of its color",
        DONE,
    ),
)
"""Task, goal, what is seen, reply; all of tasks that are unseen in neither protocol."""


class FieldPrompter:
    """Prompter of an episode: role, forms, colors, areas, rules and examples once, then each turn
    the goal, past instructions and outcomes, and the present observation.

    Args:
        options: ``examples``: how many examples are told, all unless it is said.

    Raises:
        UnknownArgumentError: There is no such option.
    """

    views: Sequence[str] = ("caption_change",)
    history, reply_tokens = 20, 25

    def __init__(self, options: Mapping[str, Any]) -> None:
        check_arguments(options, ("examples",))
        self._examples = _EXAMPLES[: int(options.get("examples", len(_EXAMPLES)))]

    def begin(self, prompt: PromptInput) -> None:
        """Begin an episode."""
        self._goal = prompt.text

    def messages(
        self, observation: Observation, history: Sequence[tuple[Observation, TextAction]]
    ) -> list[Message]:
        """Return the messages to the model."""
        parts: list[str | ImagePart] = [f"{GOAL}: {self._goal}"]
        past = observation["turns"][-self.history :] if self.history else ()
        if past:
            lines = (_past(turn) for turn in past)
            parts.append("\n".join(("Your instructions so far:", *lines)))
        for name, view in observation.get("views", {}).items():
            title = f"{SEEN} ({_title(name)}):"
            parts += [f"{title}\n{view}"] if isinstance(view, str) else [title, _image(name, view)]
        parts.append(f"What is the next instruction? Reply with one line:\n{self._form}")
        return [Message("system", (self._system(),)), message("user", parts)]

    @property
    def _form(self) -> str:
        return f"{INSTRUCTION} <instruction>\nor, if the goal is reached:\n{DONE}"

    def _system(self) -> str:
        """Return the system prompt: the same for all turns and episodes."""
        forms = [f"- {form}" for form in FORMS if form != DONE_COMMAND]
        areas = ", ".join((*AREAS, "free area (any free place)"))
        examples = [
            f"{GOAL}: {goal}\nSeen: {seen}.\n{DONE if said == DONE else f'{INSTRUCTION} {said}'}"
            for _, goal, seen, said in self._examples
        ]
        sections = [
            _ROLE,
            "\n".join(("Forms of instructions:", *forms)),
            f"Colors: {', '.join(ALL_COLORS)}.",
            _AREAS.format(areas=areas, sides=", ".join(SIDES), distance=f"{100 * BESIDE_M:.0f} cm"),
            "\n".join(("Rules:", _RULES.format(done=DONE))),
        ]
        if examples:
            sections.append("\n\n".join(("Examples:", *examples)))
        return "\n\n".join(sections)

    def parse(self, reply: str) -> TextAction:
        """Return the instruction of a reply."""
        return read_reply(reply, canonical)

    def reply(self, action: str, plan: Sequence[str] = ()) -> str:
        """Return a reply that says an action."""
        return DONE if action == DONE_COMMAND else f"{INSTRUCTION} {action}"

    def random(self, generator: np.random.Generator) -> str:
        """Return any instruction of the grammar."""
        return PICK_PLACE_TEXT.random(generator)


def _past(turn: Mapping[str, Any]) -> str:
    told = f" ({turn['message']})" if turn["message"] else ""
    return f"{turn['index'] + 1}. {turn['action']}{told}"


def _title(view: str) -> str:
    return "in words" if view.startswith("caption") else view.replace("_", " ")


def _image(name: str, pixels: Any) -> ImagePart:
    return ImagePart(name, pixels)
