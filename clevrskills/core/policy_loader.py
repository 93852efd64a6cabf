"""Loader of policies by name, address, folder or module."""

import importlib
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from importlib.metadata import EntryPoint
from inspect import signature
from pathlib import Path
from typing import Any

from clevrskills.core.checkpoint import content_hash, find, latest, located, zoo_names
from clevrskills.core.policy import (
    DEFAULT_CAMERAS,
    Observation,
    ObservationOptions,
    PolicyInfo,
    PromptInput,
    check_cameras,
)
from clevrskills.core.registry import load, others
from clevrskills.core.suite import (
    Suite,
    all_cameras,
    all_views,
    default_cameras,
    find_interface,
    load_suite,
)
from clevrskills.errors import ClevrSkillsError, UnknownNameError, check_kind, errors_in

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
"""Policies with a folder or an address, e.g. ``replay:DATASET``."""
CONTENT = ("path", "checkpoint", "ckpt", "weights", "model", "replay")
"""Words in the names of arguments that may be files or folders of weights or replies."""
PARTS = ("planner", "actor")
"""Names of arguments that are policies themselves."""
FOLDERS = ("replay", "checkpoint", "rl", "lerobot")
CONNECT = "clevrskills.serving:connect"
"""Function that connects to a policy server."""
ISOLATE = "clevrskills.serving.isolation:IsolatedPolicy"
"""Class of policies in a separate process."""
CHAT = "chat:"
"""Prefix of policies that query a language model."""
SCRIPT = "chat:script:"
"""Prefix of policies that replay the replies in a file."""
LEROBOT_FOLDER = "clevrskills.integrations.lerobot_policy:find_checkpoint"
PACKAGE = Path(__file__).parents[1]
FORMS = (
    *("oracle", "zero", "random", "replay:DATASET", "checkpoint:DIR", "rl:DIR", "lerobot:DIR"),
    *("chat:URL", "chat:oracle", "chat:random", "chat:garbage"),
    *("chat:fixed:TEXT", "chat:script:FILE", "chat:module:function"),
    *("module:attribute", "openpi://HOST:PORT", "vla-eval://HOST:PORT", "gr00t://HOST:PORT"),
)


@dataclass(frozen=True)
class LoadedPolicy:
    """Policy with its declaration, used in a single episode."""

    name: str  # name it was loaded by
    policy: Any  # the policy itself
    info: PolicyInfo  # its declaration
    options: ObservationOptions  # options of its observations, all names resolved
    isolated: bool = False  # whether it runs in a separate process

    def reset(self, prompt: PromptInput | None, env: Any = None, episode: Any = None) -> None:
        """Begin an episode; only privileged policies receive ``env`` and ``episode``."""
        if self.info.concurrency == "batched":
            self.policy.reset({0: prompt})
        elif self.info.privileged:
            self.policy.reset(prompt, env=env, episode=episode)
        else:
            self.policy.reset(prompt)

    def act(self, observation: Observation) -> Any:
        """Return the next action or actions."""
        if self.info.concurrency == "batched":
            return self.policy.act({0: observation})[0]
        return self.policy.act(observation)


@dataclass(frozen=True)
class PolicySource:
    """Policy given by its name; picklable, for worker processes."""

    # one of :data:`FORMS`, or a policy of another distribution, ``NAME`` or ``NAME:DIR``
    name: str
    # arguments of the constructor or of the connection
    arguments: Mapping[str, Any] = field(default_factory=dict)
    folder: str = ""  # folder whose modules can be imported
    # fields of :class:`~clevrskills.core.policy.ObservationOptions` that replace declared ones
    overrides: Mapping[str, Any] = field(default_factory=dict)
    # policies of the suite, see :meth:`~clevrskills.core.suite.Suite.policies`
    own: Mapping[str, str] = field(default_factory=dict)
    # whether the policy runs in a separate process, unless it is privileged, built in, of the suite
    # or behind an address
    isolated: bool = False

    def __post_init__(self) -> None:
        _, colon, rest = self.name.partition(":")
        known = {**BUILT_IN, **self.own, **_others()}
        if self.name not in known and not (colon and rest):
            forms = [*FORMS, *(name for name in self.own if name not in FORMS), *_others()]
            raise UnknownNameError("policy", self.name, forms)

    def make(self, suite: Suite | None = None, interface: str | None = None) -> LoadedPolicy:
        """Make the policy.

        Args:
            suite: Its suite; ``None``: the default one.
            interface: Name of its action interface; ``None``: the first one of the suite.

        Raises:
            ClevrSkillsError: The policy cannot be made, is invalid, or declares actions that do not
                match the interface.
        """
        suite = suite or load_suite()
        with errors_in(f"cannot make the policy {self.name}"):
            policy = self._isolated(suite, interface)
            isolated = policy is not None or "://" in self.name
            policy = policy or self._make(suite, interface)
        for method in ("reset", "act"):
            if not callable(getattr(policy, method, None)):
                raise ClevrSkillsError(f"{self.name} is not a policy: it has no method {method!r}")
        info = _declared(policy, self.name)
        if info.action_spec is not None:
            find_interface(suite, interface).check(info.action_spec, self.name)
        return LoadedPolicy(self.name, policy, info, self._options(info, suite), isolated)

    def _isolated(self, suite: Suite, interface: str | None) -> Any:
        """Return the policy in a separate process; ``None`` if it runs in this one."""
        inside = self.name in {**BUILT_IN, **self.own} or self.name.startswith("replay:")
        chat = self.name.startswith(CHAT) and not self._reply_module
        if not self.isolated or inside or chat or "://" in self.name:
            return None
        policy = _attribute(ISOLATE)(replace(self, isolated=False), suite, interface)
        if policy.privileged:
            policy.close()
            return None
        return policy

    def content(self) -> dict[str, str]:
        """Return the SHA-256 of the policy's files and folders by absolute path.

        These are its checkpoint, the manifest of its dataset, arguments with one of
        :data:`CONTENT` in their names, arguments that are policies, and the file of its module but
        not those it imports. Other policies of this package and policy servers have none.

        Raises:
            ClevrSkillsError: A checkpoint is missing, or a file cannot be read.
        """
        paths = [*self._files()]
        for name, value in self.arguments.items():
            if isinstance(value, str) and any(part in name for part in CONTENT):
                of_zoo = value.removeprefix("zoo/") in zoo_names()
                path = located(Path(value)) if of_zoo else Path(value)
                paths.append(latest(path)[1] or path)
            elif isinstance(value, str) and name in PARTS and ":" in value:
                paths += PolicySource(value, folder=self.folder)._files()
        outside = (path for path in paths if path.suffix != ".py" or PACKAGE not in path.parents)
        return {str(path.absolute()): content_hash(path) for path in outside if path.exists()}

    def _files(self) -> Iterator[Path]:
        """Yield the files and folders given by the name."""
        head, _, rest = self.name.partition(":")
        module, path = head, Path(rest)
        if self.name in {**BUILT_IN, **self.own}:
            return
        if self.name.startswith(CHAT):
            if self.name.startswith(SCRIPT):
                yield Path(self.name.removeprefix(SCRIPT))
            module = self._reply_module
        elif "://" in self.name:
            return
        elif head == "replay":
            yield path / "manifest"
        elif head == "checkpoint":
            yield find(path)
        elif head == "rl":
            yield located(path) / "run.json"
            yield latest(located(path))[1] or located(path)
        elif head == "lerobot":
            yield _attribute(LEROBOT_FOLDER)(path)
        elif others := {self.name, head} & {*_others()}:
            module = _others()[others.pop()].module
            if rest:
                yield path
        if module and module not in OF_FOLDER and (file := self._module_file(module)):
            yield file

    @property
    def _reply_module(self) -> str:
        """Module of ``chat:module:function``; empty for other names."""
        kind, _, rest = self.name.removeprefix(CHAT).partition(":")
        known = not self.name.startswith(CHAT) or kind in ("script", "fixed")
        return "" if known or not rest or rest.startswith("//") else kind

    def _module_file(self, name: str) -> Path | None:
        """Return the file of a module without importing it; ``None`` if it is not found."""
        for place in ([self.folder] if self.folder else []) + sys.path:
            base = Path(place).joinpath(*name.split("."))
            for file in (base / "__init__.py", base.with_name(f"{base.name}.py")):
                if file.is_file():
                    return file
        return None

    def _options(self, info: PolicyInfo, suite: Suite) -> ObservationOptions:
        """Return the options of the policy's observations in a suite."""
        options = replace(info.observation or ObservationOptions(), **self.overrides)
        if info.extra_views:
            views = (*(options.views or ()), *info.extra_views)
            options = replace(options, views=tuple(dict.fromkeys(views)))
        check_cameras(options.cameras, all_cameras(suite))
        cameras: list[str] = []
        for name in options.cameras:
            cameras += default_cameras(suite) if name == DEFAULT_CAMERAS else [name]
        if options.views is not None:
            kinds = all_views(suite)
            for name in options.views:
                if name not in kinds:
                    raise UnknownNameError("view", name, tuple(kinds))
            cameras += [name for name in options.views if kinds[name] == "image"]
        for name in info.required_cameras:
            if name not in cameras:
                raise ClevrSkillsError(f"policy {self.name} needs {name}, which is not shown")
        return replace(options, cameras=tuple(dict.fromkeys(cameras)))

    def _make(self, suite: Suite, interface: str | None) -> Any:
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
                f"{self.name} is of type {type(make).__name__}; give a class, or a function that "
                "returns a policy"
            )
        given = dict(self.arguments)
        if {"suite", "interface"} <= signature(make).parameters.keys():
            given |= {"suite": suite, "interface": find_interface(suite, interface)}
        try:
            signature(make).bind(*folder, **given)
        except TypeError as error:
            raise ClevrSkillsError(
                f"cannot make the policy {self.name}: {error}; give arguments with "
                "--policy-arg NAME=VALUE"
            ) from None
        check_annotated(make, given)
        return make(*folder, **given)


def check_annotated(make: Callable[..., Any], given: Mapping[str, Any]) -> None:
    """Check the types of arguments that are annotated as ``bool``, ``int``, ``float`` or ``str``.

    Raises:
        ClevrSkillsError: An argument has another type.
    """
    for name, parameter in signature(make).parameters.items():
        of, value = parameter.annotation, given.get(name)
        kinds = (
            (of.__name__ if isinstance(of, type) else str(of)).removesuffix(" | None").split(" | ")
        )
        plain = kinds != ["str"] and {"bool", "int", "float", "str"}.issuperset(kinds)
        if plain and value is not None:
            check_kind(name, value, *kinds)


def absolute_name(name: str) -> str:
    """Return the name of a policy with its path made absolute, except for ``zoo/NAME``."""
    head, _, rest = name.partition(":")
    if name.startswith(SCRIPT):
        head, rest = SCRIPT[:-1], name.removeprefix(SCRIPT)
    elif head not in FOLDERS and not (head in _others() and Path(rest).exists()):
        return name
    of_zoo = head != "replay" and Path(rest).parts[:1] == ("zoo",)
    return name if of_zoo or not rest else f"{head}:{Path(rest).absolute()}"


def _others() -> Mapping[str, EntryPoint]:
    """Return the policies of other distributions, ``NAME`` or ``NAME:DIR``."""
    return others("policies", {**BUILT_IN, **OF_FOLDER})


def _declared(policy: Any, name: str) -> PolicyInfo:
    """Return the declaration of a policy."""
    given = {f.name: getattr(policy, f.name) for f in fields(PolicyInfo) if hasattr(policy, f.name)}
    try:
        if isinstance(given.get("observation"), Mapping):
            given["observation"] = ObservationOptions(**given["observation"])
        return PolicyInfo(**given)
    except (ClevrSkillsError, TypeError) as error:
        raise ClevrSkillsError(f"policy {name}: {error}") from None


def _attribute(name: str) -> Any:
    """Import ``module:attribute``."""
    module_name, _, path = name.partition(":")
    try:
        found: Any = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name and (module_name == error.name or module_name.startswith(f"{error.name}.")):
            raise ClevrSkillsError(
                f"policy {name}: there is no module {error.name}, neither here nor installed"
            ) from None
        raise
    for part in path.split("."):
        if not hasattr(found, part):
            own = [n for n, value in vars(found).items() if hasattr(value, "act")]
            raise UnknownNameError(f"attribute of {module_name}", path, own or ["(no policy)"])
        found = getattr(found, part)
    return found


def policy_arguments(pairs: Sequence[str]) -> dict[str, Any]:
    """Parse ``NAME=VALUE`` pairs; values are JSON or else text.

    Raises:
        ClevrSkillsError: A pair has another form, or a name is repeated.
    """
    values: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        named = all(part.isidentifier() for part in name.split("."))  # planner.model: of a part
        if not equals or not named or name in values:
            raise ClevrSkillsError(
                f"{pair!r} is not an argument; allowed: NAME=VALUE, each name once"
            )
        try:
            values[name] = json.loads(text)
        except ValueError:
            values[name] = text
    return values
