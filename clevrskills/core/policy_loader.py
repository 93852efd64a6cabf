"""Policy loader: policies by name, by address, or from a folder or a module."""

import importlib
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import EntryPoint
from typing import Any

from clevrskills.core.policy import DEFAULT_CAMERAS, ObservationOptions, check_cameras
from clevrskills.core.registry import load, others
from clevrskills.core.suite import Suite, load_suite
from clevrskills.errors import ClevrSkillsError, UnknownNameError, one_line

BUILT_IN = {
    "oracle": "clevrskills.evaluation.policies:OraclePolicy",
    "zero": "clevrskills.evaluation.policies:Zero",
    "random": "clevrskills.evaluation.policies:Random",
}
"""Policies that take no arguments."""
OF_FOLDER = {
    "replay": "clevrskills.evaluation.policies:Replay",
    "checkpoint": "clevrskills.baselines:load",
    "rl": "clevrskills.rl.policy:RLPolicy",
    "lerobot": "clevrskills.integrations.lerobot_policy:LeRobotPolicy",
    "chat": "clevrskills.agents.policy:ChatPolicy",
}
"""Those that are made from a folder, as in ``replay:DATASET``, or from an address."""
CONNECT = "clevrskills.serving:connect"
"""What makes those behind an address."""
CHAT = "chat:"
"""How those begin that ask a language model."""
FORMS = (
    *("oracle", "zero", "random", "replay:DATASET", "checkpoint:DIR", "rl:DIR", "lerobot:DIR"),
    *("chat:URL", "chat:oracle", "chat:random", "chat:garbage", "chat:reader"),
    *("chat:fixed:TEXT", "chat:script:FILE"),
    *("module:attribute", "openpi://HOST:PORT", "vla-eval://HOST:PORT", "gr00t://HOST:PORT"),
)


@dataclass(frozen=True)
class PolicySource:
    """A policy by its name; picklable, for worker processes.

    Attributes:
        name: A built-in policy, ``checkpoint:DIR``, ``rl:DIR``, ``lerobot:DIR``,
            ``replay:DATASET``, ``chat:URL``, ``module:attribute``, the address of a server, or
            a policy that another distribution adds, ``NAME`` or ``NAME:DIR``.
        arguments: Arguments of the constructor, or of the connection.
        folder: A folder whose modules can be imported.
        overrides: What it is shown in place of what it asks for: attributes of
            :class:`~clevrskills.core.policy.ObservationOptions`.
        own: Policies of the suite, see :meth:`~clevrskills.core.suite.Suite.policies`.
    """

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    folder: str = ""
    overrides: Mapping[str, Any] = field(default_factory=dict)
    own: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _, colon, rest = self.name.partition(":")
        known = {**BUILT_IN, **self.own, **_others()}
        if self.name not in known and not (colon and rest):
            forms = [*FORMS, *(name for name in self.own if name not in FORMS), *_others()]
            raise UnknownNameError("policy", self.name, forms)

    def make(self, suite: Suite | None = None, interface: str | None = None) -> Any:
        """Make the policy.

        Args:
            suite: What it is to act in; ``None``: the default one.
            interface: Name of what it is to act by, compared with what it declares; ``None``: the
                suite's first one.

        Raises:
            ClevrSkillsError: It cannot be made, is none, or acts otherwise than the environments.
        """
        try:
            policy = self._make(suite, interface)
        except ClevrSkillsError:
            raise
        except Exception as error:
            raise ClevrSkillsError(
                f"cannot make the policy {self.name}: {one_line(error)}"
            ) from error
        for method in ("reset", "act"):
            if not callable(getattr(policy, method, None)):
                raise ClevrSkillsError(f"{self.name} is no policy: it has no method {method!r}")
        if is_batched(policy) and is_privileged(policy):
            raise ClevrSkillsError(f"policy {self.name}: a batched policy cannot be privileged")
        spec = getattr(policy, "action_spec", None)
        if spec is not None:
            (suite or load_suite()).interface(interface).check(spec, self.name)
        return policy

    def options(self, policy: Any, suite: Suite | None = None) -> ObservationOptions:
        """What the policy is shown.

        Args:
            policy: The policy.
            suite: What it is to act in; ``None``: the default one.

        Raises:
            ClevrSkillsError: It asks for something that does not exist.
        """
        suite = suite or load_suite()
        asked = getattr(policy, "observation", None)
        if asked is None:
            asked = ObservationOptions()
        elif isinstance(asked, Mapping):
            try:
                asked = ObservationOptions(**asked)
            except TypeError as error:
                raise ClevrSkillsError(f"policy {self.name}: observation: {error}") from None
        elif not isinstance(asked, ObservationOptions):
            raise ClevrSkillsError(
                f"policy {self.name}: observation is of type {type(asked).__name__}; "
                "allowed: ObservationOptions"
            )
        options = replace(asked, **self.overrides)
        own = getattr(policy, "own_views", ())
        if own:
            views = (*(options.views or ()), *own)
            options = replace(options, views=tuple(dict.fromkeys(views)))
        check_cameras(options.cameras, suite.cameras())
        cameras: list[str] = []
        for name in options.cameras:
            cameras += suite.default_cameras() if name == DEFAULT_CAMERAS else [name]
        if options.views is not None:
            kinds = suite.views()
            for name in options.views:
                if name not in kinds:
                    raise UnknownNameError("view", name, tuple(kinds))
            cameras += [name for name in options.views if kinds[name] == "image"]
        for name in getattr(policy, "needs_cameras", ()):
            if name not in cameras:
                raise ClevrSkillsError(f"policy {self.name} needs {name}, which is not shown")
        return replace(options, cameras=tuple(dict.fromkeys(cameras)))

    def _make(self, suite: Suite | None, interface: str | None) -> Any:
        if "://" in self.name and not self.name.startswith(CHAT):
            return _attribute(CONNECT)(self.name, **self.arguments)
        if self.folder and self.folder not in sys.path:
            sys.path.insert(0, self.folder)
        head, _, rest = self.name.partition(":")
        folder = [rest] if rest and (head in OF_FOLDER or head in _others()) else []
        if self.name in self.own:
            make = _attribute(self.own[self.name])
        elif self.name not in BUILT_IN and head in _others():
            make = load(_others()[head])
        else:
            known = {**BUILT_IN, **OF_FOLDER}
            make = _attribute(known.get(head if folder else self.name, self.name))
        if not isinstance(make, type) and (hasattr(make, "act") or not callable(make)):
            raise ClevrSkillsError(
                f"{self.name} is of type {type(make).__name__}; name a class, or a function that "
                "makes a policy"
            )
        given = dict(self.arguments)
        if getattr(make, "needs_suite", False):
            suite = suite or load_suite()
            given |= {"suite": suite, "interface": suite.interface(interface)}
        return make(*folder, **given)


def _others() -> Mapping[str, EntryPoint]:
    """Policies that other distributions add: alone, or with a folder as in ``NAME:DIR``."""
    return others("policies", {**BUILT_IN, **OF_FOLDER})


def is_batched(policy: Any) -> bool:
    """Whether it acts in several episodes at once."""
    return bool(getattr(policy, "batched", False))


def is_privileged(policy: Any) -> bool:
    """Whether it is given the environment."""
    return bool(getattr(policy, "privileged", False))


def recognizes_episodes(policy: Any) -> bool:
    """Whether it does without the environment where that cannot be given: by the prompt alone."""
    return bool(getattr(policy, "recognizes_episodes", False))


def _attribute(name: str) -> Any:
    """What ``module:attribute`` names.

    Raises:
        ClevrSkillsError: There is no such module or attribute.
    """
    module_name, _, path = name.partition(":")
    try:
        found: Any = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name and (module_name == error.name or module_name.startswith(f"{error.name}.")):
            raise ClevrSkillsError(
                f"policy {name}: there is no module {error.name}, here or installed"
            ) from None
        raise
    for part in path.split("."):
        if not hasattr(found, part):
            own = [n for n, value in vars(found).items() if hasattr(value, "act")]
            raise UnknownNameError(f"attribute of {module_name}", path, own or ["(no policy)"])
        found = getattr(found, part)
    return found


def policy_arguments(pairs: Sequence[str]) -> dict[str, Any]:
    """What ``NAME=VALUE`` says; a value that is JSON is read as such, others are text.

    Raises:
        ClevrSkillsError: One says something else, or a name comes twice.
    """
    values: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        named = all(part.isidentifier() for part in name.split("."))  # planner.model: of a part
        if not equals or not named or name in values:
            raise ClevrSkillsError(f"{pair!r} is no argument; allowed: NAME=VALUE, each name once")
        try:
            values[name] = json.loads(text)
        except ValueError:
            values[name] = text
    return values
