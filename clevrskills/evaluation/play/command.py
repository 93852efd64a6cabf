"""``clevrskills play``: plays an episode at the terminal, from a script, or on a web page."""

from __future__ import annotations

import contextlib
import hashlib
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from clevrskills.core.suite import (
    all_views,
    building,
    default_splits,
    find_interface,
    find_suite,
    path_of,
)
from clevrskills.errors import ClevrSkillsError
from clevrskills.jobs.arguments import PlannerArgs, check_least, check_names
from clevrskills.jobs.console import console
from clevrskills.jobs.files import to_json
from clevrskills.jobs.journal import Journal
from clevrskills.jobs.options import Positional, Repeated
from clevrskills.jobs.run_folder import chosen_planner, open_folder, versions

if TYPE_CHECKING:
    from clevrskills.core.env import Env, Episode
    from clevrskills.core.interface import Interface, Mode, Turn
    from clevrskills.core.suite import Suite
    from clevrskills.evaluation.rollout import PolicyRollout

HUMAN = "human"
"""Policy of the results of ``--record``."""
HELP, QUIT, GOALS = "?", "quit", "goals"
_COLORS = ("red", "green", "blue", "yellow", "orange", "purple")


@dataclass(kw_only=True)
class PlayArgs(PlannerArgs):
    """Play an episode by entering commands.

    At the terminal, `?` lists the commands, `goals` shows the open goals, and `quit` ends. Use
    `--browser` to play on a web page.
    """

    task: Positional[str]
    """Key of the task."""
    suite: str | None = None
    """Suite, see `clevrskills suites`; default: the suite of the task."""
    split: str | None = None
    """Split of the episode; default: test, or the suite's evaluation split."""
    index: int = 0
    """Index of the frozen episode."""
    seed: int | None = None
    """Sample the episode from this seed instead."""
    interface: str | None = None
    """Action interface; default: the suite's first."""
    view: Repeated[str] = ()
    """View shown at the start and after each turn; repeatable; default: the suite's text views,
    and in the browser its first image."""
    feedback: Literal["none", "simple", "detailed"] = "detailed"
    """Level of feedback on turns."""
    noise: str = ""
    """Image and action noise, by name or description, if the suite supports it."""
    criteria: str | None = None
    """Success criteria; default: the suite's first."""
    robot: str | None = None
    """Robot of a sampled episode; default: the suite's first."""
    arg: Repeated[str] = ()
    """Task argument of a sampled episode, TASK.NAME=VALUE; repeatable."""
    commands: str | None = None
    """Commands separated by `;`, a file with one per line, or `-` for standard input; default: the
    terminal. A numeric action is one command, e.g. `0 0 -1 0 0 0 -1 x20`, where `x20` repeats
    it."""
    browser: bool = False
    """Play on a web page that only this machine can open."""
    port: int = 0
    """Port of the web page; 0: any free port."""
    record: Path | None = None
    """Folder to which the episode is added as a result of the policy `human`, for reports."""
    json: bool = False
    """Print the turns and the outcome as JSON."""


def play(args: PlayArgs, suite: Suite | None = None) -> int:
    """Play an episode and return 0, whether or not the goal was reached.

    Args:
        args: Arguments of the command.
        suite: Suite; ``None``: the named suite, or that of the task.

    Raises:
        ClevrSkillsError: Bad arguments, or an invalid command.
    """
    with chosen_planner(args.planner):
        return _play(args, suite or find_suite(args.suite, [args.task]))


def _play(args: PlayArgs, suite: Suite) -> int:
    interface = find_interface(suite, args.interface)
    if args.browser and args.commands is not None:
        raise ClevrSkillsError("--browser reads commands from its page: leave out --commands")
    given = None if args.commands is None else list(_given(args.commands, interface))
    rollout = _start(args, suite)
    prompt = rollout.episode.prompt.plain()
    turns: list[dict[str, Any]] = []
    if not args.json:
        print(f"{prompt}  (at most {rollout.limit} turns)")
    _show(args, rollout)

    def take(text: str) -> None:
        for action in actions_of(interface, text):
            if rollout.ended:
                break
            turn = rollout.step(action)
            turns.append(_entry(interface, rollout, text, turn, args.feedback))
            if not args.json:
                code = f" {turns[-1]['code']}" if turns[-1]["code"] else ""
                print(f"{rollout.turns}: {text}:{code} {turns[-1]['message']}".rstrip())
        _show(args, rollout)

    if args.browser:
        _serve(args, rollout, interface, turns, take)
    else:
        for text in _typed(rollout, interface) if given is None else given:
            if rollout.ended:
                break
            take(text)
    result = rollout.result("" if rollout.ended else "quit")
    if args.record is not None:
        _record(args, suite, rollout, args.record)
    if args.json:
        data = {
            "episode": result.id,
            "content_hash": result.episode,
            "prompt": prompt,
            "limit": rollout.limit,
            "turns": turns,
            "success": result.success_at_end,
            "cause": result.cause,
            "goal_fraction": result.goal_fraction,
            "goals": goals(rollout.env, over=True),
            "measures": dict(result.measures),
        }
        print(to_json(data, indent=1))
    else:
        print("solved" if result.success_at_end else f"not solved: {result.cause}")
    return 0


def actions_of(interface: Interface, text: str) -> list[Any]:
    """Return the actions of a command: text, a number, or numbers separated by spaces.

    Raises:
        ClevrSkillsError: The command is no valid action.
    """
    from clevrskills.core.interface import BoxInterface, TextInterface

    if isinstance(interface, TextInterface):
        return list(interface.read(text))
    words, times = text.split(), 1
    if words and words[-1][:1] == "x" and words[-1][1:].isdecimal():
        times = int(words.pop()[1:])
    if not isinstance(interface, BoxInterface):
        whole = len(words) == 1 and words[0].removeprefix("-").isdecimal()
        return list(interface.read(int(words[0]) if whole else text)) * times
    try:
        numbers = [float(word) for word in words]
    except ValueError:
        raise ClevrSkillsError(
            f"{text!r} is no action of {interface.name}: {interface.sentence}"
        ) from None
    return list(interface.read(numbers)) * times


def default_views(known: Mapping[str, str], browser: bool) -> tuple[str, ...]:
    """Return the default views."""
    images = [name for name, kind in known.items() if kind == "image"][: int(browser)]
    return (*images, *(name for name, kind in known.items() if kind == "text"))


def goals(env: Env, over: bool) -> list[dict[str, Any]]:
    """Return path, text and state of the leaves of the goal and of its constraints; nothing of a
    hidden goal until the episode is over.
    """
    from clevrskills.core.goal.batching import child_state
    from clevrskills.core.goal.logical import Keeping
    from clevrskills.core.goal.tree import nodes, outcomes

    if env.goal_hidden and not over:
        return []
    found = [*zip(nodes(env.goal), outcomes(env.goal, env.outcome), strict=True)]
    for node, outcome in tuple(found):
        if isinstance(node.predicate, Keeping) and env.world is not None:
            kept = node.predicate.kept
            veto = kept.evaluate(env.world, child_state(1, outcome.state))
            found += zip(nodes(kept), outcomes(kept, veto), strict=True)
    return [
        {
            "path": node.path,
            "text": env.prompt.plain(node.predicate.describe(env.world)),
            "holds": bool(outcome.holds[0]),
        }
        for node, outcome in found
        if node.leaf is not None and node.active
    ]


def state_hash(env: Env) -> str:
    """Return the first 16 hex digits of the SHA-256 of the environment's state."""
    import numpy as np

    state = np.ascontiguousarray(np.asarray(env.get_state()))
    return hashlib.sha256(str(state.dtype).encode() + state.tobytes()).hexdigest()[:16]


def _start(args: PlayArgs, suite: Suite) -> PolicyRollout:
    """Return the rollout at the start of the episode."""
    from clevrskills.core.env_config import EnvConfig
    from clevrskills.core.policy import ObservationOptions
    from clevrskills.dataset_tools.generate.command import task_arguments
    from clevrskills.evaluation.rollout import PolicyRollout, Rules

    check_least(args, index=0, seed=0)
    known = all_views(suite)
    splits = default_splits(suite)
    split = args.split or ("test" if "test" in splits else splits[0])
    check_names(task=((args.task,), suite.tasks))
    check_names(
        split=((split,), suite.tasks[args.task].splits),
        criteria=((args.criteria,), suite.criteria()),
        robot=((args.robot,), suite.tasks[args.task].robots),
        interface=((args.interface,), suite.tasks[args.task].interfaces),
        view=(args.view, known or ("(none)",)),
    )
    task_args = task_arguments(args.arg, tuple(suite.tasks)).get(args.task, {})
    episode: Episode
    if args.seed is not None:
        suite.check(EnvConfig(args.task, task_args=task_args))
        episode = suite.draw(args.task, split, args.seed, 0, args.robot or "", task_args)
    else:
        if args.arg or args.robot:
            raise ClevrSkillsError("--arg and --robot are for sampled episodes: give a --seed")
        frozen = suite.frozen(args.task, split)
        if args.index >= len(frozen):
            raise ClevrSkillsError(f"--index {args.index}: there are {len(frozen)} frozen episodes")
        episode = frozen[args.index]
    shown = args.view or default_views(known, args.browser)
    images = tuple(name for name in shown if known[name] == "image")
    config = EnvConfig(
        args.task,
        split,
        episode.robot,
        args.criteria or suite.criteria()[0],
        cameras=images,
        task_args=episode.task_args,
        noise=args.noise,
    )
    suite.check(config)
    with building(args.task):
        env = suite.make(config)
    options = ObservationOptions(cameras=images, proprioception=False, views=shown)
    rules = Rules(feedback=args.feedback, interface=args.interface)
    return PolicyRollout(env, episode, options, rules, suite)


def _given(commands: str, interface: Interface) -> Iterator[str]:
    """Yield the commands of the option; a text that is one command is not split."""
    path = Path(commands)
    if commands == "-" or (len(commands) < 256 and path.is_file()):
        text = sys.stdin.read() if commands == "-" else path.read_text(encoding="utf-8")
        yield from (line.strip() for line in text.splitlines() if line.strip())
        return
    from clevrskills.core.interface import TextInterface

    grammar = interface.grammar if isinstance(interface, TextInterface) else None
    whole = grammar is not None and bool(grammar(commands))
    parts = [part.strip() for part in ([commands] if whole else commands.split(";"))]
    yield from filter(None, parts)


def _typed(rollout: PolicyRollout, interface: Interface) -> Iterator[str]:
    """Yield commands from the terminal."""
    with contextlib.suppress(ImportError):
        import readline  # noqa: F401
    while not rollout.ended:
        try:
            text = input(f"{rollout.turns + 1}> ").strip()
        except EOFError:
            return
        if text == QUIT:
            return
        if text == HELP:
            print(interface.sentence)
            for name, value in {**interface.spec, **rollout.prompt.about}.items():
                several = isinstance(value, list | tuple)
                print(f"  {name}: {'; '.join(map(str, value)) if several else value}")
            print(f"`{GOALS}`: show the open goals; `{QUIT}`: end")
        elif text == GOALS:
            for goal in goals(rollout.env, over=rollout.ended):
                print(f"  [{'x' if goal['holds'] else ' '}] {goal['text']}")
        elif text:
            try:
                actions_of(interface, text)
            except ClevrSkillsError as error:
                print(error)
                continue
            yield text


def _serve(
    args: PlayArgs,
    rollout: PolicyRollout,
    interface: Interface,
    turns: list[dict[str, Any]],
    take: Callable[[str], None],
) -> None:
    """Serve the web page."""
    from clevrskills.dataset_tools.pages import render
    from clevrskills.evaluation.play.page import PlayPage

    def state(_: object = None) -> dict[str, Any]:
        env, visible = rollout.env, rollout.ended or not rollout.env.goal_hidden
        end = "" if not rollout.ended else "Solved." if rollout.success else "Not solved."
        return {
            "turns": turns,
            "limit": rollout.limit,
            "progress": float(env.outcome.progress[0]) if visible else None,
            "views": [_drawn(name, view) for name, view in _views(rollout).items()],
            "goals": [] if args.record else goals(env, rollout.ended),  # no hints when recorded
            "hidden": f"Hidden {'while it is recorded' if args.record else 'until the end'}.",
            "end": end,
            "success": rollout.success,
        }

    def act(data: Any) -> dict[str, Any]:
        if not isinstance(data, dict) or not isinstance(data.get("text"), str):
            raise ClevrSkillsError('a turn is {"text": COMMAND}')
        if not rollout.ended and data["text"].strip():
            take(data["text"].strip())
        return state()

    def over(_: object = None) -> dict[str, Any]:
        return {**state(), "end": state()["end"] or "Ended before it was solved."}

    page = render(
        "play.html",
        "evaluation.play",
        title=rollout.episode.task,
        prompt=rollout.episode.prompt.plain(),
        sentence=interface.sentence,
        grammar=to_json(dict(interface.spec), indent=1),
        example=str((interface.spec.get("examples") or ["a command"])[0]),
    )
    server = PlayPage(page, {"/state": state, "/act": act, PlayPage.QUIT: over}, args.port)
    print(
        f"play at {server.url}; Ctrl-C ends it",
        file=sys.stderr if args.json else sys.stdout,
        flush=True,
    )
    server.run()


def _drawn(name: str, view: Any) -> dict[str, str]:
    """Return a view as JSON data of the page."""
    from clevrskills.dataset_tools.view.page_data import data_uri, jpeg

    if isinstance(view, str):
        return {"name": name, "text": view}
    return {"name": name, "image": data_uri(jpeg(view, "turn"))}


def _views(rollout: PolicyRollout) -> dict[str, Any]:
    """Return the current views by name."""
    views = rollout.observer.look()["views"]
    return {name: views[name] for name in rollout.options.views or ()}


def _entry(
    interface: Interface, rollout: PolicyRollout, text: str, turn: Turn, feedback: Mode
) -> dict[str, Any]:
    from clevrskills.core.interface import turn_feedback

    return {
        "turn": rollout.turns,
        "action": text,
        "ok": turn.ok or feedback == "none",
        "code": turn.code if feedback == "detailed" else "",
        "message": turn_feedback(interface, turn, feedback),
        "reward": turn.reward,
        "progress": turn.progress,
        "success": turn.success,
        "state_hash": state_hash(rollout.env),
    }


def _show(args: PlayArgs, rollout: PolicyRollout) -> None:
    """Print the text views."""
    from rich.text import Text

    shown = {} if args.json or args.browser else _views(rollout)
    for name, view in shown.items():
        if not isinstance(view, str):
            continue
        text = Text(view)
        for color in _COLORS:
            text.highlight_regex(rf"\b{color} \w+", "dark_orange" if color == "orange" else color)
        console().print(Text(name, style="italic"))
        console().print(text)


def _record(args: PlayArgs, suite: Suite, rollout: PolicyRollout, root: Path) -> None:
    """Add the episode to a folder of results."""
    from clevrskills.evaluation.results import NO_TRACK, RESULTS_DIR, RUN_FILE, Run, read_run
    from clevrskills.evaluation.runner import open_run

    result = rollout.result("" if rollout.ended else "step limit")
    frozen = None if args.seed is not None else suite.frozen(args.task, result.split)
    file = f"{args.task}_{result.split}"
    run = Run(
        policy=HUMAN,
        label=HUMAN,
        robot=rollout.episode.robot,
        criteria=args.criteria or suite.criteria()[0],
        observation=asdict(rollout.options),
        seed=args.seed,
        episodes={} if frozen is None else {file: frozen.content_hash},
        versions=versions(),
        suite=path_of(suite),
        interface=find_interface(suite, args.interface).name,
        feedback=args.feedback,
        benchmark=0 if frozen is None else frozen.header.benchmark,
        track=NO_TRACK,
    )
    before = read_run(root) if open_folder(root, RUN_FILE, "no run of results") else None
    open_run(root, before, run, suite)
    Journal(root / RESULTS_DIR / f"{HUMAN}.jsonl").append(result.to_json())
