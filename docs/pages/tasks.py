"""Page of all tasks: tasks, predicates and criteria, written from the code's own docstrings."""

import inspect
import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from clevrskills.core.registry import is_own
from clevrskills.predicates import CRITERIA, Predicate, predicate_types, shaping
from clevrskills.predicates.at_pose import M_PER_RAD
from clevrskills.sim.world import STATIC_SPEED_M_PER_S, STATIC_SPIN_RAD_PER_S
from clevrskills.solvers.motion import SkillFailed
from clevrskills.solvers.skills import skill_for
from clevrskills.tasks import LEVELS, tasks
from pages import DOCS, ROOT

PAGE = DOCS / "tasks.md"
LEVEL_NAMES = {"L0": "skills", "L1": "compositions", "L2": "compositions of those"}
UNITS = {"_m_per_s": " m/s", "_rad": " rad", "_m": " m"}
INTRODUCTION = """\
# Tasks and predicates

Every task of ClevrSkills is a [goal tree](environment.md#reward-and-success) of predicates. It can
be asked for in many [wordings](language.md).

{levels}

Each task below has its step limit, what counts as success, the prompt of one episode with the first
and last image of that episode, the predicates of its goal tree, and its arguments. Arguments are
passed as `task_args` of `gym.make` or as `--arg TASK.NAME=VALUE` on the command line. The
[predicates](#predicates) and the [tolerances](#criteria) follow after the tasks.
"""
PREDICATES = """\
## Predicates

The file of a predicate is its source: `evaluate` says when it holds, its reward on the scale of the
paper's tables, and its progress in [0, 1]. Terms that several predicates share, such as reaching
for a body and carrying it, are in [shaping.py](../clevrskills/predicates/shaping.py). The oracle
achieves a predicate by the skill that is named with it.

Rewards are given in stages; a later stage is worth more. The terms in which they are, with lengths
in meters and no exponential greater than 1:

| term | is | where |
|---|---|---|
| reach | exp(-(d - {near:g})) | d >= {near:g} |
| | 1 + exp(-h), and 2 from h = 0.005 down | d < {near:g} |
| carry | 2 + exp(-(d - {near:g})) + exp(-6 (0.15 - h)) | d >= {near:g} |
| | 4 + exp(-6 h), and 4 for h < 0 | d < {near:g} |
| closeness | {half:g} / ({half:g} + w), a half at {half:g} m | anywhere |

For reach, d is the distance of the tool centre point to the origin of the body, seen from above,
and h is how far it is above the highest point of the body. For carry, d and h are how far the
origin of the held body is beside and above the target, which is a position of that origin: the
given place in `at_position` and those like it, the origin of the body below in `on_top`, `inside`
and `same_stack`. The origin of a body is the centre of its bounding box. The way w is what is left
to go, aside at a height of up to {above:g} m above its end, then down; {turn:g} m for each rad are
added to it where the orientation counts.

What is `done` is paid only while the predicate holds. So where it asks for rest, as for what was
touched, pushed or toppled, the last part of the `dense` reward comes once the body is at rest. What
is put down earns its 6 as soon as it is let go in its place.

The progress of putting a body down (`on_top`, `inside`, `at_position` and those like them) is
{reached:g} closeness of the cups before it is held, 0.4 + 0.4 closeness of the body while it is
held, {held:g} in place but held, {let_go:g} let go but not at rest, {still:g} at rest but
not let alone, and 1 done. Of the others,
`picked`, `hit`, `traced`, `touched`, those of the end effector and those that are pushed have a
progress by closeness, too; all others have the share of the greatest reward. Short of success,
it is 0.99 at most.
"""


def own_predicates() -> dict[str, type[Predicate]]:
    """Predicates of the package by name, without those that others have added."""
    return {
        name: kind
        for name, kind in predicate_types().items()
        if is_own(kind) and ".suites." not in kind.__module__
    }


def _default(argument: Mapping[str, Any]) -> str:
    """What an argument is unless it is given."""
    value = argument["default"]
    if not isinstance(value, list):
        return str(value)
    if not argument["allowed"].startswith("a number"):
        return "any"
    low, high = value
    return str(low) if low == high else f"{low} to {high}"


def page(prompts: Mapping[str, str], images: str) -> str:
    """The page in Markdown.

    Args:
        prompts: Prompt of an episode, in words, by task key.
        images: Folder of the tasks' images, as seen from the page.
    """
    lines = [INTRODUCTION.format(levels=_levels())]
    for key, kind in tasks().items():
        facts = kind().describe()
        lines += [f"## {key}", "", f"{facts['level']}, `{facts['id']}`, "]
        lines[-1] += f"at most {facts['max_steps']} steps"
        lines += ["", summary(kind), "", f"![{key}]({images}/{key}.jpg)", ""]
        lines += [f"Prompt, in words: {prompts[key]}", ""]
        links = " ".join(f"[`{name}`](#{name})" for name in facts["predicates"])
        lines += [f"Predicates: {links}", ""]
        if facts["arguments"]:
            lines += ["| argument | by default | may be |", "|---|---|---|"]
            lines += [
                f"| `{n}` | {_default(a)} | {a['allowed']} |" for n, a in facts["arguments"].items()
            ]
            lines.append("")
        if set(facts["robots"]) != {"xarm6", "panda"}:
            lines += [f"Robots: {', '.join(facts['robots'])}.", ""]
    lines.append(_predicates())
    for name, predicate in sorted(own_predicates().items()):
        lines += [f"### {name}", "", _in_paragraphs(predicate), "", _facts(predicate), ""]
    return "\n".join([*lines, *_criteria()]) + "\n"


def _predicates() -> str:
    """What all predicates share."""
    return PREDICATES.format(
        near=shaping.NEAR_M,
        half=shaping.HALF_WAY_M,
        turn=M_PER_RAD,
        above=shaping.ABOVE_M,
        reached=shaping.REACHED_PROGRESS,
        held=shaping.HELD_PROGRESS,
        let_go=shaping.PUT_DOWN_PROGRESS,
        still=shaping.AT_REST_PROGRESS,
    )


def _in_paragraphs(predicate: type[Predicate]) -> str:
    """Its summary; the reward is a paragraph of its own."""
    return summary(predicate).replace(" Reward: ", "\n\nReward: ")


def _levels() -> str:
    rows = ["| level | tasks |", "|---|---|"]
    for level in LEVELS:
        keys = sorted(key for key, kind in tasks().items() if kind.level == level)
        links = " ".join(f"[`{key}`](#{key})" for key in keys)
        rows.append(f"| {level}, {LEVEL_NAMES[level]} | {links} |")
    return "\n".join(rows)


def _facts(predicate: type[Predicate]) -> str:
    """Reward, source and skill of a predicate."""
    most = predicate.max_reward
    parts = [f"Reward up to {most:g}." if isinstance(most, int | float) else ""]
    parts.append(f"Source: {_link(predicate)}.")
    try:
        parts.append(f"Skill: {_link(skill_for(object.__new__(predicate)))}.")
    except SkillFailed:
        pass
    return " ".join(part for part in parts if part)


def _link(thing: Any) -> str:
    path = Path(inspect.getsourcefile(thing) or "").resolve().relative_to(ROOT)
    return f"[{path.name}](../{path})"


def _criteria() -> Sequence[str]:
    names = list(CRITERIA)
    lines = [
        "## Criteria",
        "",
        "Tolerances of success, see [criteria](environment.md#criteria). With both, a body is at "
        f"rest up to {STATIC_SPEED_M_PER_S:g} m/s and {STATIC_SPIN_RAD_PER_S:g} rad/s.",
        "",
    ]
    lines += ["| tolerance | " + " | ".join(names) + " |", "|---" * (1 + len(names)) + "|"]
    for field in fields(CRITERIA[names[0]]):
        if field.name != "name":
            values = [getattr(CRITERIA[name], field.name) for name in names]
            shown = [f"{v:.4g}" if isinstance(v, float) else str(v) for v in values]
            lines.append(f"| `{field.name}` | " + " | ".join(shown) + " |")
    return lines


def summary(kind: type) -> str:
    """What stands before the first section of a class's docstring, on one line, as Markdown.

    Classes of predicates are named by their keys, tolerances with their values.
    """
    text = kind.__doc__ or ""
    for section in ("Args:", "Attributes:", "Raises:"):
        text = text.split(section)[0]
    by_class = {predicate.__name__: name for name, predicate in own_predicates().items()}

    def role(match: re.Match[str]) -> str:
        name = match[1].removeprefix("~").rpartition(".")[2]
        return f"`{by_class.get(name, name)}`"

    def tolerance(match: re.Match[str]) -> str:
        value = getattr(CRITERIA["paper"], match[1])
        unit = next((u for ending, u in UNITS.items() if match[1].endswith(ending)), "")
        return f"{value:.4g}{unit} (`{match[1]}`)"

    text = re.sub(r":\w+:`([^`]+)`", role, " ".join(text.split()))
    text = re.sub(r"``criteria\.(\w+)``", tolerance, text)
    return re.sub(r"``([^`]+)``", lambda match: f"`{by_class.get(match[1], match[1])}`", text)
