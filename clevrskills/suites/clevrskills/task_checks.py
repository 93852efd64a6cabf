"""Checks of a task: what must hold of its episodes, what should, and the mend of each."""

import hashlib
import importlib
import importlib.util
import json
import pkgutil
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.stats import spearmanr

from clevrskills.assets import sealable_places, shape_names
from clevrskills.core.env_config import EnvConfig
from clevrskills.core.goal.tree import nodes
from clevrskills.core.registry import is_own
from clevrskills.core.rollout import Rollout
from clevrskills.envs.environment import ClevrSkillsEnv, make_env
from clevrskills.envs.episode import EpisodeSpec
from clevrskills.envs.scene_sampling import draw_scene
from clevrskills.errors import ClevrSkillsError, UnknownNameError, errors_in, one_line
from clevrskills.evaluation.freeze.screening import solve, succeeds_blindly
from clevrskills.predicates import Outcome, Predicate, from_json, predicate_types
from clevrskills.sim.body_geometry import Solids
from clevrskills.sim.robots.delta_action import DELTA
from clevrskills.sim.tensor_world import TensorWorld
from clevrskills.solvers.oracle import Oracle
from clevrskills.suites.clevrskills.faults import TaskFault, unfair
from clevrskills.suites.clevrskills.suite import SPLITS, ClevrSkillsSuite
from clevrskills.suites.clevrskills.wording_checks import HELD_OUT, SEEN, wording_faults
from clevrskills.tasks import LEVELS, Task, stack_roles, task, tasks

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
"""Distance by which a body or the gripper is moved away so that a predicate ceases to hold."""
NARROW_M = 0.015
"""Bodies that are narrower than this are five pixels wide for the base camera."""
SHOWN = 3
"""Faults that a check shows."""
_LESS_LUCK = "layout(): start further from the goal, or ask for more in goal()"
CHECKS = {
    "declared": (
        MUST,
        "set level, sentence (begins with a capital), predicates, slots (different identifiers) and"
        " max_steps of the class",
    ),
    "starts": (
        MUST,
        "layout(): place bodies with Table.place or pose_on_table, raise LayoutError where a draw "
        "does not fit, and keep the goal open: realize() must reach it and the start must not",
    ),
    "oracle": (
        MUST,
        "no skill: write one with @solves(Predicate) and add its package to the entry points of "
        "clevrskills.skills; step limit: raise max_steps or shorten the skill; else let layout() "
        "leave room for the arm",
    ),
    "zero": (MUST, _LESS_LUCK),
    "random": (MUST, _LESS_LUCK),
    "realize": (
        MUST,
        "realize(): put the bodies where evaluate() holds, at rest and let go, or in the gripper, "
        "which must be there: hold() does not move the arm, Picked.realize() and "
        "set_end_effector_pose() do; reward and progress come from self.outcome(holds, shaping)",
    ),
    "perturb": (MUST, "evaluate(): compare with a tolerance; progress is 1 exactly where it holds"),
    "as data": (
        MUST,
        "fields of predicates are tensors (B, ...), children or tables; evaluate() computes on "
        "tensors, with no Python branch on one environment",
    ),
    "determinism": (
        MUST,
        "draw from rng.places, rng.shapes, rng.textures and rng.roles only; never go through a "
        "set, and use no global generator",
    ),
    "wordings": (
        SHOULD,
        "prompts() and describe(): sentences with a capital, single blanks, each wording once; "
        "with a bank, a full stop too, and phrases that fit no other body of the scene",
    ),
    "variety": (SHOULD, "prompts(): say it in more ways; at least two without {ks:...}"),
    "legibility": (
        SHOULD,
        "layout(): rng.choose gives different shapes and textures; a qualifier tells sizes apart",
    ),
    "step limit": (SHOULD, f"max_steps: at least {ROOM:g} times the oracle's longest episode"),
    "reward": (
        SHOULD,
        "evaluate(): let the shaping grow with each stage: reach, hold, carry, put down",
    ),
    "frozen": (
        SHOULD,
        "clevrskills freeze {key} --package DIR, DIR being the folder of its distribution",
    ),
}
"""Grade of each check, and what to do where it did not pass."""
OF_SCENES = tuple(CHECKS)[2:]
"""Checks that are not run where there is no scene."""


@dataclass(frozen=True)
class TaskCheck:
    """Result of one check."""

    name: str
    grade: str  # `must` or `should`
    ok: bool | None  # whether it passed; `None`: it was not run
    found: str
    mend: str  # what to do where it did not pass


@dataclass
class CheckRun:
    """The episodes of a task in a split, and what came of them."""

    config: EnvConfig  # what their environment is made from
    seeds: Sequence[int]
    scenes: dict[int, Any] = field(default_factory=dict)  # the scene of each seed that has one
    errors: dict[int, TaskFault] = field(default_factory=dict)  # why the others have none, by seed
    # control steps of the episodes that the oracle solved
    steps: list[int] = field(default_factory=list)
    # rank correlation of progress and time of each
    rising: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        made = task(self.config.task)
        for seed in self.seeds:
            try:
                self.scenes[seed] = draw_scene(made, seed, self.config.split, self.config.robot)
            except Exception as error:
                self.errors[seed] = TaskFault.of(error, made.package)
                if isinstance(error, ClevrSkillsError) and len(self.errors) == 1:
                    why = unfair(made, seed, self.config.split, self.config.robot)
                    self.errors[seed] = why or self.errors[seed]

    @cached_property
    def package(self) -> str:
        """Name of the package that the task is of."""
        return task(self.config.task).package

    @cached_property
    def env(self) -> ClevrSkillsEnv:
        """The environment."""
        return make_env(self.config)

    def reset(self, seed: int) -> ClevrSkillsEnv:
        """Return the environment at the start of an episode."""
        self.env.reset(seed=seed)
        return self.env


def keys_in(name: str) -> list[str]:
    """Return keys of the tasks that a name stands for: a task, or a module or file, which is
    imported.

    Raises:
        ClevrSkillsError: There are none, or the module cannot be imported.
    """
    known = tasks()
    if name in known:
        return [name]
    installed = [key for key, kind in known.items() if name.endswith(".py") and _is_at(kind, name)]
    if installed:
        return installed
    module = Path(name).stem if name.endswith(".py") else name
    with errors_in(f"{name} cannot be imported"):
        if module != name:
            spec = importlib.util.spec_from_file_location(module, name)
            assert spec is not None and spec.loader is not None
            sys.modules[module] = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(sys.modules[module])
        else:
            if "" not in sys.path:
                sys.path.insert(0, "")
            try:
                _import_all(module)
            except ModuleNotFoundError as error:
                if error.name and f"{module}.".startswith(f"{error.name}."):
                    raise UnknownNameError("task or module", name, tuple(known)) from None
                raise
    inside = f"{module}."
    found = [key for key, kind in tasks().items() if f"{kind.__module__}.".startswith(inside)]
    if not found:
        raise ClevrSkillsError(f"{name} defines no task; a task is a class with a key")
    return found


def _is_at(kind: type[Task], name: str) -> bool:
    """Return whether a class of tasks is defined in a file."""
    file = getattr(sys.modules.get(kind.__module__), "__file__", None)
    return file is not None and Path(file).resolve() == Path(name).resolve()


def _import_all(name: str) -> None:
    """Import a module or all modules of a package."""
    package = importlib.import_module(name)
    for module in pkgutil.walk_packages(getattr(package, "__path__", ()), f"{name}."):
        if not module.name.rpartition(".")[2].startswith("_"):
            importlib.import_module(module.name)


def run_checks(
    key: str, seeds: Sequence[int] = range(5), robot: str = "xarm6", defined_in: str = ""
) -> Iterator[TaskCheck]:
    """Check a task.

    Args:
        key: Its key.
        seeds: Seeds of the episodes of each split.
        robot: Name of the robot.
        defined_in: Module or file that defines it, if it is found by no entry point.

    Raises:
        ClevrSkillsError: There is no such task or robot.
    """
    made = task(key)
    if robot not in made.all_robots:
        raise UnknownNameError(f"robot for {key}", robot, made.all_robots)
    runs = [CheckRun(EnvConfig(key, split, robot), seeds) for split in SPLITS]
    yield _declared(made)
    yield _starts(runs)
    if any(run.scenes for run in runs):
        yield _oracle(runs)
        yield from (_zero(runs), _random(runs))
        yield from (_realize(runs), _perturb(runs), _as_data(made, runs))
        yield _determinism(runs[0], defined_in)
        yield from (_wordings(made, runs), _variety(made, runs), _legibility(runs))
        yield from (_step_limit(made, runs), _reward(runs), _frozen(key))
    else:
        for name in OF_SCENES:
            yield TaskCheck(name, CHECKS[name][0], None, "not run: there is no scene", "")
    for run in runs:
        if "env" in vars(run):
            run.env.close()


def _check(name: str, faults: Sequence[str], good: str, mend: str = "") -> TaskCheck:
    """Return a check that passed if it found no faults; the first ones are shown. What a fault says
    of its mend comes first, then what is given, then what :data:`CHECKS` says.
    """
    more = f"; {len(faults) - SHOWN} more" if len(faults) > SHOWN else ""
    grade, usual = CHECKS[name]
    mends = [fault.mend for fault in faults if isinstance(fault, TaskFault)]
    mend = next(filter(None, (*mends, mend, usual)))
    return TaskCheck(name, grade, not faults, "; ".join(faults[:SHOWN]) + more or good, mend)


def _each(runs: Sequence[CheckRun], look: Callable[[CheckRun, int], str]) -> list[TaskFault]:
    """Return the faults of episodes, exceptions too, with their splits and seeds."""
    faults = []
    for run in runs:
        for seed in run.scenes:
            try:
                found = TaskFault(look(run, seed))
            except Exception as error:
                found = TaskFault.of(error, run.package)
            if found:
                faults.append(_at(run, seed, found))
    return faults


def _at(run: CheckRun, seed: int, fault: TaskFault) -> TaskFault:
    return TaskFault(f"{run.config.split} seed {seed}: {fault}", fault.mend)


def _declared(made: Task) -> TaskCheck:
    good_slots = len(set(made.slots)) == len(made.slots) and all(map(str.isidentifier, made.slots))
    allowed = {
        f"level {made.level!r}": made.level in LEVELS,
        f"sentence {made.sentence!r}": made.sentence[:1].isupper(),
        f"slots {made.slots}": good_slots,
        f"max_steps {made.max_steps}": made.max_steps >= 1,
        "predicates are not listed": bool(made.predicates),
    }
    faults = [fault for fault, is_so in allowed.items() if not is_so]
    try:
        json.dumps(made.describe())
    except Exception as error:
        faults.append(f"describe(): {one_line(error)}")
    return _check("declared", faults, made.sentence)


def _starts(runs: Sequence[CheckRun]) -> TaskCheck:
    def look(run: CheckRun, seed: int) -> str:
        starts = run.reset(seed).faults()
        return ", ".join(name for name, is_so in starts.items() if is_so)

    faults = [_at(run, seed, error) for run in runs for seed, error in run.errors.items()]
    good = f"{sum(len(run.scenes) for run in runs)} starts without a fault"
    return _check("starts", [*faults, *_each(runs, look)], good)


class _WatchedOracle(Oracle):
    """The oracle; notes the progress at each of its actions."""

    def __init__(self, env: ClevrSkillsEnv) -> None:
        super().__init__(env)
        self.progress: list[float] = []

    def act(self) -> np.ndarray:
        self.progress.append(float(self.env.outcome.progress[0]))
        return super().act()


def _oracle(runs: Sequence[CheckRun]) -> TaskCheck:
    def look(run: CheckRun, seed: int) -> str:
        oracle = _WatchedOracle(run.reset(seed))
        steps, reason = solve(run.env, oracle)
        if not reason:
            progress = oracle.progress
            flat = len(set(progress)) < 2
            order = 1.0 if flat else spearmanr(np.arange(len(progress)), progress).statistic
            run.steps.append(steps)
            run.rising.append(float(order))
        return reason

    faults: list[TaskFault] = []
    counts = []
    for run in runs:
        failures = _each([run], look)
        solved, of, split = len(run.steps), len(run.scenes), run.config.split
        counts.append(f"{split} {solved}/{of}")
        if solved < SOLVED * of:
            mend = next((failure.mend for failure in failures if failure.mend), "")
            text = f"{split}: {solved} of {of} solved ({', '.join(failures[:2])})"
            faults.append(TaskFault(text, mend))
    return _check("oracle", faults, f"solves {', '.join(counts)}")


def _zero(runs: Sequence[CheckRun]) -> TaskCheck:
    def look(run: CheckRun, seed: int) -> str:
        solved = succeeds_blindly(run.reset(seed), DELTA.none, steady=True)
        return "is solved" if solved else ""

    return _check("zero", _each(runs, look), "doing nothing solves none")


def _random(runs: Sequence[CheckRun]) -> TaskCheck:
    def look(run: CheckRun, seed: int) -> str:
        generator = np.random.default_rng((seed, 2))
        solved = succeeds_blindly(run.reset(seed), lambda: DELTA.random(generator))
        return "is solved" if solved else ""

    solved, count = len(_each(runs, look)), sum(len(run.scenes) for run in runs)
    found = f"random actions solve {solved} of {count}"
    return TaskCheck("random", MUST, solved <= LUCKY * count, found, _LESS_LUCK)


def _realized(goal: Predicate, world: Any) -> Outcome:
    """Realize the parts of a goal one after the other; returns the outcome."""
    outcome = goal.evaluate(world, goal.initial_state(world))
    for step in goal.steps():
        step.realize(world)
        outcome = goal.evaluate(world, outcome.state)
    return outcome


def _realize(runs: Sequence[CheckRun]) -> TaskCheck:
    """Check that a goal holds once realized: in a world of tensors, and in simulation by itself."""

    def look(run: CheckRun, seed: int) -> str:
        goal, world = run.scenes[seed].goal, TensorWorld.snapshot(run.scenes[seed].start)
        outcome = _realized(goal, world)
        if not bool(outcome.holds):
            return "realized, the goal does not hold"
        if float(outcome.progress) != 1.0 or float(outcome.reward) != float(goal.max_reward):
            return f"it holds with progress {float(outcome.progress):g}, reward {outcome.reward}"
        if not bool(goal.evaluate(world, outcome.state).holds):
            return "looked at again, it does not hold"
        return ""

    def simulate(run: CheckRun, seed: int) -> str:
        env = run.reset(seed)
        if env.goal_state:
            return ""
        _realized(env.goal, env.world)
        action = DELTA.none()
        action[-1] = 1.0 if int(env.world.held[0]) >= 0 else -1.0
        rollout = Rollout(env, limit=STILL_STEPS, stop_on_success=False)
        rollout.run(lambda: action)
        return "" if rollout.success else f"after {STILL_STEPS} control steps it has ceased to hold"

    faults = [*_each(runs, look), *_each(runs, simulate)]
    return _check("realize", faults, "realized, the goal holds, with full progress and reward")


def _perturb(runs: Sequence[CheckRun]) -> TaskCheck:
    """Check that, once all is realized, each leaf that remembers nothing ceases to hold when
    something is taken away.
    """

    def look(run: CheckRun, seed: int) -> str:
        scene, world = run.scenes[seed], TensorWorld.snapshot(run.scenes[seed].start)
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

    good = f"taken away by {AWAY_M} m, each leaf ceases to hold"
    return _check("perturb", _each(runs, look), good)


def _taken_away(world: TensorWorld, slots: Sequence[int]) -> Iterator[TensorWorld]:
    """Yield copies of a world in which a body, or the gripper, is somewhere else."""
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


def _as_data(made: Task, runs: Sequence[CheckRun]) -> TaskCheck:
    """Check that goals go to JSON and back, and give in batches what they give alone."""

    def look(run: CheckRun, seed: int) -> str:
        goal, start = run.scenes[seed].goal, run.scenes[seed].start
        world = TensorWorld.snapshot(start)
        outcome = _realized(goal, world)
        copy = from_json(json.loads(json.dumps(goal.to_json())), predicate_types())
        for place, state in ((start, goal.initial_state(start)), (world, outcome.state)):
            theirs, ours = copy.evaluate(place, state), goal.evaluate(place, state)
            if not torch.allclose(theirs.progress, ours.progress):
                return "read from JSON, it says something else"
        return ""

    faults = _each(runs, look)
    for run in runs:
        try:
            found = TaskFault(_fault_in_batch(made, list(run.scenes.values())))
        except Exception as error:
            found = TaskFault.of(error, made.package)
        faults += [TaskFault(f"{run.config.split}: {found}", found.mend)] if found else []
    leaves = {leaf.name for run in runs for s in run.scenes.values() for leaf in s.goal.leaves()}
    faults += [TaskFault(f"{name} is unknown") for name in sorted(leaves - set(predicate_types()))]
    return _check("as data", faults, "goals go to JSON and back, and hold in batches as alone")


def _fault_in_batch(made: Task, scenes: Sequence[Any]) -> str:
    """Return where a goal of several environments says something else than each alone."""
    worlds = [TensorWorld.snapshot(scene.start) for scene in scenes]
    pairs = zip(scenes, worlds, strict=True)
    alone = [float(_realized(scene.goal, world).progress) for scene, world in pairs]
    goal = made.goal(stack_roles([scene.layout for scene in scenes]))
    starts = [scene.start for scene in scenes]
    together = TensorWorld(
        made.slots,
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


def digest(config: EnvConfig, seeds: Sequence[int], defined_in: str = "") -> str:
    """Return the hash of episodes as they are drawn and of the first as the oracle solves it."""
    if defined_in:
        keys_in(defined_in)
    key, split, robot = config.task, config.split, config.robot
    drawn = [EpisodeSpec.draw(key, split, seed, robot=robot).content_hash for seed in seeds]
    env = make_env(config)
    env.reset(seed=seeds[0])
    steps, _ = solve(env, Oracle(env))
    state = env.get_state().numpy().tobytes()
    env.close()
    return hashlib.sha256(repr((drawn, steps)).encode() + state).hexdigest()


def _determinism(run: CheckRun, defined_in: str) -> TaskCheck:
    episodes = (run.config, list(run.scenes) or [0], defined_in)
    try:
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            elsewhere = pool.submit(digest, *episodes)
            first = digest(*episodes)
            again, other = first == digest(*episodes), first == elsewhere.result()
        fault = (
            "" if again and other else f"differs in {'another' if again else 'the same'} process"
        )
    except Exception as error:
        fault = one_line(error)
    good = "the same episodes and actions again, and in another process"
    return _check("determinism", [fault] if fault else [], good)


def _wordings(made: Task, runs: Sequence[CheckRun]) -> TaskCheck:
    def look(run: CheckRun, seed: int) -> str:
        scene = run.scenes[seed]
        prompts = list(made.prompts(scene.layout))
        for text in (*prompts, *(leaf.describe(scene.start) for leaf in scene.goal.leaves())):
            if not text.strip() or text != " ".join(text.split()) or text[0].islower():
                return repr(text)
        if made.bank is not None:
            return next(wording_faults(made, scene.layout), "")
        return "the same wording twice" if len(set(prompts)) < len(prompts) else ""

    good = "prompts and sub-tasks are sentences"
    return _check("wordings", _each(runs, look), good)


def _variety(made: Task, runs: Sequence[CheckRun]) -> TaskCheck:
    """Check the wordings: a bank in this package, elsewhere two that need no image."""
    if is_own(type(made)):
        count = made.count_wordings()
        few = count["seen"] < SEEN or count["held_out"] < HELD_OUT
        found = f"{count['seen']} wordings, {count['held_out']} more that are held out"
        mend = f"bank: at least {SEEN} sentences, and {HELD_OUT} more that are held out"
        return _check("variety", [found] if few else [], found, mend)

    def look(run: CheckRun, seed: int) -> str:
        texts = made.prompts(run.scenes[seed].layout)
        few = sum("{ks:" not in text for text in texts) < 2
        return "fewer than two wordings without key-steps" if few else ""

    good = "several wordings that need no key-step images"
    return _check("variety", _each(runs, look)[:1], good)


def _legibility(runs: Sequence[CheckRun]) -> TaskCheck:
    """Return whether one can see and tell apart what there is, and grasp it."""

    def look(run: CheckRun, seed: int) -> str:
        bodies = [body for body in run.scenes[seed].layout.bodies if body and body.movable]
        names = [body.name for body in bodies]
        faults = [f"two bodies are a {n}" for n in dict.fromkeys(names) if names.count(n) > 1]
        for body in bodies:
            if 2 * max(body.geometry.half_extents) < NARROW_M:
                faults.append(f"{body.name} is too small to be seen")
            if body.shape not in shape_names() and not len(sealable_places(body.geometry)):
                faults.append(f"{body.shape} has no flat place on top for a suction cup")
        return ", ".join(faults)

    good = "bodies can be seen and told apart"
    return _check("legibility", _each(runs, look), good)


def _step_limit(made: Task, runs: Sequence[CheckRun]) -> TaskCheck:
    longest = max((steps for run in runs for steps in run.steps), default=0)
    faults = [f"{made.max_steps}, and the oracle needs up to {longest}"]
    good = f"{made.max_steps}, the oracle needs up to {longest}"
    tight = made.max_steps < ROOM * longest
    return _check("step limit", faults if tight else [], good)


def _reward(runs: Sequence[CheckRun]) -> TaskCheck:
    rising = [value for run in runs for value in run.rising]
    middle = float(np.median(rising)) if rising else 0.0
    good = f"progress rises while the oracle acts (rank correlation {middle:.2f})"
    faults = [] if middle >= RISING else [f"rank correlation of progress and time {middle:.2f}"]
    return _check("reward", faults, good)


def _frozen(key: str) -> TaskCheck:
    missing = []
    for split in SPLITS:
        try:
            ClevrSkillsSuite().frozen(key, split)
        except ClevrSkillsError:
            missing.append(f"no frozen episodes of the split {split}")
    good = "episodes to evaluate on are frozen"
    return _check("frozen", missing, good, CHECKS["frozen"][1].format(key=key))
