"""Evaluation request: policy, episodes and settings from the checked arguments."""

import os
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import groupby
from pathlib import Path
from types import MappingProxyType
from typing import Any

from clevrskills.core.env_config import EnvConfig
from clevrskills.core.episode import FrozenHeader, frozen_name
from clevrskills.core.interface import TextInterface
from clevrskills.core.observer import LANGUAGE
from clevrskills.core.policy_loader import (
    CHAT,
    FORMS,
    PolicySource,
    absolute_name,
    policy_arguments,
)
from clevrskills.core.suite import (
    IMAGES_ONLY,
    NO_ROBOT,
    Preset,
    Suite,
    all_cameras,
    all_interfaces,
    all_robots,
    all_splits,
    all_views,
    default_options,
    default_splits,
    find_interface,
    path_of,
    tagged,
)
from clevrskills.errors import ClevrSkillsError, UnknownNameError
from clevrskills.evaluation.arguments import EvaluateArgs
from clevrskills.evaluation.env_pool import EpisodeRef, WorkerConfig
from clevrskills.evaluation.modes import REPLAY, given_options, select_episodes
from clevrskills.evaluation.results import Run, check_track, read_run
from clevrskills.evaluation.selection import check_in_words, frozen_tasks
from clevrskills.evaluation.worker import Group
from clevrskills.jobs.arguments import check_least, check_names
from clevrskills.jobs.run_folder import cpu_features, versions

LEAST_LIMIT_S, CHAT_LIMIT_S = 60, 600
"""Minimum time limit of an action in seconds, and that of language models, which may queue."""

NO_CAMERAS = "none"


@dataclass(frozen=True)
class EvaluationRequest:
    """Request of an evaluation."""

    args: EvaluateArgs
    config: WorkerConfig
    episodes: tuple[EpisodeRef, ...]  # of this shard
    total: int  # number of episodes of all shards

    @property
    def run(self) -> Run:
        """Record of the run, without observation options and renderer."""
        return self.config.run


def make_request(
    args: EvaluateArgs, suite: Suite, declared: Mapping[str, Any] = MappingProxyType({})
) -> EvaluationRequest:
    """Check the arguments and return the request, with tasks in the order of the suite.

    Args:
        args: Arguments of the command.
        suite: Suite of the episodes.
        declared: Further fields of the run.

    Raises:
        ClevrSkillsError: An argument is not allowed.
    """
    check_least(
        args,
        **dict.fromkeys(("episodes", "repeat", "batch", "size", "history", "chunk"), 1),
        **dict.fromkeys(("seed", "max_cost"), 0),
        timeout=LEAST_LIMIT_S,
    )
    args.check_pool()
    if args.track:
        check_track(args.track)
    args, preset = _with_preset(args, suite)
    args = replace(args, policy=absolute_name(args.policy))
    if args.controller is not None:
        args = replace(args, controller=absolute_name(args.controller))
    tasks = _check_names(args, suite)
    source = _source(args, suite, preset)
    controller = _controller(args, suite)
    selected = select_episodes(args, suite, tasks, args.split or default_splits(suite))
    refs = [replace(ref, repeat=k) for ref in selected.episodes for k in range(args.repeat)]
    noise = args.noise or ""
    suite.check(EnvConfig(next(iter(tasks or suite.tasks)), noise=noise))
    pairs = sorted({(ref.task, ref.split) for ref in refs if ref.seed is None})
    frozen = {frozen_name(*pair): suite.frozen(*pair) for pair in pairs}
    run = Run(
        policy=args.policy,
        label=args.label,
        robot=selected.robot,
        criteria=selected.criteria,
        stop_on_success=args.stop in (None, "goal"),
        chunk=args.chunk,
        clip=not args.strict_actions,
        action_limit_s=max(args.timeout, CHAT_LIMIT_S * args.policy.startswith(CHAT)),
        accept_restarts=args.accept_restarts,
        policy_args=source.arguments,
        episodes={name: of.content_hash for name, of in frozen.items()},
        versions=versions(),
        cpu=cpu_features(),
        suite=path_of(suite),
        interface=find_interface(suite, args.interface).name,
        feedback=args.feedback or default_options(suite).get("feedback", "simple"),
        stop=args.stop or "goal",
        benchmark=_benchmark([of.header for of in frozen.values()]),
        wording=args.wording or "own",
        preset=args.preset or "",
        track=args.track,
        noise=noise,
        controller=args.controller or "",
        controller_args={} if controller is None else controller.arguments,
        salt=_salt(source),
        content=source.content() | ({} if controller is None else controller.content()),
        **selected.run,
        **declared,
    )
    config = WorkerConfig(
        root=args.out.absolute(),
        suite=suite,
        policy=source,
        run=run,
        batch=args.batch,
        writer=args.writer,
        controller=controller,
    )
    index, of = args.part
    mine = tuple(ref for ref in filmed(refs, args.video) if ref.index % of == index)
    return EvaluationRequest(args, config, mine, len(refs))


def _with_preset(args: EvaluateArgs, suite: Suite) -> tuple[EvaluateArgs, Preset]:
    """Return the arguments completed by the options of the preset."""
    shown = {"--view", "--cameras"} & given_options(args)
    if len(shown) > 1:
        raise ClevrSkillsError("--view and --cameras exclude each other: give one")
    if args.cameras == (NO_CAMERAS,):
        args = replace(args, cameras=())
    if args.preset is None:
        return args, Preset("", {})
    presets = suite.presets()
    check_names(preset=((args.preset,), presets))
    preset = presets[args.preset]
    defaults = {f.name: f.default for f in fields(args)}
    check_names(**{"option of a preset": (preset.options, defaults)})
    taken = {k for k in defaults if getattr(args, k) != defaults[k]}
    taken |= {"view", "cameras"} if shown else set()
    options = {k: v for k, v in preset.options.items() if k not in taken}
    return replace(args, **options), preset


def _check_names(args: EvaluateArgs, suite: Suite) -> list[str]:
    """Check all names and return the selected tasks in the order of the suite."""
    cameras = all_cameras(suite)
    check_names(
        split=(args.split, all_splits(suite)),
        robot=((args.robot,), all_robots(suite)),
        criteria=((args.criteria,), suite.criteria()),
        camera=(args.cameras or (), cameras or ("(none)",)),
        view=(args.view, all_views(suite) or ("(none)",)),
        interface=((args.interface,), all_interfaces(suite)),
    )
    tasks = args.select(suite.tasks)
    if args.all:
        tasks = frozen_tasks(suite)
    if args.interface:  # a level or group skips tasks without the interface
        able = {key for key in tasks if args.interface in suite.tasks[key].interfaces}
        tasks = [key for key in tasks if key in able or key in args.tasks]
    for task in tasks:
        if args.video and NO_ROBOT in suite.tasks[task].robots:
            raise ClevrSkillsError(f"{task} has no arm to film: leave out --video")
        allowed = suite.tasks[task].interfaces
        check_names(**{f"interface of {task}": ((args.interface,), allowed)})
    if not tasks and not args.policy.startswith(REPLAY):
        raise ClevrSkillsError("nothing to evaluate: name tasks, or a level with --level")
    return tasks


def _source(args: EvaluateArgs, suite: Suite, preset: Preset) -> PolicySource:
    """Return the source of the policy."""
    arguments = policy_arguments(args.policy_arg)
    if preset.prompt and args.policy.startswith(CHAT):
        arguments["prompt"] = {**preset.prompt, **arguments.get("prompt", {})}
    if args.policy.startswith(f"{CHAT}http"):
        arguments = {**preset.sampling, **arguments}
    if args.max_cost is not None and not {"price_in", "price_out"} & {*arguments}:
        raise ClevrSkillsError("--max-cost needs prices: --policy-arg price_in=… price_out=…")
    overrides = _overrides(args, suite)
    return PolicySource(
        *(args.policy, arguments, os.getcwd(), overrides, suite.policies(), args.isolate)
    )


def _salt(source: PolicySource) -> str:
    """Return a random salt, or that of the run whose replies are replayed."""
    replayed = source.arguments.get("replay")
    if not source.name.startswith(CHAT) or not isinstance(replayed, str):
        return secrets.token_hex(16)
    folder = Path(replayed)
    return read_run(folder.parent if folder.name == "transcripts" else folder).salt


def _benchmark(heads: Iterable[FrozenHeader]) -> int:
    """Return the benchmark version of the frozen episodes; 0: there are none."""
    found = {head.benchmark for head in heads}
    if len(found) > 1:
        numbers = " and ".join(map(str, sorted(found)))
        raise ClevrSkillsError(
            f"the frozen episodes are of versions {numbers} of the benchmark: evaluate each "
            "separately"
        )
    return max(found, default=0)


def _controller(args: EvaluateArgs, suite: Suite) -> PolicySource | None:
    """Return the source of the controller that executes the policy's commands, if any."""
    name, arguments = args.controller, policy_arguments(args.controller_arg)
    if name is None:
        if arguments:
            raise ClevrSkillsError("--controller-arg needs --controller")
        return None
    interface = find_interface(suite, args.interface)
    if not (isinstance(interface, TextInterface) and interface.takes_controller):
        able = [
            name
            for name, other in all_interfaces(suite).items()
            if isinstance(other, TextInterface) and other.takes_controller
        ]
        hint = f"of --interface {' or '.join(able)}" if able else "of other suites"
        raise ClevrSkillsError(
            f"--controller executes commands {hint}; {interface.name} has none for it"
        )
    if name.startswith((CHAT, REPLAY)):
        raise ClevrSkillsError(
            f"--controller {name}: a language model or a recording cannot execute commands"
        )
    try:
        return PolicySource(
            name, arguments, os.getcwd(), own=suite.policies(), isolated=args.isolate
        )
    except UnknownNameError:
        forms = [form for form in FORMS if not form.startswith((CHAT, REPLAY))]
        raise UnknownNameError("controller", name, [*forms, *suite.policies()]) from None


def _overrides(args: EvaluateArgs, suite: Suite) -> dict[str, Any]:
    """Return the observation options that override those of the policy."""
    kinds, cameras = all_views(suite), args.cameras
    if args.view:
        cameras = tuple(name for name in args.view if kinds[name] == "image")
    options = {
        "cameras": cameras,
        "views": args.view or None,
        "size_px": args.size,
        "look": args.look,
        "history": args.history,
        "prompt": args.prompt,
    }
    return {name: value for name, value in options.items() if value is not None}


def filmed(refs: Sequence[EpisodeRef], which: Sequence[str]) -> list[EpisodeRef]:
    """Return the episodes, marked for recording: the first N of each task and split, and by name.

    Raises:
        UnknownNameError: Unknown episode.
    """
    ids, names = [ref.id for ref in refs], [name for name in which if not name.isdecimal()]
    first = max((int(name) for name in which if name.isdecimal()), default=0)
    for name in names:
        if name not in ids:
            raise UnknownNameError("episode", name, (*ids[:3], "..."))
    return [
        replace(ref, film=(ref.index < first and not ref.repeat) or ref.id in names) for ref in refs
    ]


def left_out(request: EvaluationRequest, prompt: str) -> tuple[str, ...]:
    """Return the tasks to skip with language prompts, unless they were named.

    Raises:
        ClevrSkillsError: A named task has no language prompt.
    """
    suite, named = request.config.suite, request.args.tasks
    tasks = tagged(suite, IMAGES_ONLY) if prompt == LANGUAGE else ()
    refs = [ref for ref in request.episodes if ref.task in tasks]
    for (task, split), some in groupby(refs, key=lambda ref: (ref.task, ref.split)):
        if task not in named:
            continue
        frozen = [ref.index for ref in some if ref.seed is None]
        check_in_words(suite, task, split, frozen, "--prompt multimodal")
    return tuple(dict.fromkeys(ref.task for ref in refs if ref.task not in named))


def groups(refs: Sequence[EpisodeRef], batch: int) -> Iterator[Group]:
    """Yield groups of one task and split, each for one worker. A group is no larger than a batch,
    since a lost process loses all of it.
    """
    for _, some in groupby(refs, key=lambda ref: (ref.task, ref.split)):
        same = list(some)
        for start in range(0, len(same), batch):
            yield Group(tuple(same[start : start + batch]))
