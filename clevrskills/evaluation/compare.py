"""``clevrskills compare``: two policies on the same episodes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro


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
    from clevrskills.evaluation.runs import open_evaluations

    a, b = open_evaluations([args.a, args.b])
    comparison = compare_runs(a, b, "end" if args.at_end else "once")
    if args.json:
        from clevrskills.jobs import files

        print(files.to_json(to_json(comparison), indent=1))
        return 0
    from clevrskills.evaluation.report.terminal import print_lines, print_table

    print_table(words(comparison, comparison.levels), f"{comparison.a} and {comparison.b}")
    print_table(words(comparison, comparison.tasks))
    if args.episodes:
        for label, ids in ((comparison.a, comparison.lost), (comparison.b, comparison.won)):
            print_lines(f"only {label}: " + (", ".join(ids) or "none"))
    print_lines(*comparison.remarks, EXPLANATION)
    return 0
