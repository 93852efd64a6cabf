"""PAR policy: a planner gives text instructions, an actor executes them, a reporter describes the
scene.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clevrskills.agents.client import ChatClient
from clevrskills.agents.prompter import message
from clevrskills.core.env_config import LOOKS
from clevrskills.core.interface import Interface, TextInterface
from clevrskills.core.observer import Observer
from clevrskills.core.policy import (
    ImagePart,
    Message,
    Observation,
    ObservationOptions,
    PromptInput,
    TextAction,
)
from clevrskills.core.policy_loader import LoadedPolicy, PolicySource
from clevrskills.core.suite import Suite, all_interfaces, find_interface
from clevrskills.errors import ClevrSkillsError, UnknownNameError

PARTS = ("planner", "actor", "reporter")
TRUTH, NONE, PERFECT = "truth", "none", "perfect"
REPORT = "report"
"""Name of the planner's view with the reporter's text."""
_CHAT = "chat:"
_REPORTER = """\
You look at a table from above and report to a planner who cannot see it. Top is near the robot, and
in the upper half of the image. Report each object in a line of its own, in exactly this form:
The <smaller or bigger> <color> block is in the <area> area, on the <color> block.
Areas: top left, top right, bottom left, bottom right. If an object is on the table, leave out the
part after the comma; otherwise it may also be: on the <color> zone, in the <color> bowl. Give no
size for bowls and zones. Add nothing else."""


class PAR:
    """Policy of a planner that gives text instructions, an actor that executes them, and a reporter
    that describes the scene.

    Args:
        suite: Suite whose environments have ``actor``, ``judges`` and ``check_report``.
        interface: Text interface.
        planner: Any policy that gives text commands, such as ``chat:URL`` or ``greedy_text``.
        actor: ``perfect``, or a policy of another interface such as ``checkpoint:DIR``, whose
            prompt is the instruction.
        reporter: ``truth``: the ground-truth description; ``chat:URL``: a model that describes the
            image; ``none``: the planner sees the image itself.
        actor_interface: Interface of the actor, whose look applies to all images.
        image: Name of the image view.
        caption: Name of the view with the ground-truth description.
        parts: Arguments of the parts, prefixed by the name of the part, as in ``planner.model``.

    Raises:
        ClevrSkillsError: The interface takes no text commands, or an argument is not allowed.
    """

    privileged = True

    def __init__(
        self,
        suite: Suite,
        interface: Interface,
        planner: str = "chat:oracle",
        actor: str = PERFECT,
        reporter: str = TRUTH,
        actor_interface: str = "pick_place_pixels",
        image: str = "top",
        caption: str = "caption_change",
        **parts: Any,
    ) -> None:
        if not isinstance(interface, TextInterface):
            words = [i.name for i in all_interfaces(suite).values() if isinstance(i, TextInterface)]
            raise ClevrSkillsError(f"par needs text commands: --interface {' or '.join(words)}")
        given = _by_part(parts)
        source = PolicySource(planner, given["planner"], own=suite.policies())
        self._planner = source.make(suite, interface.name)
        self._view = image
        self._reporter = _reporter(reporter, given["reporter"])
        shown = (caption,) if reporter == TRUTH else (image,)
        self._reported = shown if reporter in (TRUTH, NONE) else ()
        self._suite = suite
        self._actor: LoadedPolicy | None = None
        views, look = {*shown}, str(LOOKS[0])
        if actor != PERFECT:
            source = PolicySource(actor, given["actor"], own=suite.policies())
            self._actor = source.make(suite, actor_interface)
            self._acts_by: Any = find_interface(suite, actor_interface)
            views |= {*self._actor.options.cameras}
            look = self._actor.options.look
        self.observation = ObservationOptions(cameras=(), proprioception=False, look=look)
        self.extra_views = tuple(sorted(views))
        self.track = self._planner.info.track

    def reset(self, prompt: PromptInput, *, env: Any, episode: Any) -> None:
        self._env, self._seed = env, prompt.seed
        env.judges = True
        env.actor = self._act_out if self._actor is not None else None
        self._planner.reset(prompt, env, episode)
        if self._reporter is not None:
            self._reporter.begin(prompt)

    def act(self, observation: Observation) -> Any:
        """Return the next instruction.

        Raises:
            PolicyError: No reply has arrived.
            GaveUp: The planner gives up.
        """
        views = {name: observation["views"][name] for name in self._reported}
        usage: Mapping[str, float] = {}
        if self._reporter is not None:
            reply = self._reporter.answer(_request(observation["views"][self._view]))
            self._env.check_report(reply.text)
            views[REPORT], usage = reply.text, reply.usage
        answer = self._planner.act({**observation, "views": views})
        if not usage or not isinstance(answer, TextAction):
            return answer
        total = {k: answer.usage.get(k, 0) + usage.get(k, 0) for k in {*answer.usage, *usage}}
        return TextAction(answer.action, answer.reply, answer.stop, total, answer.record)

    def _act_out(self, instruction: str) -> Any:
        """Return the request of the actor's interface for an instruction."""
        assert self._actor is not None
        observer = Observer(self._env, self._actor.options)
        observer.begin(self._seed)
        prompt, seen = PromptInput(instruction, {}, self._seed), observer.look()
        seen = {**seen, "prompt": instruction}
        self._actor.reset(prompt, self._env)
        return self._acts_by.request(self._acts_by.read(self._actor.act(seen))[0], self._env)


def _by_part(arguments: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Group arguments by part."""
    found: dict[str, dict[str, Any]] = {part: {} for part in PARTS}
    for name, value in arguments.items():
        part, _, rest = name.partition(".")
        if part not in PARTS or not rest:
            allowed = ("planner", "actor", "reporter", *(f"{part}.NAME" for part in PARTS))
            raise UnknownNameError("argument of par", name, allowed)
        found[part][rest] = value
    return found


def _reporter(name: str, arguments: Mapping[str, Any]) -> ChatClient | None:
    """Return the client of a reporter model; ``None``: the reporter is not a model."""
    if name in (TRUTH, NONE):
        return None
    if not name.startswith((f"{_CHAT}http://", f"{_CHAT}https://")):
        raise UnknownNameError("reporter", name, (TRUTH, NONE, "chat:URL"))
    if "model" not in arguments:
        raise ClevrSkillsError("the reporter has no model; pass --policy-arg reporter.model=NAME")
    return ChatClient(name.removeprefix(_CHAT), **arguments)


def _request(image: Any) -> list[Message]:
    """Return the messages to a reporter."""
    shown: list[str | ImagePart] = ["The table now:", ImagePart("table", image)]
    return [Message("system", (_REPORTER,)), message("user", shown)]
