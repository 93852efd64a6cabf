"""``clevrskills submission``: packs a run for the leaderboard and verifies packed runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from clevrskills.errors import ClevrSkillsError
from clevrskills.jobs.arguments import check_least
from clevrskills.jobs.files import storage_errors, to_json, write_whole
from clevrskills.jobs.options import Positional, Repeated

if TYPE_CHECKING:
    from clevrskills.evaluation.submission.document import Submission
    from clevrskills.evaluation.submission.verification import Verification

FRESH, FRESH_OF_MODELS = 10, 2
"""Fresh episodes per task; fewer for language models, whose transcripts are scored again."""
RECORD = ".verified.json"
"""Suffix of the record of a verification."""


@dataclass(kw_only=True)
class SubmissionArgs:
    """Pack a run as a small JSON file with `pack DIR`, or check such a file with `verify FILE`.

    `verify` compares the hashes of episodes, the settings and the rates with those of this
    package. With `--policy` it also evaluates the policy on fresh episodes and rejects files with
    inflated success rates.
    """

    do: Positional[Literal["pack", "verify"]]
    """Action."""
    path: Positional[Path]
    """pack: output folder of `clevrskills benchmark` or `evaluate`; verify: submission file."""
    out: Path | None = None
    """pack: submission file, default DIR/submission.json; verify: file of the verification record
    for the leaderboard, FILE.verified.json beside FILE.json."""
    name: str = ""
    """pack: name of the policy in tables; default: the label of the run."""
    by: str = ""
    """pack: authors."""
    link: str = ""
    """pack: web page of the policy, http or https."""
    note: str = ""
    """pack: remarks."""
    track: str = ""
    """pack: training data, if the run does not declare it: none, standard-100, standard-1000 or
    open."""
    trained_on: str = ""
    """pack: tasks that the policy was trained on, if the run does not declare them: for ClevrSkills
    L0, L0+L1 or all; none without training."""
    policy: str | None = None
    """verify: policy to evaluate again; never taken from the file, which might name code."""
    policy_arg: Repeated[str] = ()
    """verify: policy argument, NAME=VALUE, overriding that of the file, or controller.NAME=VALUE;
    repeatable. Text arguments are never taken from the file."""
    controller: str = ""
    """verify: policy that executes the commands of --policy; never taken from the file."""
    fresh: int | None = None
    """verify: fresh episodes per task, sampled at random and screened like frozen ones; default:
    10, or 2 for language models."""
    transcripts: Path | None = None
    """verify: run folder of a language model whose transcripts are scored again."""
    seed: int | None = None
    """verify: seed of the fresh episodes, to repeat a verification; default: 64 random bits, which
    are printed."""
    workers: int = 1
    """verify: number of worker processes."""
    json: bool = False
    """Print the result as JSON."""


_PACK = ("name", "by", "link", "note", "track", "trained_on")
_VERIFY = ("policy", "policy_arg", "controller", "fresh", "transcripts", "seed")


def submission(args: SubmissionArgs) -> int:
    """Pack or verify a submission.

    Returns:
        Exit code: 0, or 1 if the verification rejects the file.

    Raises:
        ClevrSkillsError: The run cannot be submitted, or the file is invalid.
    """
    check_least(args, fresh=0, seed=0, workers=1)
    other = {"pack": _VERIFY, "verify": _PACK}[args.do]
    if given := [f"--{name.replace('_', '-')}" for name in other if getattr(args, name)]:
        raise ClevrSkillsError(f"{given[0]} is not for {args.do}: leave it out")
    return _pack(args) if args.do == "pack" else _verify(args)


def _pack(args: SubmissionArgs) -> int:
    from clevrskills.evaluation.submission.packing import pack

    found = pack(args.path, **{name: getattr(args, name) for name in _PACK})
    out = args.out or args.path / "submission.json"
    with storage_errors(out):
        out.parent.mkdir(parents=True, exist_ok=True)
    write_whole(out, found.to_json())
    print(to_json({"file": out, **_facts(found)}) if args.json else f"{out}: {_summary(found)}")
    return 0


def _verify(args: SubmissionArgs) -> int:
    from clevrskills.evaluation.submission.checks import check
    from clevrskills.evaluation.submission.document import read_submission

    found = read_submission(args.path)
    check(found)
    if args.policy is None:
        named = next(iter(found.cells.values())).run["policy"]
        for name in (*_VERIFY, "out"):
            if getattr(args, name):
                option = name.replace("_", "-")
                raise ClevrSkillsError(f"--{option} needs --policy; the file names {named}")
        data = {"file": args.path, **_facts(found), "verified": None}
        text = f"{args.path}: valid, self-reported; {_summary(found)}"
        print(to_json(data) if args.json else text)
        return 0
    from clevrskills.evaluation.submission.verification import verify

    asks = any(cell.model for cell in found.cells.values())
    if asks and args.transcripts is None:
        raise ClevrSkillsError("the policy is a language model: give its --transcripts")
    fresh = (FRESH_OF_MODELS if asks else FRESH) if args.fresh is None else args.fresh
    record = verify(
        found,
        args.policy,
        args.policy_arg,
        fresh=fresh,
        seed=args.seed,
        workers=args.workers,
        transcripts=args.transcripts,
        controller=args.controller,
    )
    if args.out:
        with storage_errors(args.out):
            args.out.parent.mkdir(parents=True, exist_ok=True)
        write_whole(args.out, to_json(asdict(record), indent=1) + "\n")
    if args.json:
        print(to_json({"file": args.path, **_facts(found), "verified": asdict(record)}))
    else:
        print(f"{args.path}: valid; {_summary(found)}")
        print(_report(record))
    return 1 if record.failed else 0


def _report(record: Verification) -> str:
    """Return the text of a verification."""
    rates = _words(record.rates)
    lines = [
        f"{record.fresh} fresh episodes, {record.fresh_solved} solved; {record.transcripts} "
        f"transcripts scored again, {record.lost} of them solved in the file only",
        f"verified: {rates}",
        f"seed {record.seed}; badge: {record.badge}",
    ]
    if record.failed:
        tests = {"transcripts": "outcomes of transcripts do not match the file"}
        tests |= {name: f"{name}, p {p:g}" for name, p in record.p.items()}
        lines.append(f"rejected: {'; '.join(tests[name] for name in record.failed)}")
    return "\n".join(lines)


def _facts(found: Submission) -> dict[str, Any]:
    return {
        "name": found.name,
        "track": found.track,
        "trained_on": found.trained_on,
        "suite": found.suite,
        "tasks": sum(len(cell.tasks) for cell in found.cells.values()),
        "episodes": sum(cell.count for cell in found.cells.values()),
        "restarts": sum(cell.restarts for cell in found.cells.values()),
        "rates": {name: cell.rates for name, cell in found.cells.items()},
        "digest": found.digest,
    }


def _summary(found: Submission) -> str:
    episodes = sum(cell.count for cell in found.cells.values())
    rates = _words({name: cell.rates for name, cell in found.cells.items()})
    return f"{found.name}, {episodes} episodes: {rates}"


def _words(rates: Mapping[str, Mapping[str, Sequence[float]]]) -> str:
    """Return the rates of cells and numbers as text."""
    several = len(rates) > 1
    found = (
        f"{f'{cell}: ' if several else ''}{name} {_percent(rate)}"
        for cell, numbers in rates.items()
        for name, rate in numbers.items()
    )
    return ", ".join(found) or "no headline number is complete"


def _percent(rate: Sequence[float]) -> str:
    value, low, high = (100 * number for number in rate)
    return f"{value:.1f} % [{low:.1f}, {high:.1f}]"
