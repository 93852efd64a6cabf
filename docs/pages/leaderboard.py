"""Page of the leaderboard: accepted submissions, each checked, a table for each cell of a suite."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clevrskills.core.report import protocol_of
from clevrskills.core.suite import Suite, load_suite
from clevrskills.errors import ClevrSkillsError
from clevrskills.evaluation.submission.checks import check, numbers_of, run_of
from clevrskills.evaluation.submission.command import RECORD
from clevrskills.evaluation.submission.document import Cell, Submission, read_submission
from pages import DOCS, RESULTS

FOLDER = RESULTS / "leaderboard"
PAGE = DOCS / "leaderboard.md"
SELF_REPORTED = "self-reported"
INTRODUCTION = """\
# Leaderboard

Runs of each suite's [protocol](benchmark.md), each in one file of [this folder](../results/leaderboard) with the outcome of every episode and
hashes of the episodes. The page is made from these files, and every file is checked when it is made.

## Handing in

Three commands, the last of which is optional:

```bash
clevrskills benchmark --policy my_policy:MyPolicy --level L0 --track open --trained-on L0 --out mine
clevrskills submission pack mine --name "my policy" --by "A. Author" --link https://example.org/mine
clevrskills submission verify mine/submission.json
```

Send `mine/submission.json` with your checkpoint, or with the address of a [server](remote.md) of your policy. A track or
`--trained-on` that the run does not state can be given to `pack`: labels do not change episodes. The
[tracks](datasets.md#standard-datasets) say what a policy has learned from.

- Episodes are the first N frozen ones of each task, as many of each, each once. Refused are drawn, perturbed and repeated episodes,
  runs that stopped early, episodes that ended in errors, two results of one episode, successes without a step,
  more second starts than 1 % of the episodes (and more than two), and settings that differ from the protocol.
- A headline number is shown only if all of its tasks are there; else the cell says how many are.
- Tasks that cannot be said in words are left out of the numbers of policies whose prompts are in words alone, as in the paper.

## Verification

We evaluate your policy again, in a process of its own, and code that we do not know in a container:
a process of the same user could read the verifier's files, fresh episodes among them ([isolation](evaluation.md#isolation)).

```bash
clevrskills submission verify submission.json --policy checkpoint:mine --out submission.verified.json
```

- Fresh episodes, 10 of each task: drawn from 64 random bits that are revealed afterwards (`--seed` repeats them), and screened like frozen
  ones: the start has no fault, the oracle solves it, and doing nothing does not.
- A sample of the file's episodes, drawn from the same bits: 100, and as many more as it takes to tell an inflation of ten points from chance
  if the first 100 leave that open.
- Three exact one-sided tests against inflation: outcomes lost against outcomes gained in the sample (McNemar, level 0.0003), fresh
  episodes against the file (Mantel-Haenszel by task, 0.0002), and both together, for each number and for all (0.0045). Together
  they refuse an honest file once in 200 times at most, whether or not policy and machine repeat outcomes.
- A single lost outcome refuses a file only if CPU, renderer, planner and all versions are those of the file, PyTorch uses no GPU, and
  the policy loses it again, step by step.
- A row then shows the verifier's number, the file's beside it, and a badge: `self-reported`, `sampled`, `fresh` (on a server of the
  authors), or `fresh, weights held`.
- Rows of language models state model, date, temperature, limit of tokens, tokens and price. Their transcripts are scored
  again without the model (`--transcripts DIR`), and a small fresh sample asks it: 2 episodes of each task.

Files of 50 episodes a task that are refused, in %, of 1000 each (`python benchmarks/submissions.py`, coins): outcomes of the sample are
those of the file (`same`), a tenth of them is drawn anew (`other CPU`), or all are (`random`, a policy that draws its actions). Inflated
files claim ten points more than is true. Of 12,000 honest files 30 are refused, 0.25 %; of 40 files of 80 % for a policy of
0 % all, and of 40 parrots, which solve the episodes of the file and no other, all.

| numbers | rates of the tasks | outcomes | honest, % | inflated, % | sample |
|---|---|---|---|---|---|
| L0 (12 tasks) | all 50 % | same | 0.3 | 99.9 | 100 |
| | | other CPU | 0.2 | 100.0 | 208 |
| | | random | 0.3 | 83.0 | 600 |
| | 0 to 100 % | same | 0.1 | 99.6 | 100 |
| | | other CPU | 0.1 | 99.9 | 149 |
| | | random | 0.3 | 96.2 | 600 |
| L0, L1+L2 (33 tasks) | all 50 % | same | 0.1 | 100.0 | 100 |
| | | other CPU | 0.2 | 97.2 | 133 |
| | | random | 0.6 | 92.0 | 243 |
| | 0 to 100 % | same | 0.4 | 100.0 | 100 |
| | | other CPU | 0.4 | 99.6 | 115 |
| | | random | 0.0 | 97.7 | 243 |

`sample` is the mean number of episodes of an honest file that are run again, besides the 120 or 330 fresh ones.

A digest shows accidents, not intent.

"""  # noqa: E501
HEADING = """\
## Results

Rates in %, with 95 % intervals (Wilson, of as many episodes); means over tasks, or over all instances where the suite's paper pools so.
Policies marked privileged read the state of the simulation.
"""  # noqa: E501
_SPECIAL = re.compile(r"[^\w\s.,;:+=%/-]|_")


@dataclass(frozen=True)
class Row:
    """A cell of a submission."""

    found: Submission
    cell: Cell
    name: str  # of the cell
    record: Mapping[str, Any] | None  # of the verification

    @property
    def verified(self) -> Mapping[str, Sequence[float]]:
        """The verifier's rates, by number."""
        rates: Mapping[str, Sequence[float]] = (self.record or {}).get("rates", {})
        return rates.get(self.name, {})  # type: ignore[return-value]

    def rate(self, number: str) -> Sequence[float] | None:
        """Return the verifier's rate, or else that of the file; ``None``: there is none."""
        return self.verified.get(number) or self.cell.rates.get(number)


def page(folder: Path = FOLDER) -> str:
    """Return the page in Markdown.

    Raises:
        ClevrSkillsError: A file is not in order.
    """
    groups: dict[tuple[str, str, str], list[Row]] = defaultdict(list)
    for path in sorted(folder.glob("*.json")):
        if path.name.endswith(RECORD):
            continue
        found = read_submission(path)
        check(found)
        record = _record(path, found)
        for name, cell in found.cells.items():
            key = run_of(cell, found).row, name, cell.run["interface"]
            groups[key].append(Row(found, cell, name, record))
    parts = [INTRODUCTION, HEADING]
    for (row, cell_name, interface), group in sorted(groups.items()):
        of = f", {cell_name}" if cell_name else ""
        parts += [f"### {row}{of}, interface `{interface}`\n", _table(group), ""]
    return "\n".join(parts).rstrip() + "\n"


def escaped(text: str) -> str:
    """Return a text of others as Markdown and HTML show it; all else than letters is escaped."""
    return _SPECIAL.sub(lambda match: f"&#{ord(match[0])};", " ".join(text.split()))


def _record(path: Path, found: Submission) -> Mapping[str, Any] | None:
    """Return the record of a verification beside a file; ``None``: there is none.

    Raises:
        ClevrSkillsError: It is of another file, or the file was refused.
    """
    beside = path.with_suffix(RECORD)
    if not beside.is_file():
        return None
    record: Mapping[str, Any] = json.loads(beside.read_text(encoding="utf-8"))
    if record["digest"] != found.digest:
        raise ClevrSkillsError(f"{beside} is of another file")
    if record["failed"]:
        raise ClevrSkillsError(f"{beside}: the file was refused")
    return record


def _table(rows: list[Row]) -> str:
    suite = load_suite(rows[0].found.suite)
    there = {
        number for row in rows for number in numbers_of(row.cell.run, suite, row.found.trained_on)
    }
    protocol = protocol_of(suite)
    known = [number.name for number in protocol.numbers] if protocol else sorted(there)
    names = [name for name in known if name in there]
    expected = {cell.name: cell.episodes for cell in protocol.cells} if protocol else {}
    asks = any(row.cell.model for row in rows)
    head = [
        "policy",
        "by",
        "track",
        "trained on",
        *names,
        "verified",
        "episodes a task",
        "restarts",
    ]
    lines = [head + ["model"] * asks]
    lines.append(["---"] * len(lines[0]))

    def place(row: Row) -> list[float]:
        return [-(row.rate(name) or (-1.0,))[0] for name in names]

    for row in sorted(rows, key=place):
        found, counts = row.found, {of.count for of in row.cell.tasks.values()}
        name = escaped(found.name)
        linked = f"[{name}]({found.link})" if found.link else name
        privileged = row.cell.run["privileged"] or (row.record and row.record["privileged"])
        marks = ["privileged"] * bool(privileged) + [found.note] * bool(found.note)
        note = f" ({escaped(', '.join(marks))})" if marks else ""
        badge = row.record["badge"] if row.record else SELF_REPORTED
        count = f"{min(counts)} to {max(counts)}" if len(counts) > 1 else f"{min(counts)}"
        if expected.get(row.name) and counts != {expected[row.name]}:
            count += f" of {expected[row.name]}"
        cells = [_cell(row, number, suite) for number in names]
        about = [linked + note, escaped(found.by), escaped(found.track), found.trained_on]
        model = [_model(row.cell.model)] * asks
        lines.append([*about, *cells, badge, count, str(row.cell.restarts), *model])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(row: Row, number: str, suite: Suite) -> str:
    names = numbers_of(row.cell.run, suite, row.found.trained_on).get(number)
    if names is None:
        return ""
    there = sum(name in row.cell.tasks for name in names)
    if number not in row.cell.rates:
        return f"{there} of {len(names)} tasks" if there else ""
    own = row.cell.rates[number]
    if number in row.verified:
        return f"{_percent(row.verified[number])}, file {100 * own[0]:.1f}"
    return _percent(own)


def _percent(rate: Iterable[float]) -> str:
    value, low, high = (100 * number for number in rate)
    return f"{value:.1f} [{low:.1f}, {high:.1f}]"


def _model(model: Mapping[str, Any]) -> str:
    if not model:
        return ""
    of = f"{model['model']}, {model['date']}, temperature {model['temperature']}, at most "
    of += f"{model['max_tokens']} tokens a reply; {model.get('prompt_tokens', 0):.0f} tokens sent, "
    of += f"{model.get('completion_tokens', 0):.0f} replied"
    return escaped(of + (f", price {model['cost']:g}" if "cost" in model else ""))
