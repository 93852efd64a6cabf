"""Multimodal prompts: text interleaved with images of objects, textures and key-steps."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from clevrskills.core import env
from clevrskills.errors import ClevrSkillsError, UnknownNameError
from clevrskills.sim.body import Body
from clevrskills.sim.setting import TABLETOP, Setting

if TYPE_CHECKING:
    from clevrskills.sim.prompt_images import PromptRenderer


_PLACEHOLDER = re.compile(r"\{(\w+):(\w+)\}")
_WITH_ARTICLE = re.compile(r"(?:\b((?:[Tt]he|[Aa]n?)(?: \w+)?) )?\{(\w+):(\w+)\}")
_BEGINS = re.compile(r"(?:^|[.?!] )$")
_SILENT = re.compile(r"(?:uni|one\b|use)", re.IGNORECASE)
_SOUNDING = re.compile(r"(?:[aeiou]|[AEFHILMNORSX]\b)", re.IGNORECASE)
_POSITION = re.compile(r"\{pos:([-.0-9]+),([-.0-9]+),([-.0-9]+)\}")
KINDS = ("obj", "tex", "ks")


@dataclass(frozen=True)
class Keystep:
    """Scene shown in a prompt."""

    bodies: tuple[Body, ...]
    robot: str | None = None  # key of the visible robot; ``None``: none
    qpos: tuple[float, ...] = ()  # joint angles of the robot

    def image(self, renderer: PromptRenderer) -> np.ndarray:
        """Return the image of the main camera, (256, 256, 3) uint8."""
        scene = [(b.geometry, b.texture, b.pose) for b in self.bodies]
        return renderer.scene_image(scene, self.robot, self.qpos)

    def to_json(self) -> dict[str, Any]:
        """Return JSON data."""
        bodies = [body.to_json() for body in self.bodies]
        return {"bodies": bodies, "robot": self.robot, "qpos": list(self.qpos)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Keystep:
        """Return the key-step from the data of :meth:`to_json`."""
        bodies = tuple(map(Body.from_json, data["bodies"]))
        return cls(bodies, data["robot"], tuple(data["qpos"]))


@dataclass(frozen=True)
class Prompt(env.Prompt):
    """Prompt of a task: text with placeholders for images.

    ``{obj:key}`` is an image of a single body, ``{tex:key}`` a swatch of its texture, ``{ks:k}``
    the scene at key-step ``k``. Images are rendered from the prompt on demand.
    """

    text: str  # text with placeholders
    bodies: tuple[Body, ...]  # bodies that placeholders may refer to
    keysteps: tuple[Keystep, ...] = ()
    # common visible radius of images of single bodies, so that sizes are comparable; ``None``: each
    # body fills its image
    picture_radius_m: float | None = None
    others: tuple[str, ...] = ()  # paraphrases without key-steps
    setting: Setting = TABLETOP  # camera and table of the key-steps; not part of the JSON data
    # sets of names (:mod:`clevrskills.assets.names`) used in the text and in each of the others;
    # empty: set 0
    names: tuple[int, ...] = ()
    wording: Mapping[str, Any] = field(default_factory=dict)  # ``index``, ``style``, ``held_out``
    # facts about the episode given to every policy; not part of the JSON data
    about: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        keys = tuple(body.key for body in self.bodies)
        for kind, name in self.placeholders():
            if kind not in KINDS:
                raise UnknownNameError("kind of placeholder", kind, KINDS)
            allowed = tuple(str(k) for k in range(len(self.keysteps))) if kind == "ks" else keys
            if name not in allowed:
                raise UnknownNameError(f"{kind} of the prompt", name, allowed)

    def placeholders(self) -> list[tuple[str, str]]:
        """Return the unique (kind, name) pairs in the text, in order."""
        return list(dict.fromkeys(_PLACEHOLDER.findall(self.text)))

    def parts(self) -> list[tuple[str, str]]:
        """Return the prompt as ("text", words) and (kind, name) entries in order."""
        parts: list[tuple[str, str]] = []
        end = 0
        for match in _PLACEHOLDER.finditer(self.text):
            if match.start() > end:
                parts.append(("text", self.text[end : match.start()]))
            parts.append((match.group(1), match.group(2)))
            end = match.end()
        if end < len(self.text):
            parts.append(("text", self.text[end:]))
        return parts

    def plain(self, text: str | None = None) -> str:
        """Return the prompt, or another text, with placeholders and ``{pos:x,y,z}`` in words."""
        by_key = {body.key: body for body in self.bodies}
        source = self.text if text is None else text
        among = self.bodies if self.names else ()
        names = dict(zip((self.text, *self.others), self.names, strict=False)).get(source, 0)

        def words(match: re.Match[str]) -> str:
            article, kind, name = match.groups()
            if kind == "ks":
                noun = f"scene at key-step {name}"
            elif name not in by_key:
                raise UnknownNameError(f"{kind} of the prompt", name, tuple(by_key))
            elif kind == "obj":
                noun = by_key[name].called(names, among)
            else:
                noun = by_key[name].texture_called(names, among)
            found = f"{_fitting(article, noun)} {noun}" if article else noun
            if not article and kind != "tex":
                found = f"the {noun}"
            begins = _BEGINS.search(match.string[: match.start()])
            return found[:1].upper() + found[1:] if begins else found

        plain = _WITH_ARTICLE.sub(words, source)
        return _POSITION.sub(lambda match: f"({', '.join(match.groups())})", plain)

    def images(self, renderer: PromptRenderer | None = None) -> dict[str, np.ndarray]:
        """Render the images: placeholder such as ``{obj:object_0}`` -> (256, 256, 3) uint8.

        Args:
            renderer: The renderer; by default that of the process.
        """
        if not self.placeholders():
            return {}
        if renderer is None:
            from clevrskills.sim.prompt_images import prompt_renderer

            renderer = prompt_renderer(self.setting)
        by_key = {body.key: body for body in self.bodies}
        images = {}
        for kind, name in self.placeholders():
            if kind == "ks":
                image = self.keysteps[int(name)].image(renderer)
            elif kind == "obj":
                body, radius_m = by_key[name], self.picture_radius_m
                image = renderer.object_image(body.shape, body.texture, body.size, radius_m)
            else:
                texture = by_key[name].texture
                if texture is None:
                    raise ClevrSkillsError(f"{name} has no texture to show in a prompt")
                image = renderer.texture_image(texture)
            images[f"{{{kind}:{name}}}"] = image
        return images

    def to_json(self) -> dict[str, Any]:
        """Return JSON data."""
        return {
            "text": self.text,
            "bodies": [body.to_json() for body in self.bodies],
            "keysteps": [keystep.to_json() for keystep in self.keysteps],
            "picture_radius_m": self.picture_radius_m,
            "others": list(self.others),
            **self.of_wording(),
        }

    def of_wording(self) -> dict[str, Any]:
        """Return the JSON data of the wording, if known."""
        wording = {"wording": dict(self.wording)} if self.wording else {}
        return {**({"names": list(self.names)} if self.names else {}), **wording}

    @classmethod
    def from_json(cls, data: Mapping[str, Any], setting: Setting = TABLETOP) -> Prompt:
        """Return the prompt from the data of :meth:`to_json`."""
        keysteps = tuple(map(Keystep.from_json, data["keysteps"]))
        others = tuple(data.get("others", ()))
        radius_m = data["picture_radius_m"]
        names, wording = tuple(data.get("names", ())), dict(data.get("wording", {}))
        bodies = tuple(map(Body.from_json, data["bodies"]))
        return cls(data["text"], bodies, keysteps, radius_m, others, setting, names, wording)


class DeferredPrompt(Prompt):
    """Prompt that is created on first access and then becomes a :class:`Prompt`.

    Args:
        word: Returns the prompt.
    """

    def __init__(self, word: Callable[[], Prompt]) -> None:
        object.__setattr__(self, "_word", word)

    def __getattribute__(self, name: str) -> Any:
        fields = vars(object.__getattribute__(self, "_word")())
        object.__setattr__(self, "__class__", Prompt)
        vars(self).clear()
        vars(self).update(fields)
        return getattr(self, name)


def _fitting(article: str, noun: str) -> str:
    """Return the article that fits a noun, ``an`` before a vowel; words between them are kept."""
    first, _, rest = article.partition(" ")
    if first.lower() == "the":
        return article
    word = rest or noun
    vowel = _SOUNDING.match(word) and not _SILENT.match(word)
    return " ".join(filter(None, (first[0] + "n" * bool(vowel), rest)))
