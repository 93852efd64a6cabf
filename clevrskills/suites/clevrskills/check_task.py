"""``clevrskills check-task``: the checks that a task of the package passes, for any task."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from clevrskills.errors import ClevrSkillsError, UnknownNameError, one_line

if TYPE_CHECKING:
    from clevrskills.tasks import Task

MUST, SHOULD = "must", "should"
SOLVED, LUCKY = 0.9, 0.1
"""Share of the episodes that the oracle solves, at least, and a random policy, at most."""
ROOM = 1.5
"""Step limit as a multiple of the oracle's longest episode, at least."""
RISING = 0.5
"""Rank correlation of progress with time while the oracle acts, at least."""
STILL_STEPS = 25
"""Control steps for which what was realized must hold by itself."""
AWAY_M = 0.15
"""How far a body or the gripper is taken away to see that a predicate ceases to hold."""
NARROW_M = 0.015
"""Bodies that are narrower than this are five pixels wide for the base camera."""


@dataclass(kw_only=True)
class CheckTaskArgs:
    """Check a task as the package checks its own: what must hold, what should, and the mend."""

    task: tyro.conf.Positional[str]
    """Key of a task, or a module or a file in which tasks are defined."""
    episodes: int = 5
    """Episodes of each split."""
    seed: int = 0
    """Seed of the first."""
    robot: str = "xarm6"
    """The robot: xarm6 or panda."""
    json: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Print the checks as JSON."""


@dataclass(frozen=True)
class Check:
    """What one check found.

    Attributes:
        name: Name of the check.
        grade: ``must`` or ``should``.
        ok: Whether it passed.
        found: What was found.
        mend: What to do where it did not pass.
    """

    name: str
    grade: str
    ok: bool
    found: str
    mend: str


@dataclass(frozen=True)
class Report:
    """The checks of a task.

    Attributes:
        task: Its key.
        checks: What was found.
    """

    task: str
    checks: tuple[Check, ...]

    @property
    def ok(self) -> bool:
        """Whether all passes that must."""
        return all(check.ok for check in self.checks if check.grade == MUST)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON data."""
        return {"task": self.task, "ok": self.ok, "checks": [asdict(c) for c in self.checks]}

    def __str__(self) -> str:
        lines = [f"{self.task}: {'passes' if self.ok else 'does not pass'}"]
        for check in self.checks:
            lines.append(
                f"  {check.grade:<6}  {check.name:<11}  {'ok' if check.ok else 'NO':<2}  "
                f"{check.found}"
            )
            if not check.ok:
                lines.append(f"{'mend: ':>29}{check.mend}")
        return "\n".join(lines)


def check_task(args: CheckTaskArgs) -> int:
    """Check tasks.

    Returns:
        Exit code: 0 if all passes that must, else 1.

    Raises:
        ClevrSkillsError: There is no such task or module, or an argument is not allowed.
    """
    from clevrskills.jobs.arguments import check_least

    check_least(args, episodes=1, seed=0)
    reports = []
    for key in keys_in(args.task):
        reports.append(report(key, args.episodes, args.seed, args.robot, args.task))
        if not args.json:
            print(reports[-1], flush=True)
    if args.json:
        print(json.dumps([one.to_json() for one in reports], indent=1))
    return 0 if all(one.ok for one in reports) else 1


def keys_in(name: str) -> list[str]:
    """Keys of the tasks that a name stands for: a task, or a module or file, which is imported.

    Raises:
        ClevrSkillsError: There are none, or the module cannot be imported.
    """
    import importlib
    import importlib.util
    import sys
    from pathlib import Path

    from clevrskills.errors import errors_in
    from clevrskills.tasks import tasks

    known = tasks()
    if name in known:
        return [name]
    with errors_in(f"{name} cannot be imported"):
        if name.endswith(".py"):
            module = Path(name).stem
            spec = importlib.util.spec_from_file_location(module, name)
            assert spec is not None and spec.loader is not None
            sys.modules[module] = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(sys.modules[module])
        else:
            module = name
            if "" not in sys.path:
                sys.path.insert(0, "")
            try:
                _import_all(importlib.import_module(module))
            except ModuleNotFoundError as error:
                if error.name and (module == error.name or module.startswith(f"{error.name}.")):
                    raise UnknownNameError("task or module", name, tuple(known)) from None
                raise
    inside = (module, f"{module}.")
    found = [
        key
        for key, cls in tasks().items()
        if cls.__module__ == inside[0] or cls.__module__.startswith(inside[1])
    ]
    if not found:
        raise ClevrSkillsError(f"{name} defines no task; a task is a class with a key")
    return found


def _import_all(package: Any) -> None:
    """Import all modules of a package."""
    import importlib
    import pkgutil

    for module in pkgutil.walk_packages(getattr(package, "__path__", ()), f"{package.__name__}."):
        if not module.name.rpartition(".")[2].startswith("_"):
            importlib.import_module(module.name)


def report(
    key: str, episodes: int = 5, seed: int = 0, robot: str = "xarm6", defined_in: str = ""
) -> Report:
    """Check a task.

    Args:
        key: Its key.
        episodes: How many episodes of each split.
        seed: Seed of the first.
        robot: Key of the robot.
        defined_in: Module or file that defines it, if it is found by no entry point.

    Raises:
        ClevrSkillsError: There is no such task or robot.
    """
    from clevrskills.suites.clevrskills.suite import SPLITS
    from clevrskills.tasks import task

    made = task(key)
    if robot not in made.all_robots:
        raise UnknownNameError(f"robot for {key}", robot, made.all_robots)
    seeds = range(seed, seed + episodes)
    runs = [_Run(key, split, robot, seeds) for split in SPLITS]
    checks = [*_check_declared(made), _check_starts(runs)]
    if checks[-1].ok or any(run.scenes for run in runs):
        checks += [_check_oracle(runs), *_check_blind(runs), *_check_predicates(made, runs)]
        checks.append(_check_determinism(runs[0], defined_in))
        checks += [*_check_words(made, runs), _check_legible(runs), *_check_pace(made, runs)]
        checks.append(_check_frozen(key))
    for run in runs:
        run.close()
    return Report(key, tuple(checks))


class _Run:
    """The episodes of a task in a split, and what came of them.

    Attributes:
        scenes: The scene of each seed that has one.
        errors: Why the others have none, by seed.
        steps: Control steps of the episodes that the oracle solved.
        failures: Why it did not solve the others, by seed.
        rising: Rank correlation of progress and time of each.
    """

    def __init__(self, key: str, split: str, robot: str, seeds: Sequence[int]) -> None:
        from clevrskills.core.env_config import EnvConfig
        from clevrskills.envs.scene_sampling import draw_scene
        from clevrskills.tasks import task

        self.split = split
        self.config = EnvConfig(key, split, robot, cameras=())
        self.scenes: dict[int, Any] = {}
        self.errors: dict[int, str] = {}
        self.steps: list[int] = []
        self.failures: dict[int, str] = {}
        self.rising: list[float] = []
        self._env: Any = None
        for seed in seeds:
            try:
                self.scenes[seed] = draw_scene(task(key), seed, split, robot)
            except Exception as error:
                self.errors[seed] = one_line(error)

    @property
    def env(self) -> Any:
        """The environment."""
        from clevrskills.envs.environment import make_env

        if self._env is None:
            self._env = make_env(self.config)
        return self._env

    def close(self) -> None:
        """Close the environment."""
        if self._env is not None:
            self._env.close()


def _check(name: str, grade: str, faults: Sequence[str], good: str, mend: str) -> Check:
    """A check that passed if it found no faults; the first three are shown."""
    more = f"; {len(faults) - 3} more" if len(faults) > 3 else ""
    return Check(name, grade, not faults, "; ".join(faults[:3]) + more or good, mend)


def _check_declared(task: Task) -> Iterator[Check]:
    from clevrskills.tasks.base import LEVELS

    faults = []
    if task.level not in LEVELS:
        faults.append(f"level {task.level!r}")
    if not task.sentence[:1].isupper():
        faults.append(f"sentence {task.sentence!r}")
    if len(set(task.slots)) < len(task.slots) or not all(map(str.isidentifier, task.slots)):
        faults.append(f"slots {task.slots}")
    if task.max_steps < 1:
        faults.append(f"max_steps {task.max_steps}")
    if not task.predicates:
        faults.append("predicates are not listed")
    try:
        json.dumps(task.describe())
    except Exception as error:
        faults.append(f"describe(): {one_line(error)}")
    mend = (
        "set level, sentence (begins with a capital), predicates, slots (different identifiers) and"
        " max_steps of the class"
    )
    yield _check("declared", MUST, faults, task.sentence, mend)


def _check_starts(runs: Sequence[_Run]) -> Check:
    from clevrskills.suites.clevrskills.suite import ClevrSkillsSuite

    faults = [f"{run.split} seed {s}: {e}" for run in runs for s, e in run.errors.items()]
    for run in runs:
        for seed in run.scenes:
            try:
                run.env.reset(seed=seed)
                starts = ClevrSkillsSuite().faults(run.env)
                found = [name for name, is_so in starts.items() if is_so]
            except Exception as error:
                found = [one_line(error)]
            if found:
                faults.append(f"{run.split} seed {seed}: {', '.join(found)}")
    count = sum(len(run.scenes) for run in runs)
    mend = (
        "layout(): place bodies with Table.place or pose_on_table, raise LayoutError where a draw "
        "does not fit, and keep the goal open: realize() must reach it and the start must not"
    )
    return _check("starts", MUST, faults, f"{count} starts without a fault", mend)


class _Watched:
    """The oracle; notes the progress at each of its actions.

    Args:
        env: The environment.
        progress: Where it is noted.
    """

    def __init__(self, env: Any, progress: list[float]) -> None:
        from clevrskills.solvers.oracle import Oracle

        self._env, self._oracle, self._progress = env, Oracle(env), progress

    def reset(self) -> None:
        """Start afresh."""
        self._oracle.reset()

    def act(self) -> Any:
        """The oracle's next action."""
        self._progress.append(float(self._env.outcome.progress[0]))
        return self._oracle.act()


def _check_oracle(runs: Sequence[_Run]) -> Check:
    import numpy as np
    from scipy.stats import spearmanr

    from clevrskills.evaluation.freeze.screening import solve

    for run in runs:
        for seed in run.scenes:
            progress: list[float] = []
            try:
                run.env.reset(seed=seed)
                oracle: Any = _Watched(run.env, progress)
                steps, reason = solve(run.env, oracle)
            except Exception as error:
                steps, reason = 0, one_line(error)
            if reason:
                run.failures[seed] = reason
                continue
            run.steps.append(steps)
            flat = len(set(progress)) < 2
            order = 1.0 if flat else spearmanr(np.arange(len(progress)), progress).statistic
            run.rising.append(float(order))
    faults = []
    for run in runs:
        solved = len(run.steps)
        if solved < SOLVED * (solved + len(run.failures)):
            reasons = ", ".join(f"seed {s}: {why}" for s, why in list(run.failures.items())[:2])
            faults.append(
                f"{run.split}: {solved} of {solved + len(run.failures)} solved ({reasons})"
            )
    counts = ", ".join(
        f"{run.split} {len(run.steps)}/{len(run.steps) + len(run.failures)}" for run in runs
    )
    mend = (
        "no skill: write one with @solves(Predicate) and add its package to the entry points of "
        "clevrskills.skills; step limit: raise max_steps or shorten the skill; else let layout() "
        "leave room for the arm"
    )
    return _check("oracle", MUST, faults, f"solves {counts}", mend)


def _check_blind(runs: Sequence[_Run]) -> Iterator[Check]:
    import numpy as np

    from clevrskills.evaluation.freeze.screening import succeeds_blindly
    from clevrskills.sim.robots.delta_action import DELTA

    def lucky(make: Callable[[int], Callable[[], Any]], steady: bool) -> list[str]:
        found = []
        for run in runs:
            for seed in run.scenes:
                run.env.reset(seed=seed)
                if succeeds_blindly(run.env, make(seed), steady):
                    found.append(f"{run.split} seed {seed} is solved")
        return found

    count = sum(len(run.scenes) for run in runs)
    mend = "layout(): start further from the goal, or ask for more in goal()"
    zero = lucky(lambda _: DELTA.none, steady=True)
    yield _check("zero", MUST, zero, "doing nothing solves none", mend)

    def random(seed: int) -> Callable[[], Any]:
        generator = np.random.default_rng((seed, 2))
        return lambda: DELTA.random(generator)

    solved = lucky(random, steady=False)
    found = f"random actions solve {len(solved)} of {count}"
    yield Check("random", MUST, len(solved) <= LUCKY * count, found, mend)


def _check_predicates(task: Task, runs: Sequence[_Run]) -> Iterator[Check]:
    """The faces of the goal's predicates, without and in simulation."""
    from clevrskills.predicates import predicate_types

    scenes = {(run.split, seed): scene for run in runs for seed, scene in run.scenes.items()}
    realized: list[str] = []
    perturbed: list[str] = []
    kept: list[str] = []
    for (split, seed), scene in scenes.items():
        for faults, look in (
            (realized, _faults_realized),
            (perturbed, _faults_perturbed),
            (kept, _faults_as_data),
        ):
            try:
                found = look(scene)
            except Exception as error:
                found = one_line(error)
            if found:
                faults.append(f"{split} seed {seed}: {found}")
    for run in runs:
        for seed in run.scenes:
            if found := _fault_in_simulation(run, seed):
                realized.append(f"{run.split} seed {seed}: {found}")
        try:
            found = _fault_in_batch(task, list(run.scenes.values()))
        except Exception as error:
            found = one_line(error)
        if found:
            kept.append(f"{run.split}: {found}")
    types = {leaf.name for scene in scenes.values() for leaf in scene.goal.leaves()}
    unknown = sorted(types - set(predicate_types()))
    kept += [f"{name} is unknown" for name in unknown]
    yield _check(
        "realize",
        MUST,
        realized,
        "realized, the goal holds, with full progress and reward",
        "realize(): put the bodies where evaluate() holds, at rest and let go; reward and progress "
        "come from self.outcome(holds, shaping)",
    )
    yield _check(
        "perturb",
        MUST,
        perturbed,
        f"taken away by {AWAY_M} m, each leaf ceases to hold",
        "evaluate(): compare with a tolerance; progress is 1 exactly where it holds",
    )
    yield _check(
        "as data",
        MUST,
        kept,
        "goals go to JSON and back, and hold in batches as alone",
        "fields of predicates are tensors (B, ...), children or tables; evaluate() computes on "
        "tensors, with no Python branch on one environment",
    )


def _realized(goal: Any, world: Any) -> Any:
    """Realize the parts of a goal one after the other; returns the outcome."""
    outcome = goal.evaluate(world, goal.initial_state(world))
    for step in goal.steps():
        step.realize(world)
        outcome = goal.evaluate(world, outcome.state)
    return outcome


def _faults_realized(scene: Any) -> str:
    from clevrskills.sim.tensor_world import TensorWorld

    world = TensorWorld.snapshot(scene.start)
    outcome = _realized(scene.goal, world)
    again = scene.goal.evaluate(world, outcome.state)
    if not bool(outcome.holds):
        return "realized, the goal does not hold"
    if float(outcome.progress) != 1.0 or float(outcome.reward) != float(scene.goal.max_reward):
        return f"it holds with progress {float(outcome.progress):g}, reward {outcome.reward}"
    if not bool(again.holds):
        return "looked at again, it does not hold"
    return ""


def _faults_perturbed(scene: Any) -> str:
    """Once all is realized, each leaf that remembers nothing ceases to hold when something is taken
    away.
    """
    from clevrskills.core.goal.tree import nodes
    from clevrskills.sim.tensor_world import TensorWorld

    world = TensorWorld.snapshot(scene.start)
    _realized(scene.goal, world)
    for node in nodes(scene.goal):
        leaf = node.predicate
        if node.leaf is None or not node.active or leaf.initial_state(world):
            continue
        if not bool(leaf.evaluate(world, {}).holds):
            continue  # of an order, which is behind
        ceased = False
        for moved in _taken_away(world, scene.solids.present[0].nonzero()[:, 0].tolist()):
            outcome = leaf.evaluate(moved, {})
            progress, holds = float(outcome.progress), bool(outcome.holds)
            if (progress == 1.0) != holds or not 0.0 <= progress <= 1.0:
                return f"{leaf.name}: progress is {progress:g} where holds is {holds}"
            ceased |= not holds
        if not ceased:
            return f"{leaf.name} holds wherever things are"
    return ""


def _taken_away(world: Any, slots: Sequence[int]) -> Iterator[Any]:
    """Copies of a world in which a body, or the gripper, is somewhere else."""
    import torch

    from clevrskills.sim.tensor_world import TensorWorld

    for slot in (*slots, None):
        for direction in ((1, 0, 0), (0, 1, 0), (-1, 0, 0), (0, -1, 0), (0, 0, 1)):
            moved = TensorWorld(
                world.keys, world.solids, world.body_pose, world.end_effector_pose, world.cup_tips
            )
            shift = AWAY_M * torch.tensor([[*direction, 0.0, 0.0, 0.0, 0.0]])
            if slot is None:
                moved.set_end_effector_pose(moved.end_effector_pose + shift)
            else:
                body = torch.tensor([slot])
                moved.set_body_pose(body, moved.pose(body) + shift)
            yield moved


def _faults_as_data(scene: Any) -> str:
    import torch

    from clevrskills.predicates import from_json
    from clevrskills.sim.tensor_world import TensorWorld

    goal, world = scene.goal, TensorWorld.snapshot(scene.start)
    outcome = _realized(goal, world)
    copy = from_json(json.loads(json.dumps(goal.to_json())))
    for place, state in ((scene.start, goal.initial_state(scene.start)), (world, outcome.state)):
        theirs, ours = copy.evaluate(place, state), goal.evaluate(place, state)
        if not torch.allclose(theirs.progress, ours.progress):
            return "read from JSON, it says something else"
    return ""


def _fault_in_batch(task: Task, scenes: Sequence[Any]) -> str:
    """Where a goal of several environments says something else than each alone."""
    import torch

    from clevrskills.sim.body_geometry import Solids
    from clevrskills.sim.tensor_world import TensorWorld
    from clevrskills.tasks import stack_roles

    alone, worlds = [], []
    for scene in scenes:
        worlds.append(TensorWorld.snapshot(scene.start))
        alone.append(float(_realized(scene.goal, worlds[-1]).progress))
    goal = task.goal(stack_roles([scene.layout for scene in scenes]))
    starts = [scene.start for scene in scenes]
    together = TensorWorld(
        task.slots,
        Solids.stack([scene.solids for scene in scenes]),
        torch.cat([world.body_pose for world in starts]),
        torch.cat([world.end_effector_pose for world in starts]),
        starts[0].cup_tips,
    )
    together._held = torch.cat([world.held for world in starts])
    outcome = _realized(goal, together)
    if not torch.allclose(outcome.progress, torch.tensor(alone), atol=1e-5):
        return f"alone progress is {alone}, together {outcome.progress.tolist()}"
    return ""


def _fault_in_simulation(run: _Run, seed: int) -> str:
    """Why a goal that remembers nothing does not hold by itself once it is realized."""
    from clevrskills.core.rollout import Rollout
    from clevrskills.sim.robots.delta_action import DELTA

    try:
        run.env.reset(seed=seed)
        if run.env.goal_state:
            return ""
        _realized(run.env.goal, run.env.world)
        action = DELTA.none()
        action[-1] = 1.0 if int(run.env.world.held[0]) >= 0 else -1.0
        rollout = Rollout(run.env, limit=STILL_STEPS, stop_on_success=False)
        rollout.run(lambda: action)
    except Exception as error:
        return one_line(error)
    return "" if rollout.success else f"after {STILL_STEPS} control steps it has ceased to hold"


def digest(key: str, split: str, robot: str, seeds: Sequence[int], defined_in: str = "") -> str:
    """Hash of episodes as they are drawn and of the first as the oracle solves it."""
    import hashlib

    from clevrskills.core.env_config import EnvConfig
    from clevrskills.envs.environment import make_env
    from clevrskills.envs.episode import EpisodeSpec
    from clevrskills.evaluation.freeze.screening import solve
    from clevrskills.solvers.oracle import Oracle

    if defined_in:
        keys_in(defined_in)
    drawn = [EpisodeSpec.draw(key, split, seed, robot=robot).content_hash for seed in seeds]
    env = make_env(EnvConfig(key, split, robot, cameras=()))
    env.reset(seed=seeds[0])
    steps, _ = solve(env, Oracle(env))
    state = env.get_state().numpy().tobytes()
    env.close()
    return hashlib.sha256(repr((drawn, steps)).encode() + state).hexdigest()


def _check_determinism(run: _Run, defined_in: str) -> Check:
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    config = run.config
    asked = (config.task, config.split, config.robot, list(run.scenes) or [0], defined_in)
    try:
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            there = pool.submit(digest, *asked)
            here = digest(*asked)
            same = here == digest(*asked), here == there.result()
    except Exception as error:
        same = (False, False)
        found = one_line(error)
    else:
        found = "" if all(same) else f"differs in {'another' if same[0] else 'the same'} process"
    good = "the same episodes and actions again, and in another process"
    mend = (
        "draw from draw.places, draw.shapes, draw.textures and draw.roles only; never go through a "
        "set, and use no global generator"
    )
    return _check("determinism", MUST, [found] if found else [], good, mend)


def _check_words(task: Task, runs: Sequence[_Run]) -> Iterator[Check]:
    faults, few = [], []
    for run in runs:
        for seed, scene in run.scenes.items():
            where = f"{run.split} seed {seed}"
            texts = list(task.prompts(scene.layout))
            said = [leaf.describe(scene.start) for leaf in scene.goal.leaves()]
            for text in (*texts, *said):
                if not text.strip() or text != " ".join(text.split()) or text[0].islower():
                    faults.append(f"{where}: {text!r}")
            if len(set(texts)) < len(texts):
                faults.append(f"{where}: the same wording twice")
            if sum("{ks:" not in text for text in texts) < 2:
                few.append(where)
    mend = "prompts() and says(): sentences with a capital, single blanks, each wording once"
    yield _check("wordings", SHOULD, faults, "prompts and sub-tasks are sentences", mend)
    yield _check(
        "variety",
        SHOULD,
        [f"fewer than two wordings without key-steps: {few[0]}"] if few else [],
        "several wordings that need no key-step images",
        "prompts(): say it in more ways; at least two without {ks:...}",
    )


def _check_legible(runs: Sequence[_Run]) -> Check:
    """Whether one can see and tell apart what there is, and grasp it."""
    from clevrskills.assets import sealable_places, shape_names

    faults: list[str] = []
    for run in runs:
        for seed, scene in run.scenes.items():
            bodies = [body for body in scene.layout.bodies if body and body.movable]
            names = [body.name for body in bodies]
            if len(set(names)) < len(names):
                twice = next(name for name in names if names.count(name) > 1)
                faults.append(f"{run.split} seed {seed}: two bodies are a {twice}")
            for body in bodies:
                form = body.geometry
                if 2 * max(form.half_extents) < NARROW_M:
                    faults.append(f"{run.split} seed {seed}: {body.name} is too small to be seen")
                if body.shape not in shape_names() and not len(sealable_places(form)):
                    faults.append(f"{body.shape} has no flat place on top for a suction cup")
    return _check(
        "legibility",
        SHOULD,
        list(dict.fromkeys(faults)),
        "bodies can be seen and told apart",
        "layout(): draw.choose gives different shapes and textures; a qualifier tells sizes apart",
    )


def _check_pace(task: Task, runs: Sequence[_Run]) -> Iterator[Check]:
    import numpy as np

    longest = max((steps for run in runs for steps in run.steps), default=0)
    tight = task.max_steps < ROOM * longest
    yield _check(
        "step limit",
        SHOULD,
        [f"{task.max_steps}, and the oracle needs up to {longest}"] if tight else [],
        f"{task.max_steps}, the oracle needs up to {longest}",
        f"max_steps: at least {ROOM:g} times the oracle's longest episode",
    )
    rising = [value for run in runs for value in run.rising]
    middle = float(np.median(rising)) if rising else 0.0
    yield _check(
        "reward",
        SHOULD,
        [] if middle >= RISING else [f"rank correlation of progress and time {middle:.2f}"],
        f"progress rises while the oracle acts (rank correlation {middle:.2f})",
        "evaluate(): let the shaping grow with each stage: reach, hold, carry, put down",
    )


def _check_frozen(key: str) -> Check:
    from clevrskills.suites.clevrskills.suite import SPLITS, ClevrSkillsSuite

    missing = []
    for split in SPLITS:
        try:
            ClevrSkillsSuite().header(key, split)
        except ClevrSkillsError:
            missing.append(split)
    return _check(
        "frozen",
        SHOULD,
        [f"no frozen episodes of the split {split}" for split in missing],
        "episodes to evaluate on are frozen",
        f"clevrskills freeze {key} --package DIR, DIR being the folder of its distribution",
    )
