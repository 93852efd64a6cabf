"""``clevrskills train --recipe compact``: from nothing to a policy that is evaluated, in stages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clevrskills.core.suite import load_suite
from clevrskills.dataset_tools.generate.command import GenerateArgs, generate
from clevrskills.dataset_tools.scenes.command import SceneArgs, scenes
from clevrskills.errors import ClevrSkillsError, UnknownNameError
from clevrskills.evaluation.evaluate import EvaluateArgs, evaluate
from clevrskills.jobs.files import to_json, write_whole
from clevrskills.jobs.run_folder import check_settings

if TYPE_CHECKING:
    from clevrskills.baselines.training.arguments import TrainArgs

RECIPE_FILE = "recipe.json"


@dataclass(frozen=True)
class RecipeSize:
    """Amounts of data and training of a recipe, and their costs.

    Attributes:
        tasks: What it learns; empty: the skills of L0.
        scenes: Scenes of each task, without demonstrations.
        demonstrations: Demonstrations of each task, without cameras.
        perception_steps: Steps of the optimizer, for perception.
        controller_steps: The same for the controller.
        controller_batch: Control steps in a batch.
        episodes: Drawn episodes of each task, of the split ``val``, that the policy is checked on.
    """

    tasks: tuple[str, ...] = ()
    scenes: int = 1000
    demonstrations: int = 500
    perception_steps: int = 3400
    controller_steps: int = 12_000
    controller_batch: int = 512
    episodes: int = 20


SIZES = {
    "default": RecipeSize(),
    "tiny": RecipeSize(("pick",), 4, 2, 2, 4, 32, 1),
}
"""Sizes by the name of the policy's configuration."""
CPU_S = {"scenes": 0.1, "demonstrations": 1.3, "perception": 3.0, "controller": 0.03, "check": 12.0}
"""CPU-seconds of a scene, a demonstration, a step of each training and an episode, on an AMD EPYC
(Zen 5); on a GPU the steps take 0.1 and 0.01 s."""
SAVE_EVERY = 200
"""Steps of perception between two checkpoints, about ten minutes."""
SEED = 7000
"""First seed of the episodes of the check."""


@dataclass(frozen=True)
class Stage:
    """A stage of a recipe.

    Attributes:
        name: Its name, and that of its folder.
        cpu_s: CPU-seconds that it takes, about.
        run: Does it, or goes on with it, and returns an exit code.
    """

    name: str
    cpu_s: float
    run: Callable[[], int]


def stages(args: TrainArgs, train: Callable[[TrainArgs], int]) -> list[Stage]:
    """Return the stages of the compact policy; each has a folder of its own.

    Args:
        args: What is asked for.
        train: Trains a policy.

    Raises:
        UnknownNameError: There is no such configuration.
    """
    configuration = args.configuration or "default"
    if configuration not in SIZES:
        raise UnknownNameError("configuration of the recipe", configuration, tuple(SIZES))
    size, out = SIZES[configuration], args.out
    skills = [task for task, about in load_suite().tasks.items() if about.level == "L0"]
    tasks = size.tasks or tuple(skills)
    pool: dict[str, Any] = {"workers": max(1, args.workers)}
    recorded, drawn, starts = (out / name for name in ("demonstrations", "scenes", "starts"))
    common: dict[str, Any] = {
        "policy": "compact",
        "recipe": None,
        "configuration": configuration,
        "balance": True,
    }
    perception = replace(
        args,
        **common,
        data=(drawn, starts),
        out=out / "perception",
        steps=size.perception_steps,
        save_every=SAVE_EVERY,
        bf16=True,
    )
    controller = replace(
        args,
        **common,
        data=(recorded,),
        out=out / "controller",
        from_=perception.out,
        set=(*args.set, f"batch_size={size.controller_batch}"),
        steps=size.controller_steps,
        workers=0,
    )
    checked = EvaluateArgs(
        policy=f"checkpoint:{controller.out}",
        tasks=tasks,
        split=("val",),
        seed=SEED,
        episodes=size.episodes,
        out=out / "check",
        **pool,
    )
    made = GenerateArgs(
        tasks=tasks, episodes=size.demonstrations, no_cameras=True, out=recorded, **pool
    )
    count = len(tasks)
    return [
        Stage(
            "demonstrations",
            count * size.demonstrations * CPU_S["demonstrations"],
            lambda: generate(made),
        ),
        Stage(
            "scenes",
            count * size.scenes * 1.5 * CPU_S["scenes"],
            lambda: scenes(SceneArgs(tasks=tasks, scenes=size.scenes, out=drawn, **pool)),
        ),
        Stage(
            "starts",
            count * size.demonstrations * 1.5 * CPU_S["scenes"],
            lambda: scenes(SceneArgs(demonstrations=recorded, out=starts, **pool)),
        ),
        Stage("perception", size.perception_steps * CPU_S["perception"], lambda: train(perception)),
        Stage("controller", size.controller_steps * CPU_S["controller"], lambda: train(controller)),
        Stage("check", count * size.episodes * CPU_S["check"], lambda: evaluate(checked)),
    ]


def run_recipe(args: TrainArgs, train: Callable[[TrainArgs], int]) -> int:
    """Run the stages of a recipe that are not done yet, each from where it stopped.

    Args:
        args: What is asked for.
        train: Trains a policy.

    Returns:
        Exit code: 0 if all are done, else that of the stage that was stopped.

    Raises:
        ClevrSkillsError: An option is not for recipes, or the folder holds another one.
    """
    given: dict[str, Any] = {"--policy": args.policy, "--from": args.from_, "--data": args.data}
    given |= {"--task": args.task, "--level": args.level, "--weight": args.weight}
    for option, value in given.items():
        if value:
            raise ClevrSkillsError(f"{option} is not for --recipe, which decides it")
    chosen, path = stages(args, train), args.out / RECIPE_FILE
    about: dict[str, Any] = {
        "recipe": args.recipe,
        "configuration": args.configuration,
        "seed": args.seed,
    }
    about |= {"size": asdict(SIZES[args.configuration or "default"])}
    done: list[str] = _done(args.out, path, about)
    for number, stage in enumerate(chosen, 1):
        hours = sum(each.cpu_s for each in chosen if each.name not in done) / 3600
        if stage.name in done:
            continue
        print(
            f"stage {number} of {len(chosen)}, {stage.name}: about {stage.cpu_s / 3600:.1f} "
            f"CPU-hours of {hours:.1f} that are left",
            flush=True,
        )
        if code := stage.run():
            return code
        done.append(stage.name)
        args.out.mkdir(parents=True, exist_ok=True)
        write_whole(path, to_json({**about, "done": done}, indent=1) + "\n")
    print(f"`--policy checkpoint:{args.out / 'controller'}` evaluates what was trained")
    return 0


def _done(out: Path, path: Path, about: dict[str, Any]) -> list[str]:
    """Return the stages of a recipe that are done in a folder.

    Raises:
        ClevrSkillsError: It holds another one.
    """
    import json

    if not path.is_file():
        return []
    before = json.loads(path.read_text(encoding="utf-8"))
    done: list[str] = before.pop("done")
    check_settings(out, before, json.loads(to_json(about)), made="trained")
    return done
