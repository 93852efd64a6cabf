"""Reader: finds the next command in the words that a language model is sent, and in nothing else.

It proves that prompt and state text are enough, and it is a baseline. It knows the first wording of
each task. It has no memory, so it solves no task in which something is to be put back where it was.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from clevrskills.agents.prompter import write_action
from clevrskills.core.policy import Message
from clevrskills.errors import ClevrSkillsError

_TASK = re.compile(r"^Task: (.+)$", re.MULTILINE)
_TURN = re.compile(r"Turn (\d+)\. What do you do\?")
_OBJECT = re.compile(r"^(\w+): (.+?) at \(([^)]*)\)(.*)$", re.MULTILINE)
_KEY = r"<(\w+)>"
_TURNED = r"(\d+ degrees) (clockwise|anti-clockwise)"

Names = Mapping[str, str]
Plan = Callable[[Names, "re.Match[str]"], Sequence[str]]


def reply(messages: Sequence[Message]) -> str:
    """The reply to messages.

    Raises:
        ClevrSkillsError: They say nothing that it understands.
    """
    text = "\n".join(part for m in messages for part in m.parts if isinstance(part, str))
    task, turn, objects = _TASK.search(text), _TURN.search(text), _OBJECT.findall(text)
    if task is None or turn is None or not objects:
        raise ClevrSkillsError("the messages have no task, no scene in words or no turn")
    names = {key: name for key, name, *_ in objects}
    plan = _plan(task[1], names)
    stands = {f"{key} {where.strip()}" for key, _, _, rest in objects for where in rest.split(",")}
    left = [command for command in plan if not _done(command, stands)] or plan
    first = 0 if left[0].startswith("put ") else (int(turn[1]) - 1) % len(left)
    return write_action(left[first])


def _done(command: str, stands: set[str]) -> bool:
    """Whether the scene shows what `put X on Y` or `put X in Y` asks for."""
    return command.removeprefix("put ") in stands


def _plan(task: str, names: Names) -> Sequence[str]:
    """The commands for a task.

    Raises:
        ClevrSkillsError: It is none of those that are known.
    """
    said = task
    for key, name in sorted(names.items(), key=lambda item: -len(item[1])):
        said = re.sub(rf"\b[Tt]he {re.escape(name)}\b", f"<{key}>", said)
    for pattern, plan in _PLANS:
        match = re.fullmatch(pattern, said)
        if match and (commands := plan(names, match)):
            return commands
    raise ClevrSkillsError(f"no plan for: {task}")


def _keys(text: str) -> list[str]:
    return re.findall(_KEY, text)


def _each(verb: str) -> Plan:
    return lambda names, match: [f"{verb} {key}" for key in _keys(match[0])]


def _tower(keys: Sequence[str]) -> list[str]:
    """Each on the one before."""
    return [f"put {upper} on {lower}" for lower, upper in zip(keys, keys[1:], strict=False)]


def _stacked(names: Names, match: re.Match[str]) -> list[str]:
    keys = _keys(match[0])
    commands = [f"put {a} on {b}" for a, b in zip(keys[::2], keys[1::2], strict=True)]
    if match[0].endswith("topple the stack."):
        return [*commands, f"topple the stack of {', '.join(dict.fromkeys(keys))}"]
    return commands


def _movable(names: Names) -> dict[str, str]:
    return {key: name for key, name in names.items() if key.startswith("object")}


def _sorted(verb: str, word: str) -> Plan:
    """Each object to the area of its texture."""

    def plan(names: Names, match: re.Match[str]) -> list[str]:
        areas = {n.removesuffix(" area"): key for key, n in names.items() if n.endswith(" area")}
        return [
            f"{verb} {key} {word} {area}"
            for key, name in _movable(names).items()
            for texture, area in areas.items()
            if name.startswith(f"{texture} ")
        ]

    return plan


def _stacked_alike(names: Names, match: re.Match[str]) -> list[str]:
    groups: dict[str, list[str]] = {}
    for key, name in _movable(names).items():
        groups.setdefault(name.rpartition(" ")[0] or name, []).append(key)
    return [command for keys in groups.values() for command in _tower(keys)]


def _alike_turned(names: Names, match: re.Match[str]) -> list[str]:
    texture, turn, direction = match.groups()
    return [
        f"rotate {key} {turn} {direction}"
        for key, name in _movable(names).items()
        if name.startswith(f"{texture} ")
    ]


def _turned_back(names: Names, match: re.Match[str]) -> list[str]:
    key, turn, direction = match.groups()
    back = "clockwise" if direction == "anti-clockwise" else "anti-clockwise"
    return [f"rotate {key} {turn} {direction}", f"rotate {key} {turn} {back}"]


def _traced(names: Names, match: re.Match[str]) -> list[str]:
    goals = {key: name for key, name in names.items() if key.startswith("goal_")}
    return [f"move to {key}" for key, name in goals.items() if "green" in name.split()]


def _named(names: Names, match: re.Match[str]) -> list[str]:
    """Nouns that a prompt makes up: each stands for a shape."""
    first, _, second, _ = match.groups()
    return [f"put {_only(names, first)} on {_only(names, second)}"]


def _named_and_compared(names: Names, match: re.Match[str]) -> list[str]:
    """Both."""
    _, first, _, second, size = match.groups()
    return [f"put {_only(names, f'{size} {first}')} on {_only(names, second)}"]


def _compared(names: Names, match: re.Match[str]) -> list[str]:
    """An adjective that a prompt makes up: it stands for the size of its first example."""
    size, what, onto = match.groups()
    return [f"put {_only(names, f'{size} {what}')} on {_keys(onto)[0]}"]


def _only(names: Names, words: str) -> str:
    """The key of what has these words in its name.

    Raises:
        ClevrSkillsError: There is none, or several are.
    """
    found = [key for key, name in names.items() if {*words.split()} <= {*name.split()}]
    if len(found) != 1:
        raise ClevrSkillsError(f"{len(found)} things are called {words}")
    return found[0]


_PLANS: Sequence[tuple[str, Plan]] = (
    (rf"Pick up {_KEY}\.", _each("pick up")),
    (rf"(?:Put|Pick and place) {_KEY} on {_KEY}\.", _stacked),
    (rf"Push {_KEY} towards {_KEY}\.", lambda n, m: [f"push {m[1]} towards {m[2]}"]),
    (
        rf"Rotate {_KEY} {_TURNED}\.",
        lambda n, m: [f"rotate {m[1]} {m[2]} {m[3]}"],
    ),
    (rf"Rotate {_KEY} {_TURNED} and then restore\.", _turned_back),
    (rf"Rotate objects with (.+) texture {_TURNED}\.", _alike_turned),
    (
        rf"Throw {_KEY} to {_KEY}( such that it falls over)?\.",
        lambda n, m: [f"throw {m[1]} to {m[2]}{m[3] or ''}"],
    ),
    (rf"Touch {_KEY}.*", _each("touch")),
    (rf"Touch and push {_KEY}.*", _each("push")),
    (rf"Touch and topple {_KEY}.*", _each("topple")),
    (r"Trace the sequence of goals .*", _traced),
    (rf"Stack {_KEY} on {_KEY}.*", _stacked),
    (rf"Stack {_KEY}.* in the reversed order.*", lambda n, m: _tower(_keys(m[0])[::-1])),
    (r"Stack identically textured objects\.", _stacked_alike),
    (r"Place the objects in the identically textured areas\.", _sorted("put", "in")),
    (
        r"Place the objects in the identically textured areas by throwing\.",
        _sorted("throw", "to"),
    ),
    (
        r"Place all the objects on the scale while keeping it in balance\.",
        lambda n, m: [f"balance the scale with {', '.join(_movable(n))}"],
    ),
    (
        r"This is a (\w+): the (.+?)\. This is a (\w+): the (.+?)\. "
        r"The (\w+) .+ is \w+ than .+\. Put the \w+ \1 on the \3\.",
        _named_and_compared,
    ),
    (r"The (.+) is a (\w+) and the (.+) is a (\w+)\. Put the \2 on the \4\.", _named),
    (r"The (\w+) .+ is (?:\w+) than .+\. Put the \w+ (.+) on (.+)\.", _compared),
)
