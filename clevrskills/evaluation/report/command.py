"""``clevrskills report`` and ``compare``: tables and an HTML page from evaluation results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from clevrskills.errors import ClevrSkillsError
from clevrskills.jobs.files import storage_errors, to_json, write_whole
from clevrskills.jobs.options import Positional

if TYPE_CHECKING:
    from clevrskills.evaluation.report.comparison import Comparison
    from clevrskills.evaluation.report.tables import ResultRow, Table
    from clevrskills.evaluation.results import Evaluation

PAGE = "report.html"
SHOWN = (
    *("level", "tasks", "split", "run", "track", "episodes", "errors", "restarts"),
    *("success %", "goals met %", "reward/step"),
)
"""Columns of the table on the terminal; the files have all columns."""


@dataclass(kw_only=True)
class ReportArgs:
    """Write tables (CSV, Markdown, LaTeX) and an HTML page for runs of `clevrskills evaluate`,
    `lerobot-eval` or `vla-eval`.

    The page shows results by level and task, causes of termination, and every episode with its
    video. Several runs are shown side by side, and each is compared with the first on the episodes
    that both have evaluated.
    """

    runs: Positional[tuple[Path, ...]]
    """Run folders."""
    out: Path | None = None
    """Output folder; default: `report` in the folder of the first run."""
    title: str = "Evaluation"
    """Title of the page."""
    json: bool = False
    """Print the tables as JSON."""


def report(args: ReportArgs) -> int:
    """Write the report and print the table of levels.

    Raises:
        ClevrSkillsError: A folder has no run or no finished episode, or writing failed.
    """
    from clevrskills.evaluation.benchmark.headline import headline_tables
    from clevrskills.evaluation.handover.tables import composition_tables
    from clevrskills.evaluation.report import comparison as pairs
    from clevrskills.evaluation.report import tables
    from clevrskills.evaluation.report.external_results import read_any
    from clevrskills.evaluation.report.failures import failure_tables
    from clevrskills.evaluation.report.suite_tables import published_tables, suite_tables
    from clevrskills.evaluation.results import open_evaluations
    from clevrskills.evaluation.robustness.tables import robustness_tables
    from clevrskills.evaluation.sequential.tables import sequential_tables

    if not args.runs:
        raise ClevrSkillsError("name the folder of at least one run")
    evaluations = open_evaluations(args.runs, read_any)
    for evaluation in evaluations:
        if not evaluation.results and not evaluation.parts:
            raise ClevrSkillsError(f"{evaluation.root}: no episode has ended yet; continue the run")
    levels, tasks = tables.level_rows(evaluations), tables.task_rows(evaluations)
    comparisons = _comparisons(evaluations)
    further = [
        *headline_tables(evaluations),
        *suite_tables(evaluations),
        *failure_tables(evaluations),
        *sequential_tables(evaluations),
        *robustness_tables(evaluations),
        *composition_tables(evaluations),
        *published_tables(evaluations),
    ]
    out = args.out or args.runs[0] / "report"
    with storage_errors(out):
        out.mkdir(parents=True, exist_ok=True)
    _write(out, args.title, evaluations, levels, tasks, comparisons, further)
    if args.json:
        data = {
            "levels": tables.records(tables.numbers(levels)),
            "tasks": tables.records(tables.numbers(tasks)),
            "tags": [],
            **{table.name: tables.records(table.data) for table in further},
            "comparisons": [pairs.to_json(comparison) for comparison in comparisons],
            "warnings": tables.warning_lines(evaluations),
        }
        print(to_json(data, indent=1))
        return 0
    measures = tables.measures_of(evaluations)
    if levels:
        texts = tables.words(levels, measures)
        shown = [*SHOWN, *map(tables.heading_of, measures)]
        tables.print_table(texts[[name for name in shown if name in texts]])
    tables.print_tables(further)
    tables.print_lines(*tables.warning_lines(evaluations))
    tables.print_lines(f"{out / PAGE}, and the tables beside it")
    return 0


def _comparisons(evaluations: Sequence[Evaluation]) -> list[Comparison]:
    """Return comparisons of the first run with all others that share episodes with it."""
    from clevrskills.evaluation.report.comparison import compare_runs, pairing_obstacle

    first, *others = [e for e in evaluations if e is evaluations[0] or not pairing_obstacle(e)]
    if pairing_obstacle(first):
        return []
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
    levels: Sequence[ResultRow],
    tasks: Sequence[ResultRow],
    comparisons: Sequence[Comparison],
    further: Sequence[Table],
) -> None:
    from clevrskills.dataset_tools.pages import render
    from clevrskills.evaluation.report import comparison as pairs
    from clevrskills.evaluation.report import tables
    from clevrskills.evaluation.report.curves import drawings
    from clevrskills.evaluation.report.page_data import contents, videos
    from clevrskills.evaluation.report.suite_tables import pivots

    measures = tables.measures_of(evaluations)
    files = [
        tables.Table(title.lower(), title, tables.numbers(rows), tables.words(rows, measures))
        for title, rows in (("Levels", levels), ("Tasks", tasks))
        if rows
    ]
    files += further
    for k, comparison in enumerate(comparisons, start=1):
        for name, of in (("levels", comparison.levels), ("tasks", comparison.tasks)):
            heading = f"{comparison.b} against {comparison.a}: {name}"
            texts = pairs.words(comparison, of)
            files.append(tables.Table(f"comparison-{k}-{name}", heading, pairs.numbers(of), texts))
    rules = {evaluation.rule: None for evaluation in evaluations}
    notes = [
        tables.EXPLANATION,
        tables.pooling(evaluations),
        *rules,
        *([pairs.EXPLANATION] if comparisons else []),
    ]
    notes += [f"{pairs.unstated(each)}." for each in evaluations if each.source]
    notes += tables.warning_lines(evaluations)
    tables.write_tables(out, files, "\n\n".join(notes))
    write_whole(out / "episodes.csv", tables.episodes(evaluations).to_csv(index=False))
    page = render(
        "report.html",
        "evaluation.report",
        title=title,
        data=contents(evaluations, levels, tasks, comparisons),
        videos=videos(evaluations, out),
        tables=files,
        pivots=pivots(evaluations),
        drawings=drawings(evaluations),
        pooling=tables.pooling(evaluations),
        notes=notes,
    )
    write_whole(out / PAGE, page)


@dataclass(kw_only=True)
class CompareArgs:
    """Compare two runs of `clevrskills evaluate` or `vla-eval` on the episodes that both have
    evaluated.

    For each level and task: both success rates, their difference with its 95 % interval (paired
    bootstrap; Newcombe for a single task), and McNemar's exact test.
    """

    a: Positional[Path]
    """Folder of the first run."""
    b: Positional[Path]
    """Folder of the second run."""
    sequential: bool = False
    """Use an anytime-valid test over rounds of one episode per task, in the shuffled order of
    `evaluate --until-width`."""
    episodes: bool = False
    """List the episodes in which only one of the runs succeeded."""
    json: bool = False
    """Print the comparison as JSON."""


def compare(args: CompareArgs) -> int:
    """Print the comparison.

    Raises:
        ClevrSkillsError: A folder has no run, or the runs have no episode in common.
    """
    from clevrskills.evaluation.report.external_results import read_any
    from clevrskills.evaluation.results import open_evaluations, paired_folders

    pairs = paired_folders(args.a, args.b)
    if args.json and len(pairs) > 1:
        raise ClevrSkillsError(
            f"--json is for one pair of runs, such as {' and '.join(map(str, pairs[0]))}"
        )
    return max(_compare(args, *open_evaluations(pair, read_any)) for pair in pairs)


def _compare(args: CompareArgs, a: Evaluation, b: Evaluation) -> int:
    """Print the comparison of one pair of runs."""
    from clevrskills.evaluation.report.comparison import EXPLANATION, compare_runs, to_json, words

    if args.sequential:
        return _compare_sequentially(args, a, b)
    comparison = compare_runs(a, b)
    if args.json:
        from clevrskills.jobs import files

        print(files.to_json(to_json(comparison), indent=1))
        return 0
    from clevrskills.evaluation.report.tables import print_lines, print_table

    print_table(words(comparison, comparison.levels), f"{comparison.a} and {comparison.b}")
    print_table(words(comparison, comparison.tasks))
    if args.episodes:
        for label, ids in ((comparison.a, comparison.lost), (comparison.b, comparison.won)):
            print_lines(f"only {label}: " + (", ".join(ids) or "none"), wrap=True)
    print_lines(*comparison.remarks, EXPLANATION, wrap=True)
    return 0


def _compare_sequentially(args: CompareArgs, a: Evaluation, b: Evaluation) -> int:
    """Print the comparison by rounds."""
    from clevrskills.evaluation.report.comparison import compare_runs
    from clevrskills.evaluation.sequential.tables import compare_sequentially
    from clevrskills.jobs import files

    if args.episodes:
        raise ClevrSkillsError("--sequential and --episodes exclude each other: give one")
    compare_runs(a, b)  # raises if they cannot be compared
    found = compare_sequentially(a, b)
    if args.json:
        print(files.to_json(asdict(found), indent=1))
        return 0
    from clevrskills.evaluation.report.tables import print_lines

    print_lines(*found.lines())
    return 0
