"""Page of the benchmark, from the protocols of the suites."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from clevrskills.core.report import Protocol, protocol_of
from clevrskills.core.suite import SUITES, Suite, load_suite
from clevrskills.evaluation.benchmark.protocol import PartCost, RunPart, cell_tasks, cost_of_part
from clevrskills.evaluation.power import (
    independent_discordance,
    paired_power,
    unpaired_episodes,
)
from pages import DOCS

PAGE = DOCS / "benchmark.md"
RATE, POWER = 0.3, 0.8
"""Baseline success rate, and the probability of detecting a difference from it."""
FAST_S, LARGE_S, CHUNK = 0.05, 1 / 6, 8
"""Seconds per step of a small policy; seconds per call of a 7B model, such as OpenVLA on one RTX
4090 (Kim et al. 2024, arXiv 2406.09246, section 3.5); actions per chunk."""
TEXT = """\
# The benchmark in three minutes

How do I get the numbers to report? Each of four suites has its own question and one protocol:

{suites}

## Run it

```bash
clevrskills benchmark --suite clevrskills --policy my_policy:MyPolicy --quick --out check    # 10 episodes of `val` per task
clevrskills benchmark --suite clevrskills --policy my_policy:MyPolicy --track open --trained-on L0 --out mine
clevrskills submission pack mine
```

`my_policy:MyPolicy` is [a class](evaluation.md#policies) with `reset` and `act`. The same command resumes. Its last line has the numbers
to report, with 95 % intervals; `--dry-run` only prints the cost. For what other policies reach, see the [leaderboard](leaderboard.md) and [learned policies](training_results.md).

A result declares the policy's [track](datasets.md#standard-datasets) and the tasks it was trained on ({trained_on}; or none).

## Which number to report

- **ClevrSkills** has no overall mean. Policies trained on L0 or on nothing report *L0* and *L1+L2 zero-shot*, others *L0* and
  *L1+L2 trained*, even if L2 is new to them (`L0+L1`). Each is a mean over tasks with unseen objects.
- **iVISPAR** has a row for each view. *Mean deviation* is the number of moves still needed after as many moves as the shortest solution has.
- **AsgardBench** pools all instances, as in its paper. *Careful* counts those solved without a refused turn or a needless repair.
- **LoHoRavens** has two rows, without and with noise. *Partial* is the fraction of the goal that is met at the end.

Name the suite with its version, for example `{row}`: a re-implementation's number is not the original's. `--level`,
`--cell` and names of tasks run a part. Use [`evaluate`](evaluation.md) for other splits and perturbations.

## Cost

Upper limits, if no episode is solved (`benchmarks/protocol_cost.py`). A 7B model takes 1/6 s per call (OpenVLA on one RTX 4090, arXiv
2406.09246). `--workers` and `--batch` divide the time.

{costs}

## Detectable differences

The smallest difference from {rate:.0f} % detected with probability 80 % (level 5 %, see `clevrskills plan`). Policies on the same
episodes are assumed to differ half as often as if independent.

{differences}
"""  # noqa: E501
ASKS = {
    "clevrskills": "skills (L0) and their compositions (L1, L2), by an arm",
    "ivispar": "sliding pieces into a pattern, as images or text",
    "asgardbench": "household plans that must be repaired from what is observed",
    "lohoravens": "long rearrangements from one sentence",
}


def page() -> str:
    """Return the page in Markdown."""
    suites = [(suite, protocol) for suite, protocol in _protocols()]
    allowed = (f"{suite.name}: {', '.join(p.trained_on)}" for suite, p in suites)
    return TEXT.format(
        suites=_table(("suite", "asks for", "runs", "numbers"), _suites(suites)),
        trained_on="; ".join(allowed),
        row="asgardbench (clevrskills 1.0)",
        costs=_table(_COSTS, _costs(suites)),
        rate=100 * RATE,
        differences=_table(("number", "episodes", "same episodes", "other episodes"), _all(suites)),
    )


def smallest(shows: Callable[[float], bool]) -> str:
    """Return the smallest detectable difference, in steps of half a point."""
    found = next(k / 200 for k in range(1, int(200 * (1 - RATE))) if shows(k / 200))
    return f"{100 * found:.1f} points"


def shows_paired(episodes: int, difference: float) -> bool:
    """Return whether a difference is detected on the same episodes, for policies that differ on
    half as many of them as if independent.
    """
    share = max(difference, independent_discordance(RATE, RATE + difference) / 2)
    return paired_power(episodes, difference, share) >= POWER


def shows_unpaired(episodes: int, difference: float) -> bool:
    """Return whether a difference is detected on other episodes."""
    return unpaired_episodes(RATE, difference, POWER) <= episodes


Protocols = list[tuple[Suite, Protocol]]
_COSTS = (
    *("suite", "episodes", "steps or turns", "environment, CPU hours", "50 ms a step"),
    *("7B model, 1/6 s a call", f"the same in chunks of {CHUNK}"),
)


def _protocols() -> Iterator[tuple[Suite, Protocol]]:
    for name in SUITES:
        suite = load_suite(name)
        protocol = protocol_of(suite)
        assert protocol is not None
        yield suite, protocol


def _parts(suite: Suite, protocol: Protocol) -> Iterator[tuple[RunPart, PartCost]]:
    for cell in protocol.cells:
        part = RunPart(cell, cell_tasks(suite, cell), cell.split, cell.episodes)
        yield part, cost_of_part(suite, part)


def _suites(suites: Protocols) -> Iterator[list[str]]:
    for suite, protocol in suites:
        (part, cost), *others = _parts(suite, protocol)
        rows = f"{len(others) + 1} x " if others else ""
        tasks = f", {len(part.tasks)} tasks" if len(part.tasks) > 1 else ""
        episodes = f"{rows}{cost.episodes:,} episodes{tasks}, split `{part.split}`"
        numbers = " · ".join(number.name for number in protocol.numbers)
        yield [suite.name, ASKS[suite.name], episodes, numbers]


def _costs(suites: Protocols) -> Iterator[list[str]]:
    for suite, protocol in suites:
        costs = [cost for _, cost in _parts(suite, protocol)]
        steps = sum(cost.most_steps for cost in costs)
        most = sum(cost.range_s[1] for cost in costs) / 3600
        seconds = FAST_S, LARGE_S
        hours = [f"{steps * one / 3600:.1f} h" for one in seconds]
        # a turn is one answer
        chunks = f"{steps * LARGE_S / CHUNK / 3600:.1f} h" if suite.name == "clevrskills" else "-"
        episodes = sum(cost.episodes for cost in costs)
        yield [suite.name, f"{episodes:,}", f"{steps:,}", f"{most:.1f}", *hours, chunks]


def _all(suites: Protocols) -> Iterator[list[str]]:
    for suite, protocol in suites:
        part, cost = next(_parts(suite, protocol))
        seen = set()
        for number in protocol.numbers:
            if number.levels in seen or number.measure != "success":
                continue
            seen.add(number.levels)
            chosen = [t for t in part.tasks if suite.tasks[t].level in number.levels]
            n = cost.episodes * len(chosen or part.tasks) // len(part.tasks)
            name = number.name.removesuffix(" zero-shot")
            found = (smallest(partial(shows, n)) for shows in (shows_paired, shows_unpaired))
            yield [f"{suite.name}, {name}", f"{n:,}", *found]


def _table(heads: tuple[str, ...], rows: Iterator[list[str]]) -> str:
    lines = [list(heads), ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
