"""Results of curricula in the layout of the paper's Tables 2, 3 and 5, with the published rows."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import pandas as pd

from clevrskills.core.policy import FORMS
from clevrskills.dataset_tools.pages import render
from clevrskills.errors import ClevrSkillsError
from clevrskills.evaluation.report.tables import latex_escape, markdown, summarize
from clevrskills.evaluation.results import RUN_FILE, EpisodeResult, open_evaluations
from clevrskills.evaluation.statistics import Estimate, over_runs
from clevrskills.jobs.files import read_json, write_whole
from clevrskills.suites.clevrskills.protocol import STAGES, Curriculum, Trial
from clevrskills.suites.clevrskills.published import COMPARABILITY, published
from clevrskills.suites.clevrskills.stages import (
    CHECKPOINTS_DIR,
    CURRICULUM_FILE,
    TRIALS_DIR,
    check_is_curriculum,
    of_trial,
    tasks_of,
)
from clevrskills.suites.clevrskills.suite import SPLITS

PAGE = "index.html"
SEEN = {"train": "seen", "test": "unseen"}
MEASURES = ("success %", "AR", "R/S")
"""Success rate, average reward per episode, average reward per step."""
_FINE = (("L1", "zero-shot"), ("L1", "fine-tuned"), ("L2", "zero-shot"), ("L2", "fine-tuned"))
_TITLES = {
    2: "L0, prompts of words and images (the paper's Table 2)",
    3: "L1 and L2, prompts of words and images (the paper's Table 3)",
    5: "Prompts of words alone (the paper's Table 5)",
}

Column = tuple[str, str, str]
"""Level, setting and split; the split is empty if each line has its own."""


@dataclass(frozen=True)
class Entry:
    """Numbers of a table; published rewards have no intervals."""

    success: Estimate
    reward: Estimate
    reward_per_step: Estimate
    is_published: bool = False
    runs: int = 1  # number of averaged training runs

    def texts(self) -> tuple[str, str, str]:
        """Return the text of each measure."""
        if self.is_published:
            reward = f"{self.reward.value:.2f}".removesuffix(".00")
            return self.success.percent(2), reward, f"{self.reward_per_step.value:.2f}"
        success = self.success.percent() + (f" ({self.runs} seeds)" if self.runs > 1 else "")
        return success, self.reward.text(1), self.reward_per_step.text(2)


@dataclass(frozen=True)
class Line:
    """Row of a table."""

    model: str
    source: str  # `here` or `published`
    split: str  # split of all its entries; empty if they differ
    entries: Mapping[Column, Entry]  # entries by column
    training: str = "-"  # track, steps and hours of training in words


@dataclass(frozen=True)
class PaperTable:
    """One of the paper's tables."""

    number: int  # number in the paper
    title: str  # title
    columns: tuple[Column, ...]  # groups of columns, each with the three measures
    lines: tuple[Line, ...]  # rows, those of this package first


@dataclass(frozen=True)
class Results:
    """Results in a curriculum's folder."""

    label: str  # name of the policy in tables
    seed: int | None  # training seed, if declared
    made_by: tuple[Any, ...]  # settings shared by trainings with other seeds
    episodes: Mapping[Trial, Sequence[EpisodeResult]]
    training: Mapping[str, str]  # track, steps and hours in words, by form of the prompt
    remarks: tuple[str, ...]  # incomplete trials in words


def read_results(root: Path, levels: Mapping[str, str]) -> Results:
    """Read the results of a curriculum so far.

    Raises:
        ClevrSkillsError: It is not the folder of a curriculum, or a file is damaged.
    """
    check_is_curriculum(root)
    path = root / CURRICULUM_FILE
    try:
        data = read_json(path)
        label, episodes = str(data["label"]), int(data["episodes"])
        seed = data.get("training_seed")
        made_by = episodes, data.get("steps"), data.get("trained_by", [])
    except (ValueError, KeyError, TypeError) as error:
        raise ClevrSkillsError(f"{path} is damaged: {error!r}") from error
    protocol = Curriculum(label, "", episodes, SPLITS, FORMS)
    results, remarks, tracks = {}, [], {}
    for stage in STAGES:
        for trial in protocol.trials(stage):
            folder = root / TRIALS_DIR / trial.name
            if not (folder / RUN_FILE).is_file():
                continue
            (run,) = open_evaluations([folder])
            found = of_trial(run.results, trial, levels, episodes)
            if not found:
                continue
            tracks[trial.prompt] = run.run.track
            results[trial] = found
            expected = len(tasks_of(trial, levels)) * episodes
            counted = sum(result.counts for result in found)
            if counted < expected:
                errors = len(found) - counted
                remarks.append(
                    f"{label}: {trial.name} has {counted} of {expected} episodes"
                    + (f", {errors} met an error of the infrastructure" if errors else "")
                )
    training = {
        prompt: _training(root, prompt, track, data.get("steps", []))
        for prompt, track in tracks.items()
    }
    return Results(label, seed, made_by, results, training, tuple(remarks))


def _training(root: Path, prompt: str, track: str, steps: Sequence[int]) -> str:
    """Return track, steps and hours of the trainings for a form of the prompt in words."""
    words = [track or "not stated"]
    if steps:
        words.append(f"{'+'.join(f'{n:,}' for n in steps)} steps")
    markers = [CHECKPOINTS_DIR + f"/{form}/*.json" for form in (prompt, "")]
    found = sorted({path for pattern in markers for path in root.glob(pattern.replace("//", "/"))})
    minutes = [float(read_json(path)["minutes"]) for path in found]
    if minutes:
        words.append(f"{sum(minutes) / 60:.1f} h")
    return ", ".join(words)


def paper_tables(results: Sequence[Results]) -> list[PaperTable]:
    """Return the three tables, where the training seeds of a policy share a row."""
    policies = by_policy(results)
    l0 = tuple(("L0", "trained", split) for split in SPLITS)
    fine = tuple((*column, "") for column in _FINE)
    layouts: dict[int, tuple[str, tuple[Column, ...]]] = {
        2: ("multimodal", l0),
        3: ("multimodal", fine),
        5: ("language", (("L0", "trained", ""), *fine)),
    }
    tables = []
    for number, (prompt, columns) in layouts.items():
        lines = [line for runs in policies for line in _ours(runs, prompt, columns)]
        lines += _published(number, columns)
        used = [c for c in columns if any(c in line.entries for line in lines)]
        tables.append(PaperTable(number, _TITLES[number], tuple(used), tuple(lines)))
    return tables


def by_policy(results: Sequence[Results]) -> list[list[Results]]:
    """Group results with the same label and command but different training seeds."""
    found: list[list[Results]] = []
    for one in results:
        for runs in found:
            seeds = [run.seed for run in (*runs, one)]
            same = (runs[0].label, runs[0].made_by) == (one.label, one.made_by)
            if same and None not in seeds and len({*seeds}) == len(seeds):
                runs.append(one)
                break
        else:
            found.append([one])
    return found


def frame(table: PaperTable) -> pd.DataFrame:
    """Return the table as text, with two rows of headings."""
    columns = [("", "model"), ("", "numbers"), ("", "training")]
    columns += [(heading(c), measure) for c in table.columns for measure in MEASURES]
    data = []
    for line in table.lines:
        model = f"{line.model}, {SEEN[line.split]}" if line.split else line.model
        texts = [model, line.source, line.training]
        for column in table.columns:
            entry = line.entries.get(column)
            texts += entry.texts() if entry else ("-",) * len(MEASURES)
        data.append(texts)
    return pd.DataFrame(data, columns=pd.MultiIndex.from_tuples(columns))


def heading(column: Column) -> str:
    """Return the heading of a group of columns."""
    level, setting, split = column
    return " ".join(filter(None, (level, SEEN.get(split, setting if level != "L0" else ""))))


def numbers(tables: Sequence[PaperTable]) -> pd.DataFrame:
    """Return all entries as a table of numbers, one row per entry."""
    records = []
    for table in tables:
        for line in table.lines:
            for (level, setting, split), entry in line.entries.items():
                record: dict[str, Any] = {
                    "table": table.number,
                    "model": line.model,
                    "numbers": line.source,
                    "training": line.training,
                    "level": level,
                    "setting": setting,
                    "split": split or line.split,
                    "episodes": entry.success.n,
                    "seeds": "" if entry.is_published else entry.runs,
                }
                for name in ("success", "reward", "reward_per_step"):
                    estimate: Estimate = getattr(entry, name)
                    record |= estimate.columns(name)
                records.append(record)
    return pd.DataFrame(records)


def write(root: Path, tables: Sequence[PaperTable], remarks: Sequence[str]) -> None:
    """Write ``tables.csv``, ``tables.md``, ``tables.tex`` and ``index.html``.

    Raises:
        StorageError: Writing failed.
    """
    write_whole(root / "tables.csv", numbers(tables).to_csv(index=False, lineterminator="\n"))
    text, tex = [], []
    for table in tables:
        texts = frame(table)
        tex.append(_latex(table, texts))
        texts.columns = pd.Index([" ".join(filter(None, names)) for names in texts.columns])
        text.append(f"## {table.title}\n\n{markdown(texts)}")
    notes = "\n".join(f"- {note}" for note in (_CAPTION, *remarks, *COMPARABILITY))
    write_whole(root / "tables.md", "\n".join([*text, notes, ""]))
    write_whole(root / "tables.tex", "\n".join(tex))
    page = render(
        "curriculum.html",
        "suites.clevrskills",
        tables=tables,
        heading=heading,
        seen=SEEN,
        measures=MEASURES,
        caption=_CAPTION,
        remarks=remarks,
        comparability=COMPARABILITY,
    )
    write_whole(root / PAGE, page)


_CAPTION = (
    "Success in percent, AR: average reward of an episode, R/S: reward per step. In brackets: 95 % "
    "intervals, over episodes and, where it says so, training seeds; those of published rates are "
    "derived from the stated number of episodes."
)


def _latex(table: PaperTable, texts: pd.DataFrame) -> str:
    """Return the table in LaTeX, page-wide; it needs ``booktabs`` and ``graphicx``."""
    text: str = texts.to_latex(
        index=False,
        escape=True,
        multicolumn_format="c",
        position="t",
        caption=latex_escape(f"{table.title}. {_CAPTION}"),
        label=f"tab:curriculum-{table.number}",
    )
    text = text.replace("{table}", "{table*}")
    text = text.replace("\\begin{tabular}", "\\resizebox{\\textwidth}{!}{%\n\\begin{tabular}")
    return text.replace("\\end{tabular}", "\\end{tabular}}")


def _ours(runs: Sequence[Results], prompt: str, columns: Sequence[Column]) -> Iterator[Line]:
    """Yield the rows of a policy, one per split unless the columns have the splits."""
    trials = {
        (t.level, t.setting, t.split): t for run in runs for t in run.episodes if t.prompt == prompt
    }
    training = {run.training[prompt]: None for run in runs if prompt in run.training}
    for split in SPLITS if not columns[0][2] else ("",):
        entries = {
            column: _entry([run.episodes.get(trial, ()) for run in runs])
            for column in columns
            if (trial := trials.get((column[0], column[1], column[2] or split)))
        }
        if entries:
            yield Line(runs[0].label, "here", split, entries, "; ".join(training))


def _entry(runs: Sequence[Sequence[EpisodeResult]]) -> Entry:
    """Return the numbers of the same episodes over the training runs."""
    runs = [run for run in runs if any(result.counts for result in run)] or runs[:1]
    rows = [summarize(results) for results in ([*chain(*runs)], *runs)]

    def number(name: str, is_share: bool = False) -> Estimate:
        whole, *each = (getattr(row, name) for row in rows)
        return over_runs(whole, [estimate.value for estimate in each], is_share)

    success = number("success_once", is_share=True)
    return Entry(success, number("reward"), number("reward_per_step"), runs=len(runs))


def _published(number: int, columns: Sequence[Column]) -> list[Line]:
    one_split = not columns[0][2]
    entries: dict[str, dict[Column, Entry]] = {}
    for result in published():
        if result.table == number:
            column = (result.level, result.setting, "" if one_split else result.split)
            reward = Estimate(result.reward, math.nan, math.nan, result.success.n)
            per_step = Estimate(result.reward_per_step, math.nan, math.nan, result.success.n)
            entry = Entry(result.success, reward, per_step, is_published=True)
            entries.setdefault(result.model, {})[column] = entry
    split = "train" if one_split else ""
    return [Line(model, "published", split, found) for model, found in entries.items()]
