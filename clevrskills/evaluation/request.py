"""Evaluation request: what is to be evaluated, from the checked arguments of the command."""

import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from clevrskills import additions, keys_of
from clevrskills.core.interface import BoxInterface
from clevrskills.core.observer import LANGUAGE
from clevrskills.core.policy_loader import CHAT, FORMS, PolicySource, policy_arguments
from clevrskills.core.suite import Preset, Suite, check_axes, path_of
from clevrskills.dataset_tools.dataset import Dataset
from clevrskills.dataset_tools.layout import Header as DatasetHeader
from clevrskills.errors import ClevrSkillsError, UnknownNameError
from clevrskills.evaluation.arguments import EvaluateArgs
from clevrskills.evaluation.env_pool import EpisodeRef, WorkerConfig
from clevrskills.evaluation.freeze.frozen import Header as FrozenHeader
from clevrskills.evaluation.handover.selection import in_parts
from clevrskills.evaluation.results import Run
from clevrskills.evaluation.robustness.kept import kept_episodes
from clevrskills.evaluation.rollout import Rules
from clevrskills.evaluation.selection import check_in_words, frozen_tasks, task_splits
from clevrskills.evaluation.sequential.rounds import in_blocks, same_count
from clevrskills.evaluation.worker import Group
from clevrskills.jobs.arguments import check_least, check_names
from clevrskills.jobs.run_folder import versions
from clevrskills.solvers.requirements import require_oracle

ROUNDS = 4
"""Episodes that follow each other in a place of a batch, so that few places wait for the last."""
REPLAY = "replay:"


@dataclass(frozen=True)
class EvaluationRequest:
    """What is to be done."""

    args: EvaluateArgs  # the arguments of the command
    config: WorkerConfig  # what all workers have in common
    episodes: tuple[EpisodeRef, ...]
    run: Run  # what is said of the run, but for what the policy is shown and the renderer

    @property
    def rule(self) -> str:
        """When episodes end, in words."""
        if self.run.stop == "declared":
            return "Episodes end when the policy says `done`, or at their limit."
        if self.run.stop_on_success:
            return "Episodes end when the goal holds, or at the task's step limit."
        return "Episodes go on to the task's step limit, also after the goal held."


def make_request(args: EvaluateArgs, suite: Suite) -> EvaluationRequest:
    """Check the arguments; tasks are in the order of the suite.

    Raises:
        ClevrSkillsError: Something is not allowed.
    """
    check_least(
        args,
        **dict.fromkeys(("episodes", "repeat", "batch", "size", "history", "chunk"), 1),
        **dict.fromkeys(("retries", "videos", "seed", "keep_images", "max_cost"), 0),
    )
    args.check_pool()
    given = {f.name for f in fields(args) if getattr(args, f.name) != f.default}
    exclude = (
        *("cameras no-cameras", "seed frozen", "view cameras", "view no-cameras"),
        *("axis seed", "axis until-width"),
    )
    for one, other in map(str.split, (*exclude, "clip strict-actions")):
        if {one, other.replace("-", "_")} <= given:
            raise ClevrSkillsError(f"--{one} and --{other} exclude each other")
    preset = _preset(args, suite)
    args = replace(args, **{k: v for k, v in preset.options.items() if k not in given})
    cameras = suite.cameras()
    video_camera = args.video_camera or next(iter(cameras), "")
    films = [video_camera] if args.videos or args.video or args.video_camera else []
    check_names(
        split=(args.split, suite.splits()),
        robot=((args.robot,), suite.robots()),
        criteria=((args.criteria,), suite.criteria()),
        camera=([*(args.cameras or ()), *films], cameras or ("(none)",)),
        view=(args.view, suite.views() or ("(none)",)),
        interface=((args.interface,), suite.interfaces()),
    )
    splits = args.split or suite.default_splits()
    tasks = args.select(suite.levels(), suite.groups())
    if args.all:
        tasks = frozen_tasks(suite)
    for task in tasks if args.interface else ():
        allowed = suite.interfaces_of(task)
        check_names(**{f"interface of {task}": ((args.interface,), allowed)})
    policy = args.policy
    if len(policy) > len(REPLAY) and policy.startswith(REPLAY):
        policy = f"{REPLAY}{Path(policy.removeprefix(REPLAY)).absolute()}"
    elif not tasks:
        raise ClevrSkillsError("nothing to evaluate: name tasks, or a level with --level")
    overrides = _overrides(args, suite)
    arguments = policy_arguments(args.policy_arg)
    if preset.prompt and policy.startswith(CHAT):
        arguments["prompt"] = {**preset.prompt, **arguments.get("prompt", {})}
    if args.max_cost is not None and not {"price_in", "price_out"} & {*arguments}:
        raise ClevrSkillsError("--max-cost needs prices: --policy-arg price_in=… price_out=…")
    source = PolicySource(policy, arguments, os.getcwd(), overrides, suite.policies())
    controller = _controller(args, suite)
    axes = check_axes(suite, args.axis)
    if axes and policy.startswith(REPLAY):
        raise ClevrSkillsError("--axis is not for replay: its episodes are those of the dataset")
    refs, robot, criteria = _episodes(args, suite, policy, tasks, splits)
    rejected: dict[str, dict[str, str]] = {}
    if axes:
        refs, rejected = _perturbed(args, suite, refs, axes)
    sequential = {}
    if args.until_width is not None:
        _check_sequential(args, policy)
        refs, population = _in_rounds(refs)
        sequential = {"width": args.until_width, "population": population}
    if args.handover is not None:
        _check_handover(args, suite, policy)
        refs = in_parts(suite, refs, args.handover)
    refs = [replace(ref, repeat=k) for ref in refs for k in range(args.repeat)]
    stop = args.stop or ("limit" if args.keep_going else "goal")
    interface, wording = suite.interface(args.interface).name, args.wording or "own"
    feedback, noise = args.feedback or suite.feedback, args.noise or ""
    suite.check_noise(noise)
    clip = not args.strict_actions
    rules = Rules(stop == "goal", args.chunk, clip, stop == "declared", feedback, interface)
    config = WorkerConfig(
        *(args.out.absolute(), suite, source, rules, args.batch, robot, criteria, args.writer),
        video_camera,
        wording,
        args.keep_images,
        axes,
        noise,
        controller,
    )
    frozen = {(ref.task, ref.split) for ref in refs if ref.seed is None}
    versions_of = {suite.header(*pair).benchmark for pair in frozen}
    if len(versions_of) > 1:
        raise ClevrSkillsError(
            "the frozen episodes are of versions "
            + " and ".join(map(str, sorted(versions_of)))
            + " of the benchmark: evaluate each by itself"
        )
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
        suite=path_of(suite),
        interface=interface,
        feedback=feedback,
        stop=stop,
        revision=suite.revision,
        benchmark=max(versions_of, default=0),
        wording=wording,
        preset=args.preset or "",
        track=args.track,
        sequential=sequential,
        axes=axes,
        rejected=rejected,
        noise=noise,
        controller=args.controller or "",
        controller_args={} if controller is None else controller.arguments,
    )
    index, of = args.part
    refs = [ref for ref in filmed(refs, args.videos, args.video) if ref.index % of == index]
    return EvaluationRequest(args, config, tuple(refs), run)


def _controller(args: EvaluateArgs, suite: Suite) -> PolicySource | None:
    """Where what carries out the commands of the policy comes from; ``None``: the interface does.

    Raises:
        ClevrSkillsError: There is no such policy, or nothing for it to carry out.
    """
    name, arguments = args.controller, policy_arguments(args.controller_arg)
    if name is None:
        if arguments:
            raise ClevrSkillsError("--controller-arg needs --controller")
        return None
    interface = suite.interface(args.interface)
    if not getattr(interface, "takes_controller", False):
        able = [n for n, i in suite.interfaces().items() if getattr(i, "takes_controller", False)]
        told = f"of --interface {' or '.join(able)}" if able else "of other suites"
        raise ClevrSkillsError(
            f"--controller carries out commands {told}; {interface.name} has none for it"
        )
    if name.startswith((CHAT, REPLAY)):
        raise ClevrSkillsError(
            f"--controller {name}: a language model or a recording carries out no commands"
        )
    try:
        return PolicySource(name, arguments, os.getcwd(), own=suite.policies())
    except UnknownNameError:
        forms = [form for form in FORMS if not form.startswith((CHAT, REPLAY))]
        raise UnknownNameError("controller", name, [*forms, *suite.policies()]) from None


def _perturbed(
    args: EvaluateArgs, suite: Suite, refs: Sequence[EpisodeRef], axes: Mapping[str, int]
) -> tuple[list[EpisodeRef], dict[str, dict[str, str]]]:
    """As many perturbed episodes, the first that passed screening, and which were rejected."""
    counts = Counter((ref.task, ref.split) for ref in refs)
    count = max(counts.values()) if args.episodes or suite.episodes else None
    kept = kept_episodes(suite, list(counts), axes, count, args.workers, args.timeout)
    found = [EpisodeRef(one.task, one.split, index) for one in kept for index in one.indices]
    rejected = {
        f"{one.task}_{one.split}": {str(verdict.index): verdict.reason for verdict in one.rejected}
        for one in kept
    }
    return found, {name: reasons for name, reasons in rejected.items() if reasons}


def _check_sequential(args: EvaluateArgs, policy: str) -> None:
    """Check that a run may stop when its interval is narrow enough.

    Raises:
        ClevrSkillsError: It may not.
    """
    if not 0.0 < (args.until_width or 0.0) < 1.0:
        raise ClevrSkillsError(f"--until-width {args.until_width}; allowed: above 0 and below 1")
    others = {
        "--seed": args.seed is not None,
        "--repeat": args.repeat > 1,
        "--shard": args.part[1] > 1,
        "--policy replay:": policy.startswith(REPLAY),
        "--videos": bool(args.videos or args.video),
    }
    for name, given in others.items():
        if given:
            raise ClevrSkillsError(f"--until-width and {name} exclude each other")


def _check_handover(args: EvaluateArgs, suite: Suite, policy: str) -> None:
    """Check that a policy may do parts of episodes.

    Raises:
        ClevrSkillsError: It may not.
    """
    others = {
        "--seed": args.seed is not None,
        "--repeat": args.repeat > 1,
        "--until-width": args.until_width is not None,
        "--stop": args.stop not in (None, "goal"),
        "--keep-going": args.keep_going,
        "--policy replay:": policy.startswith(REPLAY),
    }
    for name, given in others.items():
        if given:
            raise ClevrSkillsError(f"--handover and {name} exclude each other")
    interface = suite.interface(args.interface)
    if not isinstance(interface, BoxInterface):
        raise ClevrSkillsError(f"--handover is for actions of numbers, not of {interface.name}")
    require_oracle(suite)


def _in_rounds(refs: Sequence[EpisodeRef]) -> tuple[list[EpisodeRef], int]:
    """Episodes in the order of a sequential evaluation, and how many of each task there are.

    Raises:
        ClevrSkillsError: There are not as many of each.
    """
    known = {(ref.task, ref.split, ref.index): ref for ref in refs}
    counts = Counter((ref.task, ref.split) for ref in refs)
    count = same_count(counts)
    return [known[key] for key in in_blocks(list(counts), count)], count


def _preset(args: EvaluateArgs, suite: Suite) -> Preset:
    """The preset that is named, or one that sets nothing.

    Raises:
        UnknownNameError: The suite has no such preset, or it sets no such option.
    """
    if args.preset is None:
        return Preset("", {})
    presets = suite.presets()
    check_names(preset=((args.preset,), presets))
    preset = presets[args.preset]
    check_names(**{"option of a preset": (preset.options, [f.name for f in fields(args)])})
    return preset


def _overrides(args: EvaluateArgs, suite: Suite) -> dict[str, Any]:
    """What the policy is to be shown in place of what it asks for."""
    kinds, cameras = suite.views(), args.cameras
    if args.view or args.no_cameras:
        cameras = tuple(name for name in args.view if kinds[name] == "image")
    options = {
        "cameras": cameras,
        "views": args.view or None,
        "size_px": args.size,
        "look": args.look,
        "history": args.history,
        "proprioception": False if args.no_proprioception else None,
        "prompt": args.prompt,
    }
    return {name: value for name, value in options.items() if value is not None}


def _episodes(
    args: EvaluateArgs, suite: Suite, policy: str, tasks: Sequence[str], splits: Sequence[str]
) -> tuple[list[EpisodeRef], str, str]:
    """The episodes, their robot and criteria."""
    able = suite.robots_of(tasks[0]) if tasks else suite.robots()
    robot, criteria = args.robot or able[0], args.criteria or suite.criteria()[0]
    count = args.episodes or (suite.episodes if args.until_width is None else None)
    pairs = task_splits(suite, tasks, splits, args.tasks)
    if tasks and not pairs:
        raise ClevrSkillsError(f"none of these tasks has the split {' or '.join(splits)}")
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
        refs = recorded_episodes(dataset, tasks, splits, count)
        return refs, header.robot, header.criteria
    if args.seed is not None:
        if count is None:
            raise ClevrSkillsError("--seed draws episodes: say how many with --episodes")
        drawn = [EpisodeRef(*pair, k, args.seed + k) for pair in pairs for k in range(count)]
        return drawn, robot, criteria
    heads = {pair: _header(suite, *pair) for pair in pairs}
    robots = {head.robot for head in heads.values()}
    if len(robots) > 1:
        raise ClevrSkillsError(f"the frozen episodes are for {' and '.join(sorted(robots))}")
    (robot,) = robots
    if args.robot not in (None, robot):
        raise ClevrSkillsError(
            f"the frozen episodes are for {robot}, not {args.robot}; with --seed others are drawn, "
            "or freeze some with `clevrskills freeze`"
        )
    for (task, split), head in heads.items():
        if count is not None and count > head.episodes:
            raise ClevrSkillsError(
                f"--episodes {count}: {head.episodes} episodes of {task}, split {split}, are "
                f"frozen; with --seed others are drawn{_more_frozen(args, task, count)}"
            )
    refs = [EpisodeRef(*pair, k) for pair, h in heads.items() for k in range(count or h.episodes)]
    return refs, robot, criteria


def _header(suite: Suite, task: str, split: str) -> FrozenHeader:
    """What is said of frozen episodes.

    Raises:
        ClevrSkillsError: There are none; it tells how others are drawn.
    """
    try:
        found: FrozenHeader = suite.header(task, split)
    except UnknownNameError:
        raise
    except ClevrSkillsError as error:
        raise ClevrSkillsError(f"{error}; with --seed 0 --episodes N some are drawn") from None
    return found


def _more_frozen(args: EvaluateArgs, task: str, count: int) -> str:
    """How more episodes are frozen, if the task is of another distribution."""
    added = (key for entry in additions("tasks") for key in keys_of(entry))
    if args.frozen or task not in added:
        return ""
    return f", or freeze more: `clevrskills freeze {task} --package DIR --episodes {count}`"


def recorded_episodes(
    dataset: Path, tasks: Sequence[str], splits: Sequence[str], episodes: int | None
) -> list[EpisodeRef]:
    """The first episodes of each task and split of a dataset.

    Args:
        dataset: Its folder.
        tasks: Keys of tasks; none: all.
        splits: The splits.
        episodes: How many of each, at most; ``None``: all.

    Raises:
        ClevrSkillsError: It has none, or they were perturbed: a seed gives the clean episode.
    """
    found: dict[tuple[str, str], list[EpisodeRef]] = defaultdict(list)
    recorded = Dataset(dataset)
    if axes := recorded.header.axes:
        told = ", ".join(f"{name}:{level}" for name, level in axes.items())
        raise ClevrSkillsError(f"{dataset} was perturbed along {told}; allowed: no axes")
    for episode in recorded:
        info = episode.info
        key = info["task"], info["split"]
        number = len(found[key])
        if (not tasks or key[0] in tasks) and key[1] in splits and number != episodes:
            found[key].append(EpisodeRef(*key, number, info["seed"], info["task_args"]))
    if not any(found.values()):
        raise ClevrSkillsError(f"{dataset} has no episodes of these tasks and splits")
    return [ref for refs in found.values() for ref in refs]


def filmed(refs: Sequence[EpisodeRef], first: int, names: Iterable[str]) -> list[EpisodeRef]:
    """The episodes, of which the first ones of each task and split, and some by name, are filmed.

    Raises:
        UnknownNameError: There is no episode of that name.
    """
    ids = [ref.id for ref in refs]
    for name in names:
        if name not in ids:
            raise UnknownNameError("episode", name, (*ids[:3], "..."))
    return [
        replace(ref, film=(ref.index < first and not ref.repeat) or ref.id in names) for ref in refs
    ]


def left_out(request: EvaluationRequest, prompt: str) -> tuple[str, ...]:
    """Tasks that are left out where prompts are in words alone: those that the suite leaves out
    then and that were not asked for by name.

    Raises:
        ClevrSkillsError: A task was asked for by name, but cannot be said in words.
    """
    suite, named = request.config.suite, request.args.tasks
    tasks = suite.unspeakable() if prompt == LANGUAGE else ()
    refs = [ref for ref in request.episodes if ref.task in tasks]
    for (task, split), some in groupby(refs, key=lambda ref: (ref.task, ref.split)):
        if task not in named:
            continue
        frozen = [ref.index for ref in some if ref.seed is None]
        check_in_words(suite, task, split, frozen, "--prompt multimodal")
    return tuple(dict.fromkeys(ref.task for ref in refs if ref.task not in named))


def groups(
    refs: Sequence[EpisodeRef], batch: int, workers: int, rounds: int = ROUNDS
) -> Iterator[Group]:
    """The episodes in groups of one task and split, each for one worker; of a batch at most so many
    in each place.
    """
    for _, some in groupby(refs, key=lambda ref: (ref.task, ref.split)):
        same = list(some)
        size = 1
        if batch > 1:  # else a result is kept as soon as it is there
            share = -(-len(same) // workers)
            size = max(batch, min(rounds * batch, share))
        for start in range(0, len(same), size):
            yield Group(tuple(same[start : start + size]))
