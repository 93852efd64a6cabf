"""Page of tasks: tasks, predicates and criteria, generated from docstrings."""

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

What is each task of ClevrSkills, and when is it solved? Every task is a
[goal tree](environment.md#reward-and-success) of predicates, prompted in many
[wordings](language.md).

{levels}

Each task has its step limit, what counts as success, the prompt and the first and last image of one
episode, the predicates of its goal tree, and its arguments. Pass arguments as `task_args` of
`gym.make` or as `--arg TASK.NAME=VALUE` on the command line. [Predicates](#predicates) and
[tolerances](#criteria) follow after the tasks.
"""
PREDICATES = """\
## Predicates

`evaluate` in the file of a predicate defines when it holds, its reward on the scale of the paper's
tables, and its progress in [0, 1]. Terms shared by several predicates, such as reaching for a body
and carrying it, are in [shaping.py](../clevrskills/predicates/shaping.py). The oracle achieves a
predicate by the skill named with it.

Rewards are given in stages; a later stage is worth more. Their terms, with lengths in meters and
exponentials clipped at 1:

| term | is | where |
|---|---|---|
| reach | exp(-(d - {near:g})) | d >= {near:g} |
| | 1 + exp(-h), and 2 from h = 0.005 down | d < {near:g} |
| carry | 2 + exp(-(d - {near:g})) + exp(-6 (0.15 - h)) | d >= {near:g} |
| | 4 + exp(-6 h), and 4 for h < 0 | d < {near:g} |
| closeness | {half:g} / ({half:g} + w), a half at {half:g} m | anywhere |

For reach, d is the horizontal distance of the tool center point to the origin of the body, and h is
its height above the highest point of the body. For carry, d and h are the horizontal and vertical
distance of the held body's origin to its target: the given position in `at_position` and similar
predicates, the origin of the body below in `on_top`, `inside` and `same_stack`. The origin of a
body is the center of its bounding box. w is the remaining path length: sideways at up to
{above:g} m above its end, then down, plus {turn:g} m per rad where the orientation counts.

The reward for `done` is paid only while the predicate holds. If it requires rest, as after a touch,
a push or a topple, the last part of the `dense` reward comes once the body is at rest. A body that
is put down earns its 6 as soon as it is released in its place.

The progress of placing a body (`on_top`, `inside`, `at_position` and similar predicates) is
{reached:g} closeness of the cups before it is held, 0.4 + 0.4 closeness of the body while it is
held, {held:g} in place but held, {let_go:g} released but not at rest, {still:g} at rest but
still touched, and 1 done. The progress of `picked`, `hit`, `traced`, `touched`, pushes and poses of
the end effector also follows from closeness; that of the others is the fraction of the greatest
reward. Before success it is at most 0.99.
"""


def own_predicates() -> dict[str, type[Predicate]]:
    """Return the predicates of the package by name, without those of other distributions."""
    return {
        name: kind
        for name, kind in predicate_types().items()
        if is_own(kind) and ".suites." not in kind.__module__
    }


def _default(argument: Mapping[str, Any]) -> str:
    """Return the default of an argument."""
    value = argument["default"]
    if not isinstance(value, list):
        return str(value)
    if not argument["allowed"].startswith("a number"):
        return "any"
    low, high = value
    return str(low) if low == high else f"{low} to {high}"


def page(prompts: Mapping[str, str], images: str) -> str:
    """Return the page in Markdown.

    Args:
        prompts: Text prompt of an episode, by task key.
        images: Folder of the tasks' images, relative to the page.
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
    """Return the introduction to the predicates."""
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
    """Return the summary, with the reward in a separate paragraph."""
    return summary(predicate).replace(" Reward: ", "\n\nReward: ")


def _levels() -> str:
    rows = ["| level | tasks |", "|---|---|"]
    for level in LEVELS:
        keys = sorted(key for key, kind in tasks().items() if kind.level == level)
        links = " ".join(f"[`{key}`](#{key})" for key in keys)
        rows.append(f"| {level}, {LEVEL_NAMES[level]} | {links} |")
    return "\n".join(rows)


def _facts(predicate: type[Predicate]) -> str:
    """Return reward, source and skill of a predicate."""
    most = predicate.max_reward
    parts = [f"Reward up to {most:g}." if isinstance(most, int | float) else ""]
    parts.append(f"Source: {_link(predicate)}.")
    try:
        parts.append(f"Skill: {_link(skill_for(object.__new__(predicate)))}.")
    except SkillFailed:
        pass
    return " ".join(part for part in parts if part)


def _link(definition: Any) -> str:
    path = Path(inspect.getsourcefile(definition) or "").resolve().relative_to(ROOT)
    return f"[{path.name}](../{path})"


def _criteria() -> Sequence[str]:
    names = list(CRITERIA)
    lines = [
        "## Criteria",
        "",
        "Tolerances of success, see [criteria](environment.md#criteria). In both, a body is at "
        f"rest below {STATIC_SPEED_M_PER_S:g} m/s and {STATIC_SPIN_RAD_PER_S:g} rad/s.",
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
    """Return the docstring of a class before its first section, on one line, as Markdown.

    Predicate classes are replaced by their keys, tolerances get their values.
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
