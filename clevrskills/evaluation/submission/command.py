"""``clevrskills submission``: pack a run for the leaderboard, verify what others have packed."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from clevrskills.core.suite import load_suite, suite_names
from clevrskills.errors import ClevrSkillsError, UnknownNameError
from clevrskills.jobs.arguments import check_least, check_names
from clevrskills.jobs.files import storage_errors, to_json, write_whole
from clevrskills.jobs.options import Positional
from clevrskills.jobs.progress import Display

if TYPE_CHECKING:
    from clevrskills.core.suite import Suite
    from clevrskills.evaluation.arguments import EvaluateArgs
    from clevrskills.evaluation.env_pool import EpisodeRef
    from clevrskills.evaluation.submission.document import Submission

DOUBT = 0.01
"""p-value of McNemar's test below which a sample that was run again contradicts a submission."""


@dataclass(kw_only=True)
class SubmissionArgs:
    """Hand in a run: `pack DIR` writes a small JSON file of it, `verify FILE` checks such a file.

    Verifying compares hashes of episodes, versions and rates with those of this package; with
    `--sample N` it runs N of the episodes again and compares what comes out.
    """

    do: Positional[Literal["pack", "verify"]]
    """What to do."""
    path: Positional[Path]
    """To pack: the folder of a run of `clevrskills evaluate`; to verify: the file."""
    out: Path | None = None
    """pack: the file to write; by default DIR/submission.json."""
    name: str = ""
    """pack: name of the policy, as tables show it; by default the run's label."""
    by: str = ""
    """pack: who hands it in."""
    link: str = ""
    """pack: where more is told of the policy."""
    note: str = ""
    """pack: what else is to be known of it."""
    sample: int = 0
    """verify: how many episodes are run again, drawn at random from all."""
    seed: int = 0
    """verify: what decides which."""
    policy: str | None = None
    """verify: the policy to run with --sample; never that of the file, which might name code."""
    json: bool = False
    """Print the result as JSON."""


def submission(args: SubmissionArgs) -> int:
    """Pack or verify.

    Returns:
        Exit code: 0; 1 if what was run again contradicts the file.

    Raises:
        ClevrSkillsError: The run can't be handed in, or the file is not in order.
    """
    from clevrskills.evaluation.submission.document import pack, read_submission

    check_least(args, sample=0, seed=0)
    if args.do == "pack":
        if args.sample or args.policy:
            raise ClevrSkillsError("--sample and --policy are for verify")
        found = pack(args.path, args.name, args.by, args.link, args.note)
        out = args.out or args.path / "submission.json"
        with storage_errors(out):
            out.parent.mkdir(parents=True, exist_ok=True)
        write_whole(out, found.to_json())
        print(to_json({"file": out, **_facts(found)}) if args.json else f"{out}: {_told(found)}")
        return 0
    if args.out or args.name or args.by or args.link or args.note:
        raise ClevrSkillsError("--out, --name, --by, --link and --note are for pack")
    found = read_submission(args.path)
    check(found)
    if bool(args.sample) != bool(args.policy):
        raise ClevrSkillsError(
            f"--sample and --policy go together; the file says {found.run['policy']}"
        )
    again = run_again(found, args.sample, args.seed, args.policy) if args.policy else None
    if args.json:
        print(to_json({"file": args.path, **_facts(found), "again": again}))
    else:
        print(f"{args.path}: in order; {_told(found)}")
        if again is not None:
            print(
                f"{again['episodes']} episodes run again: {again['claimed']} solved as it says, "
                f"{again['now']} now; p {again['p']:.2g}"
            )
            for name in again["differ"]:
                print(f"  {name} came out otherwise")
    return 1 if again is not None and again["contradicted"] else 0


def check(found: Submission) -> None:
    """Check a submission against this package.

    Raises:
        ClevrSkillsError: It was changed, or is of other episodes, criteria or rates.
    """
    from clevrskills.evaluation.submission.document import episodes_hash, rates_of, split_name

    if found.signed().digest != found.digest:
        raise ClevrSkillsError("it was changed after it was packed: its digest is another")
    if not found.name or not found.track:
        raise ClevrSkillsError("it has no name or no track")
    if found.suite not in suite_names():  # a path might name code
        raise UnknownNameError("suite", found.suite, tuple(suite_names()))
    suite = load_suite(found.suite)
    if not found.tasks:
        raise ClevrSkillsError("it has no episodes")
    for name, of in found.tasks.items():
        task, split = split_name(name, suite)
        frozen = suite.frozen(task, split)
        if of.file != frozen.content_hash:
            raise ClevrSkillsError(f"{name}: these are not the frozen episodes of this package")
        if of.count > len(frozen):
            raise ClevrSkillsError(f"{name}: {of.count} outcomes of {len(frozen)} episodes")
        if of.episodes != episodes_hash([e.content_hash for e in frozen[: of.count]]):
            raise ClevrSkillsError(f"{name}: the episodes were not the first {of.count}")
        if found.run["benchmark"] != frozen.header.benchmark:
            raise ClevrSkillsError(f"{name}: it is of another version of the benchmark")
    counts = {of.count for of in found.tasks.values()}
    if len(counts) > 1:
        raise ClevrSkillsError(f"its tasks have {min(counts)} to {max(counts)} episodes")
    if {k: list(v) for k, v in found.rates.items()} != rates_of(found.tasks, suite):
        raise ClevrSkillsError("its rates are not those of its outcomes")


def run_again(found: Submission, sample: int, seed: int, policy: str) -> dict[str, Any]:
    """Run some of the episodes again.

    Raises:
        ClevrSkillsError: The policy can't be made, or an episode ended in an error.
    """
    import numpy as np

    from clevrskills.evaluation.env_pool import EpisodeRef
    from clevrskills.evaluation.statistics import Pairs
    from clevrskills.evaluation.submission.document import SOLVED, split_name

    suite = load_suite(found.suite)
    refs = []
    for name, of in found.tasks.items():
        task, split = split_name(name, suite)
        refs += [EpisodeRef(task, split, k) for k in range(of.count)]
    drawn = np.random.default_rng((seed, 1)).permutation(len(refs))[:sample]
    chosen = [refs[k] for k in sorted(drawn)]
    now = _results(found, suite, chosen, policy)
    claimed = {
        ref.id: found.tasks[f"{ref.task}_{ref.split}"].outcomes[ref.index] == SOLVED
        for ref in chosen
    }
    cells = Pairs.count(np.array([(now[name], claimed[name]) for name in claimed]))
    return {
        "episodes": len(chosen),
        "claimed": sum(claimed.values()),
        "now": sum(now.values()),
        "differ": sorted(name for name in claimed if claimed[name] != now[name]),
        "p": cells.p_value,
        "contradicted": cells.p_value < DOUBT and cells.only_b > cells.only_a,
    }


def _results(
    found: Submission, suite: Suite, refs: Sequence[EpisodeRef], policy: str
) -> dict[str, bool]:
    """Whether each episode is solved now."""
    from clevrskills.core.policy import ObservationOptions
    from clevrskills.evaluation.request import make_request
    from clevrskills.evaluation.worker import Ended, Evaluator, Group

    known = [entry.name for entry in fields(ObservationOptions)]
    check_names(**{"setting of the observation": (found.run["observation"], known)})
    solved: dict[str, bool] = {}
    with tempfile.TemporaryDirectory() as folder:
        config = make_request(_arguments(found, refs[0], policy, Path(folder)), suite).config
        shown = {
            k: tuple(v) if isinstance(v, list) else v for k, v in found.run["observation"].items()
        }
        evaluator = Evaluator(replace(config, policy=replace(config.policy, overrides=shown)))
        with Display("episodes", len(refs)) as display:
            for _, group in groupby(refs, key=lambda ref: (ref.task, ref.split)):
                ended = evaluator(Group(tuple(group)))
                assert isinstance(ended, Ended)
                for result in ended.results:
                    if not result.counts:
                        raise ClevrSkillsError(f"{result.id}: {result.error}")
                    solved[result.id] = result.success_at_end
                if ended.hopeless:
                    raise ClevrSkillsError(ended.hopeless)
                display.update(len(solved))
    return solved


def _arguments(found: Submission, ref: EpisodeRef, policy: str, out: Path) -> EvaluateArgs:
    """What the evaluation of an episode was asked for, but for what was shown."""
    from clevrskills.evaluation.arguments import EvaluateArgs

    run = found.run
    return EvaluateArgs(
        policy=policy,
        suite=found.suite,
        tasks=(ref.task,),
        split=(ref.split,),
        episodes=1,
        out=out / "run",
        robot=run["robot"],
        criteria=run["criteria"],
        interface=run["interface"],
        feedback=run["feedback"],
        stop=run["stop"],
        wording=run["wording"],
        chunk=run["chunk"],
        strict_actions=not run["clip"],
        policy_arg=_pairs(run["policy_args"]),
        controller=run.get("controller") or None,
        controller_arg=_pairs(run.get("controller_args", {})),
    )


def _pairs(arguments: Mapping[str, Any]) -> tuple[str, ...]:
    """Arguments of a policy as they are given on the command line."""
    return tuple(f"{name}={to_json(value)}" for name, value in arguments.items())


def _facts(found: Submission) -> dict[str, Any]:
    return {
        "name": found.name,
        "track": found.track,
        "suite": found.suite,
        "tasks": len(found.tasks),
        "episodes": sum(of.count for of in found.tasks.values()),
        "rates": {name: rate for name, rate in found.rates.items() if " " in name},
        "digest": found.digest,
    }


def _told(found: Submission) -> str:
    facts = _facts(found)
    rates = (f"{name} {100 * rate[0]:.1f} %" for name, rate in facts["rates"].items())
    return f"{found.name}, {facts['episodes']} episodes: {', '.join(rates)}"
