"""What an evaluation is to do, from the arguments of the command, all of it checked."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clevrskills.core.env_config import SPLITS
from clevrskills.core.policy_loader import PolicySource, policy_arguments
from clevrskills.core.suite import Suite
from clevrskills.dataset_tools.generate.command import shard_of
from clevrskills.dataset_tools.layout import Header as DatasetHeader
from clevrskills.dataset_tools.layout import versions
from clevrskills.errors import ClevrSkillsError, UnknownNameError
from clevrskills.evaluation.cases import drawn_cases, filmed, frozen_cases, recorded_cases
from clevrskills.evaluation.env_pool import Workplace
from clevrskills.evaluation.messages import Case
from clevrskills.evaluation.results import Run
from clevrskills.evaluation.rollout import Rules
from clevrskills.jobs.drivers import DRIVERS

if TYPE_CHECKING:
    from clevrskills.evaluation.evaluate import EvaluateArgs

REPLAY = "replay:"
DRAWN_ROBOT, DRAWN_CRITERIA = "xarm6", "paper"


@dataclass(frozen=True)
class Plan:
    """What is to be done.

    Attributes:
        args: The arguments of the command.
        place: What all workers have in common.
        cases: The episodes, in order.
        run: What is said of the run, but for what the policy is shown and the renderer.
    """

    args: EvaluateArgs
    place: Workplace
    cases: tuple[Case, ...]
    run: Run

    @property
    def rule(self) -> str:
        """When episodes end, in words."""
        if self.run.stop_on_success:
            return "Episodes end when the goal holds, or at the task's step limit."
        return "Episodes go on to the task's step limit, also after the goal held."


def check(args: EvaluateArgs, suite: Suite) -> Plan:
    """Check the arguments; tasks are in the order of the registry.

    Raises:
        ClevrSkillsError: Something is not allowed.
    """
    _check_numbers(args)
    _check_names(args, suite)
    levels = suite.levels()
    tasks = [t for t, level in levels.items() if t in args.tasks or level in args.level]
    splits = [split for split in SPLITS if split in (args.split or SPLITS)]
    policy = args.policy
    if len(policy) > len(REPLAY) and policy.startswith(REPLAY):
        policy = f"{REPLAY}{Path(policy.removeprefix(REPLAY)).absolute()}"
    elif not tasks:
        raise ClevrSkillsError("nothing to evaluate: name tasks, or a level with --level")
    source = PolicySource(policy, policy_arguments(args.policy_arg), os.getcwd(), _shown(args))
    cases, robot, criteria = _episodes(args, suite, policy, tasks, splits)
    index, of = shard_of(args.shard)
    rules = Rules(not args.keep_going, args.chunk, args.clip)
    writer = f"shard-{index}-of-{of}" if args.shard else args.driver
    place = Workplace(
        *(args.out.absolute(), suite, source, rules, args.batch, robot, criteria, writer),
        args.video_camera,
    )
    frozen = {(c.task, c.split) for c in cases if c.seed is None}
    run = Run(
        policy=policy,
        label=args.label,
        robot=robot,
        criteria=criteria,
        stop_on_success=rules.stop_on_success,
        chunk=rules.chunk,
        clip=rules.clip,
        policy_args=source.arguments,
        seed=args.seed,
        episodes={f"{t}_{s}": suite.file_hash(t, s) for t, s in sorted(frozen)},
        versions=versions(),
        note=args.note,
    )
    cases = [c for c in filmed(cases, args.videos, args.video) if c.index % of == index]
    return Plan(args, place, tuple(cases), run)


def _check_numbers(args: EvaluateArgs) -> None:
    for name, least in (
        *(("episodes", 1), ("workers", 1), ("batch", 1), ("size", 1), ("history", 1)),
        *(("chunk", 1), ("retries", 0), ("videos", 0), ("seed", 0)),
    ):
        value = getattr(args, name)
        if value is not None and value < least:
            raise ClevrSkillsError(f"--{name} must be at least {least}, not {value}")
    if not args.timeout > 0:
        raise ClevrSkillsError(f"--timeout must be positive, not {args.timeout}")
    if args.cameras is not None and args.no_cameras:
        raise ClevrSkillsError("--cameras and --no-cameras exclude each other")
    if args.seed is not None and args.frozen is not None:
        raise ClevrSkillsError("--seed and --frozen exclude each other")
    if args.address and args.driver != "ray":
        raise ClevrSkillsError("--address is for --driver ray")
    if args.shard and args.driver == "ray":
        raise ClevrSkillsError(
            "--shard is for --driver local: a Ray cluster shares the work itself"
        )


def _check_names(args: EvaluateArgs, suite: Suite) -> None:
    levels = suite.levels()
    known: dict[str, tuple[Sequence[str | None], Sequence[str]]] = {
        "task": (args.tasks, tuple(levels)),
        "level": (args.level, tuple(dict.fromkeys(levels.values()))),
        "split": (args.split, SPLITS),
        "robot": ((args.robot,), tuple(suite.robots())),
        "criteria": ((args.criteria,), tuple(suite.criteria())),
        "camera": ((*(args.cameras or ()), args.video_camera), tuple(suite.cameras())),
        "driver": ((args.driver,), DRIVERS),
    }
    for kind, (names, allowed) in known.items():
        for name in names:
            if name is not None and name not in allowed:
                raise UnknownNameError(kind, name, tuple(allowed))


def _shown(args: EvaluateArgs) -> dict[str, Any]:
    """What the policy is to be shown in place of what it asks for."""
    given = {
        "cameras": () if args.no_cameras else args.cameras,
        "size_px": args.size,
        "history": args.history,
        "proprioception": False if args.no_proprioception else None,
        "prompt": args.prompt,
    }
    return {name: value for name, value in given.items() if value is not None}


def _episodes(
    args: EvaluateArgs, suite: Suite, policy: str, tasks: Sequence[str], splits: Sequence[str]
) -> tuple[list[Case], str, str]:
    """The episodes, their robot and criteria."""
    criteria = args.criteria or DRAWN_CRITERIA
    if policy.startswith(REPLAY):
        if args.seed is not None:
            raise ClevrSkillsError(
                "--seed is not for replay: its episodes are those of the dataset"
            )
        dataset = Path(policy.removeprefix(REPLAY))
        header = DatasetHeader.read(dataset)
        for name in ("robot", "criteria"):
            given, made = getattr(args, name), getattr(header, name)
            if given not in (None, made):
                raise ClevrSkillsError(f"{dataset} was made with {name} {made}, not {given}")
        cases = recorded_cases(dataset, tasks, splits, args.episodes)
        return cases, header.robot, header.criteria
    if args.seed is not None:
        cases = drawn_cases(tasks, splits, args.episodes, args.seed)
        return cases, args.robot or DRAWN_ROBOT, criteria
    robots = {suite.header(task, split).robot for task in tasks for split in splits}
    if len(robots) > 1:
        raise ClevrSkillsError(f"the frozen episodes are for {' and '.join(sorted(robots))}")
    (robot,) = robots
    if args.robot not in (None, robot):
        raise ClevrSkillsError(
            f"the frozen episodes are for {robot}, not {args.robot}; with --seed others are drawn, "
            "or freeze some with `clevrskills freeze`"
        )
    return frozen_cases(suite, tasks, splits, args.episodes), robot, criteria
