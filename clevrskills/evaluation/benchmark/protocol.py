"""Protocol of a suite: tasks and options of its cells, and deviations of runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from clevrskills.core.episode import frozen_name
from clevrskills.core.report import NONE, Cell, protocol_of
from clevrskills.core.suite import Suite, all_levels
from clevrskills.errors import ClevrSkillsError
from clevrskills.evaluation.results import NO_TRACK, TRACKS, EpisodeResult, Run
from clevrskills.evaluation.selection import frozen_tasks
from clevrskills.jobs.arguments import check_names

QUICK_EPISODES = 10
"""Episodes of each task of a quick check."""


@dataclass(frozen=True)
class RunPart:
    """Episodes of one cell that are run together."""

    cell: Cell
    tasks: tuple[str, ...]  # task keys, in the order of the suite
    split: str
    episodes: int | None  # episodes per task; ``None``: all frozen episodes

    @property
    def options(self) -> dict[str, Any]:
        """Arguments of ``clevrskills evaluate``, by name."""
        found = {**self.cell.options, "tasks": self.tasks, "split": (self.split,)}
        return {**found, "episodes": self.episodes}


@dataclass(frozen=True)
class PartCost:
    """Cost of a part."""

    episodes: int
    most_steps: int  # control steps or turns if no episode is solved
    range_s: tuple[float, float]  # CPU seconds of the environment: all solved by oracle, or none


def cost_of_part(suite: Suite, part: RunPart) -> PartCost:
    """Return the cost of a part, from the step limits and the steps of the oracle."""
    episodes, least, most = 0, 0, 0
    for task in part.tasks:
        head = suite.frozen(task, part.split).header
        count = min(part.episodes or head.episodes, head.episodes)
        episodes += count
        least += sum(head.oracle_steps[:count])
        most += sum(head.limits[:count]) if head.limits else head.max_steps * count
    seconds = part.cell.step_s
    return PartCost(episodes, most, (least * seconds, most * seconds))


def cell_tasks(suite: Suite, cell: Cell) -> tuple[str, ...]:
    """Return the keys of the tasks of a cell."""
    known = cell.tasks or frozen_tasks(suite)
    return tuple(task for task in known if cell.split in suite.tasks[task].splits)


def declared(run: Run, suite: Suite) -> Run:
    """Return a run of a protocol with its declared training data, or none without training.

    Args:
        run: The run, with the track declared by the policy or the command.
        suite: The suite.

    Raises:
        ClevrSkillsError: ``track`` or ``trained_on`` is not declared, or contradicts the policy.
    """
    protocol = protocol_of(suite)
    if protocol is None or run.seed is not None:
        return run
    track = run.track or (NO_TRACK if run.privileged else "")
    trained_on = run.trained_on or (NONE if track == NO_TRACK else "")
    missing = {
        "--track": "" if track else f"({', '.join(TRACKS)})",
        "--trained-on": "" if trained_on else f"({', '.join((*protocol.trained_on, NONE))})",
    }
    if asked := [f"{option} {allowed}" for option, allowed in missing.items() if allowed]:
        raise ClevrSkillsError(f"a result must declare {' and '.join(asked)}")
    check_names(**{"value of --trained-on": ((trained_on,), (*protocol.trained_on, NONE))})
    if track == NO_TRACK and trained_on != NONE:
        raise ClevrSkillsError(f"--trained-on {trained_on}: the policy has no training data")
    run = replace(run, track=track, trained_on=trained_on)
    check_training(run, suite)
    return run


def check_training(run: Run, suite: Suite) -> None:
    """Check the training data that a run declares, if any, against the tasks of its policy.

    Raises:
        ClevrSkillsError: The policy was trained on tasks of further levels.
    """
    levels, given = all_levels(suite), run.trained_on
    stated = {*given.split("+")}
    further = {levels[task] for task in run.trained_tasks if task in levels} - stated
    if further and stated <= {*levels.values(), NONE}:
        also = ", ".join(sorted(further))
        raise ClevrSkillsError(f"--trained-on {given}: the policy was also trained on {also}")


def deviations(run: Run, suite: Suite, results: Sequence[EpisodeResult] = ()) -> list[str]:
    """Return the deviations of a run from its cell of the protocol, or else from the closest cell.

    Args:
        run: The run.
        suite: Its suite; without a protocol there are no deviations.
        results: Its results, to compare the numbers of episodes.
    """
    protocol = protocol_of(suite)
    if protocol is None:
        return []
    named = [cell for cell in protocol.cells if cell.name == run.protocol]
    found = [_deviations(run, suite, cell, results) for cell in named or protocol.cells]
    return min(found, key=len)


def _deviations(run: Run, suite: Suite, cell: Cell, results: Sequence[EpisodeResult]) -> list[str]:
    expected = _settings(suite, cell)
    differ = [name for name, value in expected.items() if _actual(run, name) != value]
    if "preset" in differ:  # report either the preset or the options that it sets
        of = suite.presets()[expected["preset"]]
        matters = of.prompt or not of.options.keys().isdisjoint(differ)
        left_out = of.options.keys() if matters else {"preset"}
        differ = [name for name in differ if name not in left_out]
    found = [
        f"{name} {_words(_actual(run, name))}, not {_words(expected[name])}" for name in differ
    ]
    if run.seed is not None or not run.episodes:
        return [*found, "no frozen episodes"]
    frozen = {
        frozen_name(task, split): (task, split)
        for task, info in suite.tasks.items()
        for split in info.splits
    }
    pairs = [frozen[name] for name in run.episodes if name in frozen]
    splits = list(dict.fromkeys(split for _, split in pairs))
    if splits != [cell.split]:
        found.append(f"split {' and '.join(splits)}, not {cell.split}")
    if extra := [task for task, _ in pairs if task not in cell_tasks(suite, cell)]:
        found.append(f"tasks that do not belong to it: {', '.join(dict.fromkeys(extra))}")
    for name, content in run.episodes.items():
        if name not in frozen or suite.frozen(*frozen[name]).content_hash != content:
            found.append(f"other episodes of {name} than those of the package")
            break
    return found + _counts(run, suite, cell, results)


def _counts(run: Run, suite: Suite, cell: Cell, results: Sequence[EpisodeResult]) -> list[str]:
    """Return the deviations in the numbers of episodes."""
    found = []
    if any(result.handover for result in results):
        found.append("parts of episodes")
    if any(result.repeat for result in results):
        found.append("repeated episodes")
    if cell.episodes is not None and run.sequential:
        population = int(run.sequential["population"])
        if population != cell.episodes:
            found.append(f"{population} episodes, not {cell.episodes}")
    elif results:
        counts = Counter((r.task, r.split) for r in results if not r.repeat and not r.handover)
        wrong = {
            count
            for pair, count in counts.items()
            if count != (cell.episodes or suite.frozen(*pair).header.episodes)
        }
        if wrong:
            numbers = f"{min(wrong)} to {max(wrong)}" if len(wrong) > 1 else str(min(wrong))
            found.append(f"{numbers} episode{'s' * (numbers != '1')}, not {cell.episodes or 'all'}")
    return found


def _settings(suite: Suite, cell: Cell) -> dict[str, Any]:
    """Return the settings of a cell by option, including the defaults of all protocols."""
    options = dict(cell.options)
    if preset := options.get("preset"):
        options = {**suite.presets()[preset].options, **options}
    if options.pop("no_cameras", False):
        options["cameras"] = ()
    usual = {"axis": {}, "criteria": suite.criteria()[0], "noise": ""}
    return {**usual, "stop": "goal", "wording": "own", **options}


def _actual(run: Run, name: str) -> Any:
    """Return the setting of a run by option."""
    shown = run.observation
    others = {"axis": run.axes, "view": shown.get("views"), "size": shown.get("size_px")}
    found = {**shown, **vars(run), **others}.get(name)
    if name == "noise" and found == "clean":
        return ""
    return tuple(found) if isinstance(found, list) else found


def _words(value: Any) -> str:
    if isinstance(value, Mapping):
        value = tuple(f"{name}:{level}" for name, level in value.items())
    return (" and ".join(value) if isinstance(value, tuple) else str(value or "")) or "none"
