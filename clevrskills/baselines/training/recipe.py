"""``clevrskills train --recipe compact``: data generation, training and evaluation, in stages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from shlex import quote
from typing import TYPE_CHECKING, Any, NamedTuple

from clevrskills.baselines.registry import configuration as configured
from clevrskills.baselines.training.training_config import check_not_given
from clevrskills.core.policy_loader import policy_arguments
from clevrskills.core.suite import load_suite
from clevrskills.dataset_tools.generate.command import GenerateArgs, generate
from clevrskills.dataset_tools.scenes.command import SceneArgs, scenes
from clevrskills.errors import ClevrSkillsError
from clevrskills.evaluation.evaluate import EvaluateArgs, evaluate
from clevrskills.jobs.arguments import select_tasks
from clevrskills.jobs.files import read_json, to_json, write_whole
from clevrskills.jobs.run_folder import check_settings

if TYPE_CHECKING:
    from clevrskills.baselines.training.arguments import TrainArgs

RECIPE_FILE = "recipe.json"
_OF_DATA = ("data", "task", "weight", "balance", "prompt", "cache_dir")
_OF_POLICY = ("policy", "from_", "published_weights")
_DECIDED = (*_OF_DATA, *_OF_POLICY, "steps", "save_every", "evaluate_every")


@dataclass(frozen=True)
class RecipeSize:
    """Amounts of data and training of a recipe, and their costs."""

    tasks: tuple[str, ...] = ()  # empty: all tasks of the levels
    scenes: int = 1000  # scenes per skill, without demonstrations
    demonstrations: int = 500  # demonstrations per skill, without cameras
    compositions: int = 250  # demonstrations per task of L1 and L2
    perception_steps: int = 3600  # optimizer steps of perception
    composed_steps: int = 2100  # additional ones for L1 or L2
    controller_steps: int = 12_000  # optimizer steps of the controller
    controller_batch: int = 512  # control steps in a batch
    # sampled episodes per task of the split ``val``, for the final check
    episodes: int = 20


SIZES = {"default": RecipeSize(), "tiny": RecipeSize(("pick",), 4, 2, 0, 2, 0, 4, 32, 1)}
"""Sizes by configuration of the policy."""
CPU_S = {
    "demonstrations": 0.25,
    "scenes": 0.03,
    "starts": 0.03,
    "perception": 1.8,
    "controller": 0.015,
    "check": 3.0,
}
"""CPU-seconds of a demonstration, scene, optimizer step or episode on an AMD EPYC (Zen 5)."""
SHARES = {
    **{"match_pose": 0.5, "trace": 2.0, "throw": 0.7, "throw_topple": 0.7},
    **dict.fromkeys(("pick", "place", "push"), 1.5),
}
"""Sampling weights of the scenes of tasks for perception, 1 for others."""
SAVE_EVERY = 200
"""Steps between checkpoints of perception, about five minutes."""
SEED = 7000
"""First seed of the episodes of the final check."""


class RecipeStage(NamedTuple):
    """Stage of a recipe.

    Attributes:
        name: Its name.
        cpu_s: Estimate of its CPU-seconds.
        run: Runs or continues it, and returns an exit code.
    """

    name: str
    cpu_s: float
    run: Callable[[], int]


def stages(args: TrainArgs, train: Callable[[TrainArgs], int]) -> list[RecipeStage]:
    """Return the stages of the compact policy, each with a folder of its own.

    Args:
        args: The arguments of the command.
        train: Function that trains a policy.

    Raises:
        ClevrSkillsError: A configuration, an entry of it, or a level is not allowed.
    """
    configuration, sets = args.configuration or "default", policy_arguments(args.set)
    if "batch_size" in sets:
        raise ClevrSkillsError("--set batch_size is not for --recipe, which decides it")
    configured("compact", configuration, sets)
    size, out = SIZES[configuration], args.out
    decided = ("level",) if size.tasks else ()
    check_not_given(args, decided, f"--configuration {configuration}, which decides it")
    levels = {task: about.level for task, about in load_suite().tasks.items()}
    learned = size.tasks or tuple(select_tasks(levels, level=args.level or ("L0",)))
    skills = tuple(task for task in learned if levels[task] == "L0")
    composed = tuple(task for task in learned if task not in skills)
    if not skills:
        raise ClevrSkillsError("--recipe learns the skills of L0 first: add --level L0")
    pool: dict[str, Any] = {"workers": max(1, args.workers)}
    chosen: dict[str, Any] = {"tasks": learned, **pool}
    recorded, drawn, starts = (out / name for name in ("demonstrations", "scenes", "starts"))
    made = GenerateArgs(**pool, no_cameras=True, out=recorded)
    scene_args = SceneArgs(**pool, tasks=skills, scenes=size.scenes, out=drawn)
    start_args = SceneArgs(**pool, demonstrations=recorded, out=starts)
    args = replace(args, configuration=configuration, policy="compact", recipe=None, level=())
    weight = tuple(f"{task}={SHARES.get(task, 1.0)}" for task in learned)
    count = size.perception_steps + size.composed_steps * bool(composed)
    perception = replace(args, data=(drawn, starts), out=out / "perception", bf16=True)
    perception = replace(perception, weight=weight, steps=count, save_every=SAVE_EVERY)
    controller = replace(args, data=(recorded,), out=out / "controller", from_=perception.out)
    batch, steps = f"batch_size={size.controller_batch}", size.controller_steps
    controller = replace(controller, balance=True, steps=steps, workers=0, set=(*args.set, batch))
    policy = f"checkpoint:{controller.out}"
    drawn_from: dict[str, Any] = {"split": ("val",), "seed": SEED, "episodes": size.episodes}
    checked = EvaluateArgs(**chosen, **drawn_from, policy=policy, out=out / "check")
    skill_count = len(skills) * size.demonstrations
    composed_count = len(composed) * size.compositions

    def demonstrate() -> int:
        for tasks, n in ((skills, size.demonstrations), (composed, size.compositions)):
            if tasks and (code := generate(replace(made, tasks=tasks, episodes=n))):
                return code
        return 0

    amounts: dict[str, tuple[float, Callable[[], int]]] = {
        "demonstrations": (skill_count + composed_count, demonstrate),
        "scenes": (1.5 * len(skills) * size.scenes, lambda: scenes(scene_args)),
        "starts": (1.5 * skill_count + 3 * composed_count, lambda: scenes(start_args)),
        "perception": (count, lambda: train(perception)),
        "controller": (size.controller_steps, lambda: train(controller)),
        "check": (len(learned) * size.episodes, lambda: evaluate(checked)),
    }
    return [RecipeStage(name, n * CPU_S[name], run) for name, (n, run) in amounts.items()]


def run_recipe(args: TrainArgs, train: Callable[[TrainArgs], int]) -> int:
    """Run the remaining stages of a recipe; an interrupted one continues.

    Args:
        args: The arguments of the command.
        train: Function that trains a policy.

    Returns:
        Exit code: 0 if all stages are completed, else that of the failed stage.

    Raises:
        ClevrSkillsError: An option is not for recipes, or the folder has another recipe.
    """
    given = [name for name in _DECIDED if getattr(args, name) != getattr(type(args), name)]
    check_not_given(args, given, "--recipe, which decides it")
    chosen, path = stages(args, train), args.out / RECIPE_FILE
    kept = ("recipe", "configuration", "seed", "accumulate", "bf16")
    about = {name: getattr(args, name) for name in kept}
    about |= {"level": list(args.level), "set": list(args.set)}
    done: list[str] = []
    if path.is_file():
        before = read_json(path)
        done = before.pop("done")
        check_settings(args.out, before, about, made="trained")
    for number, stage in enumerate(chosen, 1):
        if stage.name in done:
            continue
        left = sum(each.cpu_s for each in chosen if each.name not in done) / 3600
        about_h = f"about {stage.cpu_s / 3600:.1f} of the remaining {left:.1f} CPU-hours"
        print(f"stage {number} of {len(chosen)}, {stage.name}: {about_h}", flush=True)
        if code := stage.run():
            return code
        done.append(stage.name)
        write_whole(path, to_json({**about, "done": done}, indent=1) + "\n")
    name = quote(f"checkpoint:{args.out / 'controller'}")
    print(f"trained; evaluate it by `--policy {name}`")
    return 0
