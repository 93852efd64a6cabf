"""Code of other distributions in the test process, removed afterwards."""

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path

import gymnasium as gym

from clevrskills.core.goal import predicate
from clevrskills.solvers import skills
from clevrskills.tasks import base

_REGISTERED = (predicate.PREDICATES, base._TASKS, skills._SKILLS)
_ASKING = (
    *("clevrskills", "clevrskills.predicates", "clevrskills.tasks.base"),
    *("clevrskills.solvers.skills", "clevrskills.assets.plugins", "clevrskills.sim.cameras"),
    *("clevrskills.sim.setting", "clevrskills.sim.robots.description"),
)
"""Modules that ask for what other distributions add, and keep the answer."""


@contextlib.contextmanager
def installed(*folders: Path) -> Iterator[None]:
    """What lies in some folders can be imported, and is found by its entry points.

    Afterwards the path, the modules from there, the names and Gymnasium ids that were registered
    and the answers that were kept are taken back.
    """
    registered, loaded = [dict(kinds) for kinds in _REGISTERED], {*sys.modules}
    ids = {*gym.registry}
    _forget()
    sys.path[:0] = paths = [str(folder) for folder in folders]
    try:
        yield
    finally:
        for path in paths:
            sys.path.remove(path)
        for name in {*sys.modules} - loaded:
            if str(getattr(sys.modules[name], "__file__", "")).startswith(tuple(paths)):
                del sys.modules[name]
        for name in {*gym.registry} - ids:
            del gym.registry[name]
        for kinds, before in zip(_REGISTERED, registered, strict=True):
            for key in {*kinds} - {*before}:
                if not kinds[key].__module__.startswith("clevrskills."):
                    del kinds[key]  # type: ignore[attr-defined]
        _forget()


def _forget() -> None:
    for name in sys.modules.keys() & set(_ASKING):
        for value in vars(sys.modules[name]).values():
            if hasattr(value, "cache_clear"):
                value.cache_clear()
