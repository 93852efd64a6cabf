"""AsgardBench's policies without images, and the oracle, on the frozen instances of ``test``.

    python benchmarks/household_blind.py
    python benchmarks/household_blind.py --tune

Writes the rows shown in every report of the suite and on its page: how many instances each policy
solves, and how many carefully, of all and of those that start with a dirty dish.

A careful episode has no refused turn. So without images, all careful episodes follow one plan for a
given sentence and list of object types. ``--tune`` searches the best plans on ``val``: for each
family it tries which dishes are dirty, whether the mug is full and what lies in the sink, first
alone, then after the best plans so far. ``clevrskills.suites.asgardbench.agents.EXPECTED`` has the
result.
"""

from __future__ import annotations

import copy
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import tyro
from common import print_table

from clevrskills.evaluation.results import read_results
from clevrskills.jobs.files import to_json
from clevrskills.suites.asgardbench.agents import in_the_way, used_dishes
from clevrskills.suites.asgardbench.env import house_of
from clevrskills.suites.asgardbench.imagined import imagine
from clevrskills.suites.asgardbench.predicates import met_now
from clevrskills.suites.asgardbench.published import BLIND_FILE, BLIND_HEADINGS
from clevrskills.suites.asgardbench.rules.layout import PlacedObject
from clevrskills.suites.asgardbench.rules.verbs import apply
from clevrskills.suites.asgardbench.suite import AsgardBenchSuite
from clevrskills.suites.asgardbench.tasks.care import Care
from clevrskills.suites.asgardbench.tasks.goals import goal_of
from clevrskills.suites.asgardbench.tasks.instances import TABLE, Variant, read_sentence
from clevrskills.suites.asgardbench.tasks.solver import StuckError, solve
from clevrskills.suites.symbolic import SymbolicEpisode

POLICIES = ("oracle", "blind", "open_loop", "cautious", "probing")
BEGIN, END = "<!-- household_blind.py -->", "<!-- end of household_blind.py -->"
PAGE = Path(__file__).parents[1] / "docs" / "asgardbench.md"
PLANS = 3
"""Plans to try in turn."""


def main(workers: int = 1, tune: bool = False) -> None:
    """Measure, and write the rows.

    Args:
        workers: Worker processes of each evaluation.
        tune: Search the plans of careful episodes instead, and write nothing.
    """
    if tune:
        _tune()
        return
    rows = [_row(policy, workers) for policy in POLICIES]
    BLIND_FILE.write_text("[\n" + ",\n".join(map(to_json, rows)) + "\n]\n", encoding="utf-8")
    print_table("Instances", list(BLIND_HEADINGS), [[*row] for row in rows])
    lines = [BLIND_HEADINGS, ["---"] * len(BLIND_HEADINGS), *rows]
    table = "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)
    text = PAGE.read_text(encoding="utf-8")
    between = re.compile(f"(?<={re.escape(BEGIN)}\n).*?(?={re.escape(END)})", re.DOTALL)
    PAGE.write_text(between.sub(lambda _: table + "\n", text), encoding="utf-8")


def _row(policy: str, workers: int) -> list[str | int]:
    with TemporaryDirectory() as folder:
        options = ["--suite", "asgardbench", "--policy", policy, "--all", "--feedback", "simple"]
        options += ["--workers", str(workers), "--out", folder]
        subprocess.run([sys.executable, "-m", "clevrskills", "evaluate", *options], check=True)
        results = list(read_results(Path(folder)))
    counts: list[str | int] = [policy, len(results)]
    for some in (results, [r for r in results if r.tags["dirty"] == "yes"]):
        careful = sum(bool(result.measures["careful"]) for result in some)
        counts += [sum(result.success_once for result in some), careful]
    return counts


def _tune() -> None:
    suite = AsgardBenchSuite()
    rows = []
    for task in TABLE:
        val, test = ([_Instance(e) for e in suite.frozen(task, s)] for s in ("val", "test"))
        names: list[str] = []
        while len(names) < PLANS:
            every = dict.fromkeys(name for one in val for name in one.cases)
            wins = {n: sum(one.careful([*names, n]) for one in val) for n in every}
            best = max(wins, key=lambda name: wins[name])
            if names and wins[best] <= sum(one.careful(names) for one in val):
                break
            names.append(best)
        solved = [one for one in test if one.careful(names)]
        dirty = sum(bool(one.variant.dirty) for one in solved)
        plain = [sum(one.careful([PLAIN]) for one in some) for some in (val, test)]
        on_val = sum(one.careful(names) for one in val)
        rows.append([task, "; then ".join(names), plain[0], on_val, plain[1], len(solved), dirty])
        print(*rows[-1], flush=True)
    rows.append(["all", "", *(sum(column) for column in [*zip(*rows, strict=True)][2:])])
    headings = ["family", "expected", "plain, val", "val", "plain, test", "test", "dirty, test"]
    print_table("Careful", headings, rows)


PLAIN = "clean"


class _Instance:
    """Instance with plans made without images, by the state they expect.

    Args:
        episode: The episode.
    """

    def __init__(self, episode: SymbolicEpisode) -> None:
        task, self.variant = episode.task, Variant.from_json(episode.start["variant"])
        items = [PlacedObject(**item) for item in episode.start["things"]]
        self.house = house_of(task, self.variant, items)
        self.goal = goal_of(task, self.variant, "paper", self.house)
        self.care = Care(task, self.variant, self.house)
        variant = read_sentence(episode.text)[1]
        kinds = [kind for kind in self.house.types if kind != "StoveKnob"]
        self.cases: Mapping[str, Sequence[str]] = dict(_plans(task, variant, kinds))

    def careful(self, names: Sequence[str]) -> bool:
        """Return whether these plans, tried in turn, are careful and reach the goal."""
        house, care = self.house.copy(), copy.deepcopy(self.care)
        for command in [command for name in names for command in self.cases.get(name, ())]:
            if not apply(house, *command.split()).ok:
                return False
            care.turn(command.split()[0], house)
            if care.needless or met_now(self.goal, house):
                return not care.needless
        return False


def _plans(task: str, variant: Variant, kinds: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield plans by the state they expect."""
    dishes = used_dishes(task, variant)
    dirty = {PLAIN: (), **{f"dish {k} dirty": (dish,) for k, dish in enumerate(dishes, 1)}}
    if len(dishes) > 1:
        dirty |= {"last dish dirty": dishes[-1:], "all dishes dirty": dishes}
    mug = (False, True) if dishes == ("Mug",) else (False,)
    for name, some in dirty.items():
        for full in mug:
            for food in ("", *in_the_way(task, variant, kinds, "Faucet")):
                expected = [name, "mug full" * full, f"{food} in sink" * bool(food)]
                inside = {food: "SinkBasin"} if food else {}
                house = imagine(task, variant, kinds, dirty=some, full=full, inside=inside)
                try:
                    yield ", ".join(filter(None, expected)), solve(task, variant, house)
                except StuckError:
                    continue


if __name__ == "__main__":
    tyro.cli(main)
