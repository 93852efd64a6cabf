"""Learned policies by name."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clevrskills.core.registry import entry_points_at, others
from clevrskills.errors import ClevrSkillsError, UnknownNameError

if TYPE_CHECKING:
    from clevrskills.baselines.policy import LearnedPolicy
    from clevrskills.baselines.spec import PolicyConfig, PolicySpec

KIND = "learned_policies"
"""Kind of the entry points of policies from other distributions."""
POLICIES = {
    "bc": "clevrskills.baselines.policies.bc.policy:BehaviorCloning",
    "stream_robolm": "clevrskills.baselines.policies.stream_robolm.policy:StreamRoboLM",
    "compact": "clevrskills.baselines.policies.compact.policy:CompactPolicy",
}
"""Class of each policy of the package; your own policies are named in the same form."""
SEPARATE = ("cliport", "jat", "octo", "robo_flamingo")
"""Policies of the distribution ``clevrskills-policies``."""
CHECKOUT = Path(__file__).parents[2] / "policies"
"""Folder of that distribution in a checkout, where it is found without installation."""


def policies() -> dict[str, str]:
    """Return the class of each policy by name: those of the package, then those of other
    distributions.
    """
    added = {name: entry.value for name, entry in others(KIND, POLICIES).items()}
    if CHECKOUT.is_dir():
        added = {**entry_points_at(CHECKOUT, KIND), **added}
        if str(CHECKOUT) not in sys.path:
            sys.path.append(str(CHECKOUT))
    return {**POLICIES, **added}


def policy_type(name: str) -> type[LearnedPolicy]:
    """Return the class of a policy.

    Raises:
        ClevrSkillsError: There is no such policy, or a package that it needs is not installed.
    """
    from clevrskills.baselines.policy import LearnedPolicy

    known = policies()
    module_name, colon, attribute = known.get(name, name).partition(":")
    if not colon and name in SEPARATE:
        raise ClevrSkillsError(
            f"policy {name} is not installed: pip install 'clevrskills[policies]', or ./policies "
            "in a clone"
        )
    if not colon:
        raise UnknownNameError("policy", name, (*known, "module:Class"))
    if ":" in name and os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())  # for policies in the working directory
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is not None and module_name.startswith(error.name):
            raise ClevrSkillsError(f"policy {name}: there is no module {error.name}") from None
        raise ClevrSkillsError(
            f"policy {name} needs the package {error.name}: pip install 'clevrskills[vla]'"
        ) from error
    if not hasattr(module, attribute):
        raise ClevrSkillsError(f"policy {name}: {module_name} has no {attribute}")
    found = getattr(module, attribute)
    if not (isinstance(found, type) and issubclass(found, LearnedPolicy)):
        raise ClevrSkillsError(
            f"policy {name} cannot be trained: it is not a subclass of LearnedPolicy"
        )
    return found


def configuration(name: str, variant: str, changes: Mapping[str, Any]) -> PolicyConfig:
    """Return a named configuration of a policy, with some values changed.

    Raises:
        ClevrSkillsError: There is no such policy, configuration or entry.
    """
    known = policy_type(name).configurations
    if variant not in known:
        raise UnknownNameError(f"configuration of {name}", variant, tuple(known))
    return known[variant].changed(changes)


def build(name: str, config: PolicyConfig, spec: PolicySpec, seed: int = 0) -> LearnedPolicy:
    """Return a policy with random weights from a seed, except those that it loads from elsewhere.

    Raises:
        ClevrSkillsError: There is no such policy, or it cannot be built.
    """
    import torch

    kind = policy_type(name)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        try:
            return kind(config, spec)
        except (AssertionError, ArithmeticError, RuntimeError, ValueError) as error:
            if isinstance(error, ClevrSkillsError):
                raise
            raise ClevrSkillsError(f"policy {name} cannot be built: {error}") from error
