"""Tables of docs/training_results.md: success rates, perturbations, splits and predicted positions
of learned policies.

Success rates come from submissions of the leaderboard and from results/learned, which has a file
for each run of ``clevrskills evaluate``, ``benchmark`` or ``robustness`` that ``docs/build.py
learned --measured RUN`` added.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from clevrskills.core.statistics import wilson
from clevrskills.core.suite import load_suite
from clevrskills.evaluation.results import RUN_FILE, read_results, read_run
from clevrskills.evaluation.statistics import Estimate, difference, paired_difference, share
from clevrskills.evaluation.submission.document import read_submission
from clevrskills.jobs.files import to_json
from clevrskills.suites.clevrskills.published import published
from pages import DOCS, RESULTS
from pages.leaderboard import FOLDER as LEADERBOARD
from pages.trainings import markdown

PAGE, FOLDER, POSITIONS = DOCS / "training_results.md", RESULTS / "learned", RESULTS / "positions"
PART = re.compile(r"(<!-- (\w+) -->).*?(<!-- end of \2 -->)", re.DOTALL)
CONTROL = "bc-compact-l0"
STREAM = "stream-robolm-compact"
SEQUENTIAL = {"compact-l0-l1": "L0+L1", "compact-l0-l1-l2": "all"}
"""Rows trained level by level, with their levels."""
LEARNED = ("compact", *SEQUENTIAL, "compact-l0", STREAM, CONTROL)
POLICIES = (*LEARNED, "oracle", "random", "zero")
COMPARED = (
    ("compact-l0", CONTROL, "L0"),
    ("compact-l0-l1", "compact", "L1"),
    ("compact-l0-l1-l2", "compact", "L2"),
)
"""Pairs of policies that are compared on a level."""
SPLITS = {"test": "unseen", "train": "seen"}
COLUMNS = (
    *(("L0", "trained"), ("L1", "zero-shot"), ("L2", "zero-shot")),
    *(("L1", "trained"), ("L2", "trained")),
)
CRITERIA = "paper"
MISSING = "-"
"""Outcome of an episode that was not run or does not count."""


@dataclass(frozen=True)
class Outcomes:
    """Outcomes of a policy.

    Attributes:
        policy: Name of the policy.
        condition: Perturbation axes with levels, and criteria unlike the protocol's; may be empty.
        files: Hash of the file of frozen episodes, by ``<task>_<split>``.
        outcomes: A letter for each episode of these files, in order: ``1`` solved, ``0`` not.
    """

    policy: str
    condition: str
    files: Mapping[str, str]
    outcomes: Mapping[str, str]


def page(text: str) -> str:
    """Return the page with its tables rewritten."""
    found, trained_on = read()
    clean = {one.policy: one for one in found.values() if not one.condition}
    tables = {
        "levels": levels(clean, trained_on),
        "published": published_levels(),
        "tasks": by_task(clean),
        "robustness": robustness(found, clean),
        "splits": splits(clean),
        "positions": positions(),
    }
    return PART.sub(lambda m: f"{m[1]}\n\n{tables[m[2]]}\n\n{m[3]}", text)


def keep(folder: Path) -> None:
    """Add the outcomes of all runs in a folder to results/learned; those of other tasks stay."""
    for path in sorted(folder.rglob(RUN_FILE)):
        run, indexed = read_run(path.parent), dict[str, dict[int, str]]()
        for result in read_results(path.parent):
            if result.counts:
                name = f"{result.task}_{result.split}"
                indexed.setdefault(name, {})[result.index] = str(int(result.success_once))
        outcomes = {
            name: "".join(of.get(k, MISSING) for k in range(max(of) + 1))
            for name, of in indexed.items()
        }
        conditions = [f"{axis}:{level}" for axis, level in run.axes.items()]
        conditions += [f"criteria:{run.criteria}"] * (run.criteria != CRITERIA)
        files, policy = dict(run.episodes), _name(run.policy)
        about = [policy, *conditions, *sorted({_of(name)[1] for name in outcomes})]
        file = FOLDER / f"{'-'.join(about).replace(':', '-')}.json"
        if file.exists():
            before = Outcomes(**json.loads(file.read_text(encoding="utf-8")))
            files, outcomes = {**before.files, **files}, {**before.outcomes, **outcomes}
        one = Outcomes(policy, ", ".join(conditions), files, outcomes)
        file.write_text(to_json(asdict(one), indent=1) + "\n", encoding="utf-8")


def read() -> tuple[dict[tuple[str, str], Outcomes], dict[str, str]]:
    """Return the outcomes by policy and condition, and what each policy was trained on."""
    runs, trained_on = list[Outcomes](), {STREAM: "L0", **SEQUENTIAL}
    for path in sorted(LEADERBOARD.glob("*.json")):
        found = read_submission(path)
        for cell in found.cells.values():
            if found.suite == "clevrskills" and cell.run["interface"] == "delta":
                files = {name: of.file for name, of in cell.tasks.items()}
                outcomes = {name: of.outcomes for name, of in cell.tasks.items()}
                runs.append(Outcomes(_name(cell.run["policy"]), "", files, outcomes))
                trained_on[runs[-1].policy] = found.trained_on
    for path in sorted(FOLDER.glob("*.json")):
        runs.append(Outcomes(**json.loads(path.read_text(encoding="utf-8"))))
    merged = dict[tuple[str, str], Outcomes]()
    for run in runs:
        key = run.policy, run.condition
        if known := merged.get(key):
            # the longer one: a run of robustness repeats the first episodes
            outcomes = {
                name: max(known.outcomes.get(name, ""), run.outcomes.get(name, ""), key=len)
                for name in {**known.outcomes, **run.outcomes}
            }
            run = Outcomes(run.policy, run.condition, {**run.files, **known.files}, outcomes)
        merged[key] = run
    return merged, trained_on


def levels(clean: Mapping[str, Outcomes], trained_on: Mapping[str, str]) -> str:
    """Return the table of success rates by level, and that of paired differences."""
    rows = []
    for policy in sorted((n for n in clean if _seedless(n) in POLICIES), key=_place):
        for split, objects in SPLITS.items():
            cells = {
                (level, _setting(level, trained_on[_seedless(policy)])): rate
                for level in ("L0", "L1", "L2")
                if (rate := _rate(clean[policy], level, split))
            }
            counts = {
                len(of) for name, of in clean[policy].outcomes.items() if _of(name)[1] == split
            }
            if cells:
                texts = [cells[c].percent() if c in cells else "" for c in COLUMNS]
                rows.append([f"`{policy}`", objects, *texts, str(min(counts))])
    heads = ["policy", "objects", *(_heading(c) for c in COLUMNS), "episodes a task"]
    table = markdown(heads, rows)
    pairs = [
        [f"`{one}`", f"`{other}`", level, paired_difference(found).percent(1, "+")]
        for one, other, level in COMPARED
        if {one, other} <= clean.keys() and (found := _pairs(clean[other], clean[one], level))
    ]
    heads = ["policy", "minus", "level", "difference in points"]
    return f"{table}\n\nPaired by episode, on unseen objects:\n\n{markdown(heads, pairs)}"


def _seedless(policy: str) -> str:
    """Return the name of a policy without its training seed, e.g. of ``compact-l0-seed-1``."""
    return re.sub(r"-seed-\d+$", "", policy)


def _place(policy: str) -> tuple[int, str]:
    """Return the sort key of a policy: seeds follow their policy."""
    return POLICIES.index(_seedless(policy)), policy


def published_levels() -> str:
    """Return the table of published success rates."""
    columns = [("L0", "trained", split) for split in ("train", "test")]
    columns += [(*column, "train") for column in COLUMNS[1:]]
    models = dict[str, dict[tuple[str, str, str], Estimate]]()
    for result in published():
        if result.prompt == "multimodal" and result.model != "Oracle":
            key = result.level, result.setting.replace("fine-tuned", "trained"), result.split
            models.setdefault(result.model, {})[key] = result.success
    rows = [[model, *(of[column].percent() for column in columns)] for model, of in models.items()]
    # the paper does not say which objects it used for L1 and L2
    heads = [_heading(c[:2]) + f", {SPLITS[c[2]]}" * (c[0] == "L0") for c in columns]
    heads.insert(0, "model")
    return markdown(heads, rows)


def by_task(clean: Mapping[str, Outcomes]) -> str:
    """Return the table of success rates by task, on unseen objects."""
    policies = [name for name in LEARNED if name in clean]
    rows = []
    for task, info in load_suite().tasks.items():
        outcomes = [clean[policy].outcomes.get(f"{task}_test", "") for policy in policies]
        if any(outcomes):
            cells = [f"{100 * np.mean(_solved(of)):.0f}" if of else "" for of in outcomes]
            rows.append([info.level, f"`{task}`", *cells])
    return markdown(["level", "task", *(f"`{policy}`" for policy in policies)], rows)


def robustness(found: Mapping[tuple[str, str], Outcomes], clean: Mapping[str, Outcomes]) -> str:
    """Return the table of the drops in other conditions, paired with the clean episodes."""
    rows = []
    for (policy, condition), run in found.items():
        if condition and policy in clean:
            pairs = _pairs(clean[policy], run)
            before, after = (share([of[:, k] for of in pairs]).percent() for k in (0, 1))
            drop = paired_difference([of[:, ::-1] for of in pairs]).percent(1, "+")
            cells = [f"`{policy}`", f"`{condition}`", f"{sum(map(len, pairs))}"]
            rows.append([*cells, before, after, drop])
    heads = ["policy", "condition", "pairs", "clean", "changed", "drop in points"]
    return markdown(heads, rows)


def splits(clean: Mapping[str, Outcomes]) -> str:
    """Return the table of success rates on splits of composition, beside those of the same tasks on
    ``train``.
    """
    rows = []
    for policy, run in clean.items():
        names = dict[str, list[str]]()
        for task, split in map(_of, run.outcomes):
            if split not in SPLITS and f"{task}_train" in run.outcomes:
                names.setdefault(split, []).append(task)
        for split, tasks in sorted(names.items()):
            pair = [
                share([_solved(run.outcomes[f"{task}_{name}"]) for task in tasks])
                for name in (split, "train")
            ]
            change = difference(*pair).percent(1, "+")
            cells = [f"`{policy}`", f"`{split}`", f"{len(tasks)}"]
            rows.append([*cells, *(rate.percent() for rate in pair), change])
    heads = ["policy", "split", "tasks", "split, %", "`train`, %", "difference"]
    return markdown(heads, rows)


def positions() -> str:
    """Return the table of predicted positions, a row for each named object of a task and split."""
    rows = []
    for path in sorted(POSITIONS.glob("*.json")):
        measured = json.loads(path.read_text(encoding="utf-8"))
        for row in measured["rows"]:
            errors = [error for error in row["error_cm"] if error is not None]
            rows.append(
                [
                    f"`{_name(measured['checkpoint'])}`",
                    f"`{measured['split']}`",
                    f"`{row['task']}`, {row['object']}",
                    f"{100 * np.mean(1 / np.array(row['bodies'])):.0f}",
                    *(_percent(row["right"]), f"{median(errors):.1f}" if errors else ""),
                ]
            )
    heads = ["policy", "split", "task, object", "chance, %", "right body, %", "error, cm"]
    return markdown(heads, rows)


def write(measured: Path | None = None) -> None:
    """Write the page; a folder of runs is added to results/learned before."""
    if measured:
        keep(measured)
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


def _name(policy: str) -> str:
    return Path(policy.removeprefix("checkpoint:")).name


def _of(name: str) -> tuple[str, str]:
    """Return task and split of ``<task>_<split>``."""
    task, _, split = name.rpartition("_")
    return task, split


def _setting(level: str, trained_on: str) -> str:
    trained = level == "L0" or level in trained_on.split("+") or trained_on == "all"
    return "trained" if trained else "zero-shot"


def _heading(column: tuple[str, ...]) -> str:
    level, setting = column
    return level if level == "L0" else f"{level} {setting}"


def _solved(outcomes: str) -> np.ndarray:
    return np.array([letter == "1" for letter in outcomes if letter != MISSING])


def _rate(run: Outcomes, level: str, split: str) -> Estimate | None:
    """Return the mean over the tasks of a level; ``None`` if one is missing."""
    known = load_suite().tasks
    names = [f"{task}_{split}" for task, info in known.items() if info.level == level]
    if not all(name in run.outcomes for name in names):
        return None
    return share([_solved(run.outcomes[name]) for name in names])


def _pairs(one: Outcomes, other: Outcomes, level: str = "") -> list[np.ndarray]:
    """Return the outcomes of two runs on the same episodes, (n, 2) bool for each task; of a level:
    of its tasks on unseen objects.
    """
    found, known = [], load_suite().tasks
    for name in one.outcomes.keys() & other.outcomes.keys():
        task, split = _of(name)
        chosen = not level or (known[task].level, split) == (level, "test")
        if chosen and one.files.get(name) == other.files.get(name):
            both = zip(one.outcomes[name], other.outcomes[name], strict=False)
            pairs = [(a == "1", b == "1") for a, b in both if MISSING not in (a, b)]
            found.append((name, np.array(pairs).reshape(-1, 2)))
    return [pairs for _, pairs in sorted(found, key=lambda item: item[0])]


def _percent(right: Any) -> str:
    """Return a rate with its 95 % interval (Wilson 1927), in percent."""
    low, high = wilson(sum(right), len(right))
    return f"{100 * np.mean(right):.0f} [{100 * low:.0f}, {100 * high:.0f}]"
