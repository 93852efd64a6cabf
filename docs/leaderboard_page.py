"""Page of the leaderboard: accepted submissions, each verified, a table for each suite."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from clevrskills.core.suite import all_splits, load_suite
from clevrskills.evaluation.submission.command import check
from clevrskills.evaluation.submission.document import Submission, read_submission

HERE = Path(__file__).parent
FOLDER = HERE / "leaderboard"
PAGE = HERE / "leaderboard.md"
INTRODUCTION = """\
# Leaderboard

Runs on frozen episodes, each in one file of [this folder](leaderboard), with the outcome of every episode and hashes of what
it was run on. The page is made from these files, and every file is verified when it is made.

## Handing in

```bash
clevrskills evaluate --all --policy checkpoint:runs/mine --episodes 50 --track standard-1000 --out mine
clevrskills submission pack mine --name "my policy" --by "A. Author" --link https://example.org/mine
clevrskills submission verify mine/submission.json
```

Send `submission.json`. We verify it, and run a sample of its episodes against your checkpoint, or against a
[server](remote.md) of your policy:

```bash
clevrskills submission verify submission.json --sample 100 --policy openpi://host:8000
```

- Episodes are the first N frozen ones of each task and split, as many of each, each once. Drawn or repeated episodes and runs with
  errors are refused.
- `verify` refuses a file that was changed, or whose episodes, benchmark version or rates are not those
  of this package. Exit code 1 means: what was run again contradicts the file (McNemar's exact test, p < 0.01).
- A digest shows accidents, not intent. What makes a row credible is the sample that we run.
- [Tracks](datasets.md#standard-datasets) say what a policy has learned from; privileged policies read the state of the simulation.

Rates are means over tasks, in %, with 95 % intervals (Wilson, of as many episodes).
"""  # noqa: E501


def page() -> str:
    """The page in Markdown.

    Raises:
        ClevrSkillsError: A file is not in order.
    """
    groups: dict[tuple[str, str], list[Submission]] = defaultdict(list)
    for path in sorted(FOLDER.glob("*.json")):
        found = read_submission(path)
        check(found)
        groups[found.suite, found.run["interface"]].append(found)
    parts = [INTRODUCTION]
    for (suite, interface), group in sorted(groups.items()):
        version = group[0].run["benchmark"]
        parts += [f"## {suite}@{version}, interface `{interface}`\n", _table(group), ""]
    return "\n".join(parts).rstrip() + "\n"


def _table(found: list[Submission]) -> str:
    columns = list(dict.fromkeys(n for s in found for n in s.rates if " " in n))
    columns.sort(key=lambda name: _place(name, found[0].suite))
    head = ["policy", "by", "track", *columns, "episodes a task"]
    lines = [head, ["---"] * len(head)]
    for one in sorted(found, key=lambda s: -max(r[0] for n, r in s.rates.items() if " " in n)):
        cells = [_cell(one.rates[name]) if name in one.rates else "" for name in columns]
        name = f"[{one.name}]({one.link})" if one.link else one.name
        count = str(next(iter(one.tasks.values())).count)
        note = f" ({one.note})" if one.note else ""
        lines.append([name + note, one.by, one.track, *cells, count])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(rate: object) -> str:
    value, low, high = (100 * number for number in rate)  # type: ignore[attr-defined]
    return f"{value:.1f} [{low:.1f}, {high:.1f}]"


def _place(name: str, suite: str) -> tuple[str, int]:
    level, _, split = name.rpartition(" ")
    return level, list(all_splits(load_suite(suite))).index(split)
