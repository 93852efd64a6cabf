"""``clevrskills reverify``: rescoring of a run from its transcripts, without a model."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clevrskills.core.suite import load_suite
from clevrskills.errors import ClevrSkillsError
from clevrskills.jobs.files import to_json
from clevrskills.jobs.options import Positional
from clevrskills.jobs.progress import Display

if TYPE_CHECKING:
    from clevrskills.core.policy import Observation
    from clevrskills.core.suite import Suite
    from clevrskills.evaluation.env_pool import EnvPool
    from clevrskills.evaluation.results import EpisodeResult, Run

SCORES = (
    *("episode", "cause", "success_once", "success_at_end", "goal_fraction", "depth"),
    *("total_reward", "progress", "steps", "turns", "refused", "codes", "measures"),
)
"""Fields of a result that must be reproduced."""
SHOWN = 10


@dataclass
class ReverifyArgs:
    """Rescore a run from its transcripts, without a model."""

    run: Positional[Path]
    """Folder of a run of `clevrskills evaluate`."""
    frozen: Path | None = None
    """Folder of the frozen episodes, by default the suite's."""
    json: bool = False
    """Print the result as JSON."""


def reverify(args: ReverifyArgs) -> int:
    """Rescore transcripts and print the differences from the recorded results.

    Returns:
        Exit code: 0 if all results are reproduced, else 1.

    Raises:
        ClevrSkillsError: The run does not exist, or a transcript is missing or damaged.
    """
    from clevrskills.evaluation.dialogue.transcripts import TRANSCRIPTS_DIR, transcript_path
    from clevrskills.evaluation.results import read_results, read_run

    run = read_run(args.run)
    results = [result for result in read_results(args.run) if result.counts]
    paths = {result.id: transcript_path(args.run, result.id) for result in results}
    missing = [name for name, path in paths.items() if not path.is_file()]
    if len(missing) == len(results):
        raise ClevrSkillsError(f"{args.run} has no {TRANSCRIPTS_DIR} of counted episodes")
    suite = load_suite(run.suite, folder=args.frozen)
    envs = transcript_envs(args.run, run, suite)
    changes: dict[str, dict[str, list[Any]]] = {}
    now: list[EpisodeResult] = []
    with Display("episodes", len(results) - len(missing)) as display:
        for before in results:
            if before.id in missing:
                continue
            now.append(score_transcript(envs, paths[before.id], before.cause))
            found = {n: [getattr(before, n), getattr(now[-1], n)] for n in SCORES}
            found |= edited_replies(suite, run.interface, paths[before.id])
            differing = {name: pair for name, pair in found.items() if pair[0] != pair[1]}
            if differing:
                changes[before.id] = differing
            display.update(len(now))
    counts = {"episodes": len(now), "changed": len(changes), "without_transcript": len(missing)}
    rates = {
        "success_before": sum(r.success_once for r in results if r.id not in missing),
        "success_now": sum(result.success_once for result in now),
    }
    if args.json:
        print(to_json({"run": args.run, **counts, **rates, "changes": changes}, indent=1))
        return 1 if changes else 0
    for name, differing in [*changes.items()][:SHOWN]:
        fields = (f"{field}: {old} -> {new}" for field, (old, new) in differing.items())
        print(f"{name}: {'; '.join(fields)}")
    if len(changes) > SHOWN:
        print(f"and {len(changes) - SHOWN} more")
    if missing:
        print(f"{len(missing)} episodes have no transcript")
    print(
        f"{args.run}: {len(now)} episodes rescored, {len(changes) or 'none'} changed; successes "
        f"{rates['success_before']} before, {rates['success_now']} now"
    )
    return 1 if changes else 0


def transcript_envs(root: Path, run: Run, suite: Suite) -> EnvPool:
    """Return environments configured as in a run, without rendering observations."""
    from clevrskills.core.policy import ObservationOptions
    from clevrskills.core.policy_loader import PolicySource
    from clevrskills.evaluation.env_pool import EnvPool, WorkerConfig
    from clevrskills.evaluation.rollout import PolicyRollout

    class Unseen(PolicyRollout):
        def _look(self) -> Observation:
            return {"images": {}}

    controller = None
    if run.controller:
        controller = PolicySource(
            run.controller, run.controller_args, os.getcwd(), own=suite.policies()
        )
    config = WorkerConfig(root, suite, PolicySource("zero"), run, controller=controller)
    shown: dict[str, Any] = {**run.observation}  # valid commands may depend on it
    shown["cameras"] = tuple(shown["cameras"])
    return EnvPool(config, ObservationOptions(**shown), Unseen)


def edited_replies(suite: Suite, interface: str, path: Path) -> dict[str, list[Any]]:
    """Return recorded and parsed action of the turns in which they differ.

    Args:
        suite: The suite.
        interface: Name of the action interface.
        path: The transcript.
    """
    from clevrskills.core.interface import TextInterface
    from clevrskills.core.replies import read_reply
    from clevrskills.core.suite import Prompting, find_interface
    from clevrskills.evaluation.dialogue.transcripts import read_transcript

    acted_by = find_interface(suite, interface)
    prompter = suite.prompter(acted_by, {}) if isinstance(suite, Prompting) else None
    grammar = acted_by.grammar if isinstance(acted_by, TextInterface) else None
    found = {}
    for turn in read_transcript(path)[1]:
        if "request" in turn:  # other policies parse replies differently
            reply = turn["reply"]
            parsed = prompter.parse(reply) if prompter else read_reply(reply, grammar)
            if parsed.action != turn["action"]:
                found[f"action of turn {turn['turn']}"] = [turn["action"], parsed.action]
    return found


def score_transcript(envs: EnvPool, path: Path, cause: str) -> EpisodeResult:
    """Repeat the actions of a transcript and return the result.

    Args:
        envs: Environments.
        path: The transcript.
        cause: Recorded cause of the end, used if the environment does not end the episode.
    """
    from clevrskills.core.policy import TextAction
    from clevrskills.evaluation.dialogue.transcripts import read_transcript

    ref, turns = read_transcript(path)
    rollout = envs.start(0, ref)
    for turn in turns:
        if rollout.ended:
            break
        plan = tuple(turn.get("plan", ()))
        rollout.go_on(TextAction(turn["action"], stop=turn["stop"], plan=plan))
    return rollout.result("" if rollout.ended else cause)
