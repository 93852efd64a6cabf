"""Required and recommended checks of a task, with fixes for failures."""

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
"""Least success rate of the oracle, and greatest success rate of a random policy."""
ROOM = 1.5
"""Least step limit as a multiple of the oracle's longest episode."""
RISING = 0.5
"""Least rank correlation of progress with time in oracle episodes."""
STILL_STEPS = 25
"""Control steps for which a realized goal must hold without actions."""
AWAY_M = 0.15
"""Distance by which a body or the gripper is moved so that a predicate no longer holds."""
NARROW_M = 0.015
"""Width of a body that is five pixels in the base camera."""
SHOWN = 3
"""Number of faults shown by a check."""
_LESS_LUCK = "layout(): start further from the goal; or goal(): require more"
CHECKS = {
    "declared": (
        MUST,
        "set level, sentence (capitalized), predicates, slots (different identifiers) and max_steps"
        " of the class",
    ),
    "starts": (
        MUST,
        "layout(): place bodies with TableLayout.place or pose_on_table, raise LayoutError if they "
        "do not fit; the goal must not hold at the start, realize() must reach it",
    ),
    "oracle": (
        MUST,
        "no skill: write one with @solves(Predicate) and add its package to the entry points "
        "clevrskills.skills; step limit: raise max_steps or shorten the skill; otherwise leave "
        "room for the arm in layout()",
    ),
    "zero": (MUST, _LESS_LUCK),
    "random": (MUST, _LESS_LUCK),
    "realize": (
        MUST,
        "realize(): put the bodies where evaluate() holds, at rest and released, or held; "
        "hold() does not move the arm, Picked.realize() and set_end_effector_pose() do; return "
        "self.outcome(holds, shaping) for reward and progress",
    ),
    "perturb": (MUST, "evaluate(): compare with a tolerance; progress is 1 exactly where it holds"),
    "as data": (
        MUST,
        "fields of predicates are tensors (B, ...), children or tables; evaluate() computes on "
        "tensors, with no Python branch on one environment",
    ),
    "determinism": (
        MUST,
        "sample from rng.places, rng.shapes, rng.textures and rng.roles only; do not iterate over "
        "sets or use global generators",
    ),
    "wordings": (
        SHOULD,
        "prompts() and describe(): capitalized sentences, single blanks, no repeated wording; with "
        "a bank, a full stop, and phrases that fit no other body of the scene",
    ),
    "variety": (SHOULD, "prompts(): more wordings; at least two without {ks:...}"),
    "legibility": (
        SHOULD,
        "layout(): rng.choose gives different shapes and textures; a qualifier distinguishes sizes",
    ),
    "step limit": (SHOULD, f"max_steps: at least {ROOM:g} times the oracle's longest episode"),
    "reward": (
        SHOULD,
        "evaluate(): increase the shaping with each stage: reach, hold, carry, put down",
    ),
    "frozen": (
        SHOULD,
        "clevrskills freeze {key} --package DIR with the folder of its distribution",
    ),
}
"""Grade of each check, and how to fix failures."""
OF_SCENES = tuple(CHECKS)[2:]
"""Checks that need a scene."""


@dataclass(frozen=True)
class TaskCheck:
    """Result of a check."""

    name: str
    grade: str  # `must` or `should`
    ok: bool | None  # whether it passed; `None` if it was not run
    found: str
    mend: str  # how to fix a failure


@dataclass
class CheckRun:
    """Episodes of a task in a split, with their results."""

    config: EnvConfig  # configuration of the environment
    seeds: Sequence[int]
    scenes: dict[int, Any] = field(default_factory=dict)  # scenes by seed
    errors: dict[int, TaskFault] = field(default_factory=dict)  # faults of seeds without a scene
    steps: list[int] = field(default_factory=list)  # control steps of solved oracle episodes
    rising: list[float] = field(default_factory=list)  # rank correlation of their progress and time

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
        """Name of the package of the task."""
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
    """Return the keys of a task, or of the tasks in a module or file, which is imported.

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
    """Return whether a task is defined in a file."""
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
    """Run the checks of a task, see :func:`~clevrskills.suites.clevrskills.check_task.report`."""
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
            yield TaskCheck(name, CHECKS[name][0], None, "not run without a scene", "")
    for run in runs:
        if "env" in vars(run):
            run.env.close()


def _check(name: str, faults: Sequence[str], good: str, mend: str = "") -> TaskCheck:
    """Return the result of a check with its first faults. The fix is that of a fault, else the one
    given, else that of :data:`CHECKS`.
    """
    more = f"; {len(faults) - SHOWN} more" if len(faults) > SHOWN else ""
    grade, usual = CHECKS[name]
    mends = [fault.mend for fault in faults if isinstance(fault, TaskFault)]
    mend = next(filter(None, (*mends, mend, usual)))
    return TaskCheck(name, grade, not faults, "; ".join(faults[:SHOWN]) + more or good, mend)


def _each(runs: Sequence[CheckRun], look: Callable[[CheckRun, int], str]) -> list[TaskFault]:
    """Return the faults and exceptions of episodes, with their splits and seeds."""
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
        "no predicates": bool(made.predicates),
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
    """Oracle that records the progress at each action."""

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
    """Realize the steps of a goal in order and return the outcome."""
    outcome = goal.evaluate(world, goal.initial_state(world))
    for step in goal.steps():
        step.realize(world)
        outcome = goal.evaluate(world, outcome.state)
    return outcome


def _realize(runs: Sequence[CheckRun]) -> TaskCheck:
    """Check that a realized goal holds, in a world of tensors and for a while in simulation."""

    def look(run: CheckRun, seed: int) -> str:
        goal, world = run.scenes[seed].goal, TensorWorld.snapshot(run.scenes[seed].start)
        outcome = _realized(goal, world)
        if not bool(outcome.holds):
            return "the realized goal does not hold"
        if float(outcome.progress) != 1.0 or float(outcome.reward) != float(goal.max_reward):
            return f"it holds with progress {float(outcome.progress):g}, reward {outcome.reward}"
        if not bool(goal.evaluate(world, outcome.state).holds):
            return "evaluated again, it does not hold"
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
        return "" if rollout.success else f"it no longer holds after {STILL_STEPS} control steps"

    faults = [*_each(runs, look), *_each(runs, simulate)]
    return _check("realize", faults, "the realized goal holds with full progress and reward")


def _perturb(runs: Sequence[CheckRun]) -> TaskCheck:
    """Check that each stateless leaf of a realized goal no longer holds if a body is moved."""

    def look(run: CheckRun, seed: int) -> str:
        scene, world = run.scenes[seed], TensorWorld.snapshot(run.scenes[seed].start)
        _realized(scene.goal, world)
        for node in nodes(scene.goal):
            leaf = node.predicate
            if node.leaf is None or not node.active or leaf.initial_state(world):
                continue
            if not bool(leaf.evaluate(world, {}).holds):
                continue  # a finished step of an order
            ceased = False
            for moved in _taken_away(world, scene.solids.present[0].nonzero()[:, 0].tolist()):
                outcome = leaf.evaluate(moved, {})
                progress, holds = float(outcome.progress), bool(outcome.holds)
                if (progress == 1.0) != holds or not 0.0 <= progress <= 1.0:
                    return f"{leaf.name}: progress is {progress:g} where holds is {holds}"
                ceased |= not holds
            if not ceased:
                return f"{leaf.name} holds for any positions"
        return ""

    good = f"no leaf holds after a displacement of {AWAY_M} m"
    return _check("perturb", _each(runs, look), good)


def _taken_away(world: TensorWorld, slots: Sequence[int]) -> Iterator[TensorWorld]:
    """Yield copies of a world in which a body or the gripper is displaced."""
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
    """Check the JSON round trip of goals, and that batches give the same results."""

    def look(run: CheckRun, seed: int) -> str:
        goal, start = run.scenes[seed].goal, run.scenes[seed].start
        world = TensorWorld.snapshot(start)
        outcome = _realized(goal, world)
        copy = from_json(json.loads(json.dumps(goal.to_json())), predicate_types())
        for place, state in ((start, goal.initial_state(start)), (world, outcome.state)):
            theirs, ours = copy.evaluate(place, state), goal.evaluate(place, state)
            if not torch.allclose(theirs.progress, ours.progress):
                return "read from JSON, it gives another result"
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
    return _check("as data", faults, "JSON round trip and batches give the same results")


def _fault_in_batch(made: Task, scenes: Sequence[Any]) -> str:
    """Return how a batched goal differs from those of single environments."""
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
        return f"progress is {alone}, in a batch {outcome.progress.tolist()}"
    return ""


def digest(config: EnvConfig, seeds: Sequence[int], defined_in: str = "") -> str:
    """Return the hash of sampled episodes and of the oracle's solution of the first one."""
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
    good = "episodes and actions are reproducible, also in another process"
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

    good = "prompts and descriptions are sentences"
    return _check("wordings", _each(runs, look), good)


def _variety(made: Task, runs: Sequence[CheckRun]) -> TaskCheck:
    """Check the number of wordings: a bank in this package, otherwise two without images."""
    if is_own(type(made)):
        count = made.count_wordings()
        few = count["seen"] < SEEN or count["held_out"] < HELD_OUT
        found = f"{count['seen']} seen and {count['held_out']} held-out wordings"
        mend = f"bank: at least {SEEN} seen and {HELD_OUT} held-out sentences"
        return _check("variety", [found] if few else [], found, mend)

    def look(run: CheckRun, seed: int) -> str:
        texts = made.prompts(run.scenes[seed].layout)
        few = sum("{ks:" not in text for text in texts) < 2
        return "fewer than two wordings without key-steps" if few else ""

    good = "several wordings without key-steps"
    return _check("variety", _each(runs, look)[:1], good)


def _legibility(runs: Sequence[CheckRun]) -> TaskCheck:
    """Check that bodies are visible, distinguishable and graspable."""

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

    good = "bodies are visible and distinguishable"
    return _check("legibility", _each(runs, look), good)


def _step_limit(made: Task, runs: Sequence[CheckRun]) -> TaskCheck:
    longest = max((steps for run in runs for steps in run.steps), default=0)
    found = f"{made.max_steps}, the oracle needs up to {longest}"
    return _check("step limit", [found] if made.max_steps < ROOM * longest else [], found)


def _reward(runs: Sequence[CheckRun]) -> TaskCheck:
    rising = [value for run in runs for value in run.rising]
    middle = float(np.median(rising)) if rising else 0.0
    found = f"rank correlation of the oracle's progress with time {middle:.2f}"
    return _check("reward", [] if middle >= RISING else [found], found)


def _frozen(key: str) -> TaskCheck:
    missing = []
    for split in SPLITS:
        try:
            ClevrSkillsSuite().frozen(key, split)
        except ClevrSkillsError:
            missing.append(f"no frozen episodes of the split {split}")
    good = "there are frozen episodes"
    return _check("frozen", missing, good, CHECKS["frozen"][1].format(key=key))
