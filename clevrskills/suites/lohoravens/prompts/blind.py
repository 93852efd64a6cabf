"""Policy in words that reads the sentence, ignores observations and guesses colors."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from functools import cache, partial
from itertools import cycle, islice

from clevrskills.core.interface import Interface
from clevrskills.core.policy import Observation, PromptInput
from clevrskills.core.suite import Suite
from clevrskills.errors import ClevrSkillsError
from clevrskills.evaluation.policies import Zero
from clevrskills.suites.lohoravens.field import AREAS, SIDE_WORDS
from clevrskills.suites.lohoravens.interfaces.grammar import DONE_COMMAND, FREE_AREA
from clevrskills.suites.lohoravens.interfaces.words import PICK_PLACE_TEXT
from clevrskills.suites.lohoravens.palette import CATEGORIES, COLORS_OF_SPLIT
from clevrskills.suites.lohoravens.tasks.base import RavensTask
from clevrskills.tasks.bank_files import read_banks

Script = Generator[str, bool, None]
"""Instructions; each is answered by whether it was done, according to the feedback."""
Words = Mapping[str, str]
"""Words for the slots of a wording."""
MOST_ALIKE = 4
"""Greatest number of times that an instruction is repeated while it is done."""


class BlindWords(Zero):
    """Policy in words that follows a script for each task and tries one color after the other.

    It uses no observation but whether its last instruction was done.

    Args:
        suite: The suite.
        interface: The interface, ``pick_place_text``.
        split: Split whose colors it tries.

    Raises:
        ClevrSkillsError: The interface is another one.
    """

    def __init__(self, suite: Suite, interface: Interface, split: str = "test") -> None:
        if interface.name != PICK_PLACE_TEXT.name:
            raise ClevrSkillsError(f"blind_words acts by --interface {PICK_PLACE_TEXT.name}")
        super().__init__(suite, interface)
        self._colors = COLORS_OF_SPLIT[split]

    def reset(self, prompt: PromptInput) -> None:
        """Begin an episode."""
        self._script, self._begun = script(prompt.text, self._colors), False

    def act(self, observation: Observation) -> str:
        """Return the next instruction of the script, ``done`` after the last one."""
        message = observation["turns"][-1]["message"] if observation.get("turns") else ""
        done, self._begun = not message.startswith("Failure") if self._begun else None, True
        try:
            return self._script.send(done)  # type: ignore[arg-type]
        except StopIteration:
            return DONE_COMMAND


def script(sentence: str, colors: Sequence[str]) -> Script:
    """Return the script for a sentence, which tries some colors."""
    for key, pattern in _patterns():
        found = pattern.fullmatch(sentence)
        if found and key in _SCRIPTS:
            yield from _SCRIPTS[key]({k: v.lower() for k, v in found.groupdict().items()}, colors)
            return


@cache
def _patterns() -> Sequence[tuple[str, re.Pattern[str]]]:
    """Return the key of the bank and the pattern of each wording, the longest wordings first."""
    found = []
    for key, bank in read_banks(RavensTask.bank_folder).items():
        for _, text, _ in bank.sentences():
            parts, seen = re.split(r"\{(\w+)\}", text), set[str]()
            for k in range(1, len(parts), 2):
                name = parts[k].lower()
                words = r"[a-z ]*block" if name in ("object", "other") else ".*?"
                parts[k] = f"(?P={name})" if name in seen else f"(?P<{name}>{words})"
                seen.add(name)
            parts[::2] = map(re.escape, parts[::2])
            found.append((len(text), key, re.compile("".join(parts), re.IGNORECASE)))
    found.sort(key=lambda entry: -entry[0])
    return [(key, pattern) for _, key, pattern in found]


def _put(pick: str, place: str) -> str:
    return f"pick up the {pick} and place it on the {place}"


def _pile(picks: Iterable[str], base: str) -> Script:
    """Stack blocks on a base, skipping those that cannot be picked."""
    for pick in picks:
        if (yield _put(pick, base)):
            base = re.sub(" on the .*", "", pick)


def _in_turn(colors: Sequence[str], words: str = "{} block") -> Iterable[str]:
    """Return blocks of some colors in turn, three times."""
    return (words.format(color) for color in islice(cycle(colors), 3 * len(colors)))


def _repeat(pick: str, place: str, times: int = MOST_ALIKE) -> Script:
    """Repeat an instruction while it is done."""
    for _ in range(times):
        if not (yield _put(pick, place)):
            return


def _meant(slots: Words, colors: Sequence[str]) -> tuple[Sequence[str], str]:
    """Return the possible colors of the selected blocks, and a template for one of them."""
    what = slots["what"]
    named = [c for name, of in CATEGORIES.items() if name in what for c in of]
    tried = [color for color in colors if color in named] or [*colors]
    size = next((f"{word} " for word in ("smaller", "bigger") if word in what), "")
    area = next((area for area in AREAS if area in what), slots.get("source", ""))
    if any(side in what for side in SIDE_WORDS.values()):
        tried = [color for color in tried if f"{color} block" not in what]
    return tried, f"{size}{{}} block{f' on the {area}' if area else ''}"


def _select(slots: Words, colors: Sequence[str]) -> Script:
    tried, words = _meant(slots, colors)
    once = any(side in slots["what"] for side in SIDE_WORDS.values())
    picks = map(words.format, tried) if once else _in_turn(tried, words)
    if slots["order"]:
        picks = [f"{size} {pick}" for pick in [*picks] for size in ("bigger", "smaller")]
        picks.sort()
    yield from _pile(picks, f"{slots['zone']} zone")


def _move(slots: Words, colors: Sequence[str]) -> Script:
    tried, words = _meant(slots, colors)
    for pick in _in_turn(tried, words):
        yield _put(pick, f"{slots['target']} area")


def _each(
    _: Words, colors: Sequence[str], pick: str, place: str, shift: int = 0, times: int = 1
) -> Script:
    """Put blocks of each color to a place of that color, or of one by ``shift`` further on."""
    for k, color in enumerate(colors):
        other = colors[(k + shift) % len(colors)]
        yield from _repeat(pick.format(color), place.format(other), times)


def _uncover(
    slots: Words,
    colors: Sequence[str],
    times: int,
    top: str = "bigger {} block",
    lower: str = "{} block hidden",
) -> Script:
    """Put ``times`` upper blocks aside and the lower ones into bowls."""
    for color in (slots["top"],) if "top" in slots else colors:
        if (yield _put(top.format(color), FREE_AREA)):
            for _ in range(times - 1):
                yield _put(top.format(color), FREE_AREA)
            break
    yield from _each(slots, colors, lower, "{} bowl")


def _towers(_: Words, colors: Sequence[str], sizes: Sequence[str]) -> Script:
    """Stack each color on its zone, by size."""
    for color in colors:
        yield from _pile([f"{size}{color} block" for size in sizes], f"{color} zone")


def _frequent(slots: Words, colors: Sequence[str]) -> Script:
    for color in colors:
        if (yield _put(f"{color} block", f"{slots['zone']} zone")):
            yield from _repeat(f"{color} block", f"{color} block")


def _alternate(slots: Words, colors: Sequence[str]) -> Script:
    first = slots["first"]
    yield _put(f"{first} block", f"{slots['zone']} zone")
    for color in colors:
        if color != first and (yield _put(f"{color} block", f"{first} block")):
            for pick, place in ((first, color), (color, first)) * 2:
                yield _put(f"{pick} block", f"{place} block")


def _by_size(slots: Words, colors: Sequence[str]) -> Script:
    for size, zone in (("bigger", "one"), ("smaller", "two")):
        yield from _pile(_in_turn(colors, f"{size} {{}} block"), f"{slots[zone]} zone")


def _all_on(slots: Words, colors: Sequence[str], place: str) -> Script:
    yield from _pile([f"{color} block" for color in colors], place.format_map(slots))


def _primitive(slots: Words, _: Sequence[str]) -> Script:
    at = f" on the {slots['source']} area" if "source" in slots else ""
    beside = f"{slots['side']} the {slots['other']}" if "side" in slots else ""
    place = beside or f"on the {slots['target']}"
    yield f"pick up the {slots['object']}{at} and place it {place}"


_bowls = partial(_each, pick="{} block", place="{} bowl")
_zones = partial(_each, pick="{} block", place="{} zone", times=MOST_ALIKE)
_SCRIPTS: Mapping[str, Callable[[Words, Sequence[str]], Script]] = {
    "bowls_matching": _bowls,
    "bowls_mismatching": partial(_bowls, shift=1),
    "hidden_under_block": partial(_uncover, times=1),
    "hidden_in_two_layers": partial(_uncover, times=2),
    "hidden_in_three_layers": partial(_uncover, times=4),
    "hidden_in_pyramid": partial(_uncover, times=3, top="{} block on the top", lower="{} block"),
    **dict.fromkeys(("odd_to_zone", "even_to_zone", "most_even_to_zone"), _zones),
    "most_odd_stacked": partial(_towers, sizes=("bigger ", "smaller ", "smaller ")),
    "stack_most_frequent": _frequent,
    "stack_alternate_colors": _alternate,
    "stack_same_color": partial(_towers, sizes=("", "", "")),
    "stack_same_size": _by_size,
    "stack_small_on_big": partial(_each, pick="smaller {} block", place="bigger {} block"),
    "stack_small_on_big_in_zone": partial(_towers, sizes=("bigger ", "smaller ")),
    "stack_all_on_zone": partial(_all_on, place="{zone} zone"),
    "stack_all_in_area": partial(_all_on, place="{area} area"),
    **dict.fromkeys(("move_area", "move_area_by_size", "move_area_by_color"), _move),
    "move_area_by_color_and_size": _move,
    **dict.fromkeys(("stack_by_color", "stack_by_side", "stack_by_area_and_size"), _select),
    **dict.fromkeys(
        ("pick_place_color", "pick_place_size", "pick_place_area", "pick_place_side"), _primitive
    ),
}
"""Scripts by bank of sentences; shapes have none."""
