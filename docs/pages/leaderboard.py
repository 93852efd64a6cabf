"""Page of the leaderboard: accepted submissions, each checked, with a table per cell of a suite."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from clevrskills.core.report import protocol_of
from clevrskills.core.suite import Suite, load_suite
from clevrskills.errors import ClevrSkillsError
from clevrskills.evaluation.results import state_access
from clevrskills.evaluation.submission.checks import check, numbers_of, run_of
from clevrskills.evaluation.submission.command import RECORD
from clevrskills.evaluation.submission.document import Submission, SubmittedRun, read_submission
from pages import DOCS, RESULTS

FOLDER = RESULTS / "leaderboard"
PAGE = DOCS / "leaderboard.md"
SELF_REPORTED = "self-reported"
RESULTS_TEXT = """\
# Leaderboard

Which policies do best on each suite's [protocol](benchmark.md)? Each row is a file of [this folder](../results/leaderboard)
with the outcome of every episode. To add a row, see [submitting](#submitting).

## Results

Success rates in % with 95 % intervals (Wilson): means over tasks, or over all instances where the suite's paper pools them.
Privileged policies read the simulator state; *sees state*: the policy observes a description of it.
`compact` and `compact-l0` also learned from labeled scenes and use the camera calibration ([training data](training_results.md#what-each-policy-learned-from)).
Their weights are those of the runs; cards and settings were reworded since, so hashes of the folders differ from those in the files.
"""  # noqa: E501
PROCEDURE = """\
## Submitting

The third command is optional:

```bash
clevrskills benchmark --policy my_policy:MyPolicy --level L0 --track open --trained-on L0 --out mine
clevrskills submission pack mine --name "my policy" --by "A. Author" --link https://example.org/mine
clevrskills submission verify mine/submission.json
```

Send `mine/submission.json` with your checkpoint, or the address of a [server](remote.md) of your policy. `pack` also takes `--track` and
`--trained-on`. [Tracks](datasets.md#standard-datasets) state the training data.

- Episodes are the first N frozen ones of each task, each once, with the settings of the protocol. Drawn, perturbed or repeated
  episodes, early stops, errors, and successes without a step are refused. At most 1 % of the episodes (or two) may be restarted.
- A headline number needs all of its tasks; otherwise the cell states how many are there.
- Policies with text prompts are not evaluated on tasks that words cannot express, as in the paper.

## Verification

We evaluate your policy again, in a container for [isolation](evaluation.md#isolation):

```bash
clevrskills submission verify submission.json --policy checkpoint:mine --out submission.verified.json
```

- 10 fresh episodes per task are drawn from a 64-bit random seed, revealed afterwards (`--seed` repeats them), and screened like frozen
  ones. They are kept in memory, out of reach of the policy's process.
- An exact one-sided test detects inflation: are fresh episodes solved less often than those of the file (Mantel-Haenszel by task), in
  total and for each number? It refuses at most 0.5 % of honest files.
- The row then shows the verifier's number beside that of the file, and a badge: `self-reported`, `fresh` (on a server of the authors), or
  `fresh, weights held`.
- Rows of language models state model, date, temperature, token limit, tokens and price. Transcripts are scored again
  (`--transcripts DIR`), and 2 fresh episodes per task are run.

In simulations of 1,000 files each with 50 episodes per task (`python benchmarks/submissions.py`), at most 0.6 % of honest files were
refused (at most 0.5 % are expected). Of files inflated by 10 points, 23 to 86 % were refused; by 20 points, 92 to 100 %; by 30 points, all.
"""  # noqa: E501
_SPECIAL = re.compile(r"[^\w\s.,;:+=%/-]|_")


@dataclass(frozen=True)
class Row:
    """Cell of a submission."""

    found: Submission
    cell: SubmittedRun
    name: str  # of the cell
    record: Mapping[str, Any] | None  # of the verification

    @property
    def verified(self) -> Mapping[str, Sequence[float]]:
        """Verifier's rates by number."""
        rates: Mapping[str, Sequence[float]] = (self.record or {}).get("rates", {})
        return rates.get(self.name, {})  # type: ignore[return-value]

    def rate(self, number: str) -> Sequence[float] | None:
        """Return the verifier's rate, else that of the file, else ``None``."""
        return self.verified.get(number) or self.cell.rates.get(number)


def page(folder: Path = FOLDER) -> str:
    """Return the page in Markdown.

    Raises:
        ClevrSkillsError: A file is invalid.
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
    parts = [RESULTS_TEXT]
    for (row, cell_name, interface), group in sorted(groups.items()):
        of = f", {cell_name}" if cell_name else ""
        parts += [f"### {row}{of}, interface `{interface}`\n", _table(group), ""]
    return "\n".join([*parts, PROCEDURE])


def escaped(text: str) -> str:
    """Return untrusted text, escaped for Markdown and HTML."""
    return _SPECIAL.sub(lambda match: f"&#{ord(match[0])};", " ".join(text.split()))


def _record(path: Path, found: Submission) -> Mapping[str, Any] | None:
    """Return the verification record beside a file, or ``None`` without one.

    Raises:
        ClevrSkillsError: The record is of another file, or the file was refused.
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
    about = ["trained on", "track", "by", "verified", "episodes per task", "restarts"]
    head = ["policy", *names, *about]
    lines = [head + ["model"] * asks]
    lines.append(["---"] * len(lines[0]))

    def place(row: Row) -> list[float]:
        return [-(row.rate(name) or (-1.0,))[0] for name in names]

    for row in sorted(rows, key=place):
        found, counts = row.found, {of.count for of in row.cell.tasks.values()}
        name = escaped(found.name)
        linked = f"[{name}]({found.link})" if found.link else name
        run = run_of(row.cell, found)
        if row.record and row.record["privileged"]:
            run = replace(run, privileged=True)
        marks = [*state_access(run, suite), *[found.note] * bool(found.note)]
        note = f" ({escaped(', '.join(marks))})" if marks else ""
        badge = row.record["badge"] if row.record else SELF_REPORTED
        count = f"{min(counts)} to {max(counts)}" if len(counts) > 1 else f"{min(counts)}"
        if expected.get(row.name) and counts != {expected[row.name]}:
            count += f" of {expected[row.name]}"
        cells = [_cell(row, number, suite) for number in names]
        cells += [found.trained_on, escaped(found.track), escaped(found.by), badge, count]
        model = [_model(row.cell.model)] * asks
        lines.append([linked + note, *cells, str(row.cell.restarts), *model])
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
