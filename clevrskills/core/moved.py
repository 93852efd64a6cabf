"""Moved modules: imports by a path of before version 0.2 end in the new object, with a warning."""

import importlib
import warnings
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

MOVED: dict[str, tuple[str, ...]] = {
    "baselines.act": ("baselines.policies.act.policy",),
    "baselines.bc": ("baselines.policies.bc.policy",),
    "baselines.stream_robolm": ("baselines.policies.stream_robolm.policy",),
    "body": ("sim.body",),
    "cameras": ("sim.cameras", "sim.setting"),
    "dataset_tools.gallery": ("dataset_tools.view.gallery",),
    "dataset_tools.video": ("sim.render.video",),
    "env": ("envs.environment",),
    "episode": ("envs.episode",),
    "evaluation.frozen": ("evaluation.freeze.frozen",),
    "evaluation.lerobot": ("integrations.lerobot_env",),
    "evaluation.loading": ("core.policy_loader",),
    "evaluation.observe": ("core.observer",),
    "evaluation.policy": ("core.policy",),
    "evaluation.remote": ("serving",),
    "evaluation.suite": ("suites.clevrskills.suite", "core.suite"),
    "evaluation.vla_eval": ("integrations.vla_eval",),
    "film": ("sim.render.trajectory_renderer",),
    "geometry": ("core.geometry",),
    "observation": ("envs.state_observation",),
    "predicates.base": ("core.goal.predicate", "predicates.physical"),
    "predicates.logical": ("core.goal.logical",),
    "predicates.tree": ("core.goal.tree",),
    "prompt": ("sim.prompt",),
    "rl.sb3": ("integrations.sb3",),
    "rl.skrl": ("integrations.skrl",),
    "robots": ("sim.robots",),
    "robots.controller": ("sim.robots.controller", "sim.robots.delta_action"),
    "robots.description": ("sim.robots.description",),
    "scenes": ("envs.scene_sampling",),
    "studio": ("sim.prompt_images",),
    "world": ("sim.world", "sim.tensor_world"),
}
"""Where the content of a module is now; both without ``clevrskills.``."""
RENAMED = {"Film": "TrajectoryRenderer", "Studio": "PromptRenderer", "studio": "prompt_renderer"}
"""What has another name there."""


def spec_of(name: str) -> ModuleSpec | None:
    """The spec of a module that stands for one that moved; ``None``: no module of that name did."""
    old = name.removeprefix("clevrskills.")
    if old not in MOVED:
        return None
    parent = any(other.startswith(f"{old}.") for other in MOVED)
    return ModuleSpec(name, _Loader(old), is_package=parent)


class _Loader(Loader):
    """Makes modules that look things up where they are now."""

    def __init__(self, old: str) -> None:
        self._old = old

    def create_module(self, spec: ModuleSpec) -> None:
        """The usual kind of module."""

    def exec_module(self, module: ModuleType) -> None:
        """Warn once, and give the module its way to look things up."""
        places = [f"clevrskills.{new}" for new in MOVED[self._old]]
        warnings.warn(
            f"clevrskills.{self._old} has moved to {' and '.join(places)}; see docs/moved.md",
            DeprecationWarning,
            stacklevel=2,
        )

        def look_up(name: str) -> Any:
            if not name.startswith("__"):
                for place in places:
                    module_now = importlib.import_module(place)
                    if hasattr(module_now, new := RENAMED.get(name, name)):
                        return getattr(module_now, new)
            raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")

        vars(module)["__getattr__"] = look_up
