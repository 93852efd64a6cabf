"""``clevrskills report`` and ``compare``: tables and a page, from results of evaluations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from clevrskills.errors import ClevrSkillsError

if TYPE_CHECKING:
    from clevrskills.evaluation.report.comparison import Comparison
    from clevrskills.evaluation.report.tables import Row
    from clevrskills.evaluation.results import Evaluation

PAGE = "report.html"
SHOWN = ("level", "tasks", "split", "run", "episodes", "success %", "goals met %", "reward/step")
"""Columns of the table on the terminal; the files have all."""


@dataclass(kw_only=True)
class ReportArgs:
    """Write tables (CSV, Markdown, LaTeX) and a page from runs of `clevrskills evaluate`.

    The page shows levels, tasks, how episodes ended, and every episode, with its video if there is
    one. With several runs they stand side by side, and each is compared with the first one on the
    episodes that both have done.
    """

    runs: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """Folders of runs."""
    out: Path | None = None
    """Folder to write to; by default `report` in the first run's folder."""
    title: str = "Evaluation"
    """Title of the page."""
    json: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Print the tables as JSON."""


def report(args: ReportArgs) -> int:
    """Write the report and print the table of levels.

    Raises:
        ClevrSkillsError: A folder holds no run, no episode has ended yet, or the disk refused.
    """
    from clevrskills.evaluation.report import tables
    from clevrskills.evaluation.results import open_evaluations
    from clevrskills.jobs.files import storage_errors

    if not args.runs:
        raise ClevrSkillsError("name the folder of at least one run")
    evaluations = open_evaluations(args.runs)
    for evaluation in evaluations:
        if not evaluation.results:
            raise ClevrSkillsError(f"{evaluation.root}: no episode has ended yet")
    levels, tasks = tables.level_rows(evaluations), tables.task_rows(evaluations)
    comparisons = _comparisons(evaluations)
    out = args.out or args.runs[0] / "report"
    with storage_errors(out):
        out.mkdir(parents=True, exist_ok=True)
    _write(out, args.title, evaluations, levels, tasks, comparisons)
    if args.json:
        _print_json(levels, tasks, comparisons)
        return 0
    from clevrskills.evaluation.report.tables import print_lines, print_table

    shown = tables.words(levels)
    print_table(shown[[name for name in (*SHOWN, "errors") if name in shown]])
    print_lines(f"{out / PAGE}, and the tables beside it")
    return 0


def _comparisons(evaluations: Sequence[Evaluation]) -> list[Comparison]:
    """The first run with each of the others that has done episodes of it, too."""
    from clevrskills.evaluation.report.comparison import compare_runs

    first, *others = evaluations
    done = {(r.id, r.episode) for r in first.results if r.counts}
    return [
        compare_runs(first, other)
        for other in others
        if any(r.counts and (r.id, r.episode) in done for r in other.results)
    ]


def _write(
    out: Path,
    title: str,
    evaluations: Sequence[Evaluation],
    levels: Sequence[Row],
    tasks: Sequence[Row],
    comparisons: Sequence[Comparison],
) -> None:
    from clevrskills.dataset_tools.pages import render
    from clevrskills.evaluation.report import comparison as pairs
    from clevrskills.evaluation.report import tables
    from clevrskills.evaluation.report.page_data import contents, videos
    from clevrskills.jobs.files import write_whole

    files = {
        "levels": ("Levels", tables.numbers(levels), tables.words(levels)),
        "tasks": ("Tasks", tables.numbers(tasks), tables.words(tasks)),
    }
    for k, comparison in enumerate(comparisons, start=1):
        for name, rows in (("levels", comparison.levels), ("tasks", comparison.tasks)):
            heading = f"{comparison.b} against {comparison.a}: {name}"
            texts = pairs.words(comparison, rows)
            files[f"comparison-{k}-{name}"] = (heading, pairs.numbers(rows), texts)
    notes = [tables.EXPLANATION, *([pairs.EXPLANATION] if comparisons else [])]
    tables.write_tables(out, files, "\n\n".join(notes))
    write_whole(out / "episodes.csv", tables.episodes(evaluations).to_csv(index=False))
    page = render(
        "report.html",
        "evaluation.report",
        title=title,
        data=contents(evaluations, levels, tasks, comparisons),
        videos=videos(evaluations, out),
        tables=[(heading, texts) for heading, _, texts in files.values()],
        notes=notes,
    )
    write_whole(out / PAGE, page)


def _print_json(
    levels: Sequence[Row], tasks: Sequence[Row], comparisons: Sequence[Comparison]
) -> None:
    from clevrskills.evaluation.report import comparison as pairs
    from clevrskills.evaluation.report import tables
    from clevrskills.jobs import files

    data = {
        "levels": tables.records(tables.numbers(levels)),
        "tasks": tables.records(tables.numbers(tasks)),
        "comparisons": [pairs.to_json(comparison) for comparison in comparisons],
    }
    print(files.to_json(data, indent=1))


@dataclass(kw_only=True)
class CompareArgs:
    """Compare two runs of `clevrskills evaluate` on the episodes that both have done.

    For each level and task: both success rates, their difference with its 95 % interval (paired
    bootstrap; Newcombe's for a single task), and McNemar's exact test.
    """

    a: Annotated[Path, tyro.conf.Positional]
    """Folder of the first run."""
    b: Annotated[Path, tyro.conf.Positional]
    """Folder of the second run."""
    at_end: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Compare success after the last step, not after any step."""
    episodes: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """List the episodes, too, at which only one of them succeeded."""
    json: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Print the comparison as JSON."""


def compare(args: CompareArgs) -> int:
    """Print the comparison.

    Raises:
        ClevrSkillsError: A folder holds no run, or they have no episode in common.
    """
    from clevrskills.evaluation.report.comparison import EXPLANATION, compare_runs, to_json, words
    from clevrskills.evaluation.results import open_evaluations

    a, b = open_evaluations([args.a, args.b])
    comparison = compare_runs(a, b, "end" if args.at_end else "once")
    if args.json:
        from clevrskills.jobs import files

        print(files.to_json(to_json(comparison), indent=1))
        return 0
    from clevrskills.evaluation.report.tables import print_lines, print_table

    print_table(words(comparison, comparison.levels), f"{comparison.a} and {comparison.b}")
    print_table(words(comparison, comparison.tasks))
    if args.episodes:
        for label, ids in ((comparison.a, comparison.lost), (comparison.b, comparison.won)):
            print_lines(f"only {label}: " + (", ".join(ids) or "none"))
    print_lines(*comparison.remarks, EXPLANATION)
    return 0
