"""Multi-modal prompts: text interleaved with pictures of objects, textures and key-steps."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from clevrskills.body import Body
from clevrskills.errors import ClevrSkillsError, UnknownNameError

if TYPE_CHECKING:
    from clevrskills.studio import Studio

_PLACEHOLDER = re.compile(r"\{(\w+):(\w+)\}")
_WITH_ARTICLE = re.compile(r"(?:\b(the|The) )?\{(\w+):(\w+)\}")
KINDS = ("obj", "tex", "ks")


@dataclass(frozen=True)
class Prompt:
    """What a task asks for, as text with placeholders for pictures.

    ``{obj:key}`` is a picture of a body alone, ``{tex:key}`` a swatch of its texture, ``{ks:k}``
    the scene at key-step ``k``. A prompt is data: its pictures can be drawn from it at any time,
    anywhere.

    Attributes:
        text: The text with placeholders.
        bodies: The bodies that placeholders may name.
        keysteps: For each key-step the bodies with their poses.
    """

    text: str
    bodies: tuple[Body, ...]
    keysteps: tuple[tuple[Body, ...], ...] = ()

    def __post_init__(self) -> None:
        keys = tuple(body.key for body in self.bodies)
        for kind, name in self.placeholders():
            if kind not in KINDS:
                raise UnknownNameError("kind of placeholder", kind, KINDS)
            allowed = tuple(str(k) for k in range(len(self.keysteps))) if kind == "ks" else keys
            if name not in allowed:
                raise UnknownNameError(f"{kind} of the prompt", name, allowed)

    def placeholders(self) -> list[tuple[str, str]]:
        """The (kind, name) pairs in the text, in order, each once."""
        return list(dict.fromkeys(_PLACEHOLDER.findall(self.text)))

    def parts(self) -> list[tuple[str, str]]:
        """The prompt cut up: ("text", words) and (kind, name) entries in order."""
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
        """The prompt, or another text with the same placeholders, in words only."""
        by_key = {body.key: body for body in self.bodies}

        def words(match: re.Match[str]) -> str:
            article, kind, name = match.groups()
            if kind == "ks":
                return f"{article or 'the'} scene at key-step {name}"
            if name not in by_key:
                raise UnknownNameError(f"{kind} of the prompt", name, tuple(by_key))
            body = by_key[name]
            if kind == "obj":
                return f"{article or 'the'} {body.name}"
            return f"{article} {body.texture}" if article else str(body.texture)

        return _WITH_ARTICLE.sub(words, self.text if text is None else text)

    def images(self, studio: Studio | None = None) -> dict[str, np.ndarray]:
        """Draw the pictures.

        Args:
            studio: Where to draw; by default the process's own.

        Returns:
            Placeholder such as ``{obj:object_0}`` -> (256, 256, 3) uint8.
        """
        if not self.placeholders():
            return {}
        if studio is None:
            from clevrskills.studio import studio as shared_studio

            studio = shared_studio()
        by_key = {body.key: body for body in self.bodies}
        images = {}
        for kind, name in self.placeholders():
            if kind == "ks":
                scene = [(b.geometry, b.texture, b.pose) for b in self.keysteps[int(name)]]
                image = studio.scene_image(scene)
            elif kind == "obj":
                body = by_key[name]
                image = studio.object_image(body.shape, body.texture, body.size)
            else:
                texture = by_key[name].texture
                if texture is None:
                    raise ClevrSkillsError(f"{name} has no texture to show in a prompt")
                image = studio.texture_image(texture)
            images[f"{{{kind}:{name}}}"] = image
        return images

    def to_json(self) -> dict[str, Any]:
        """Plain JSON data that :meth:`from_json` reads."""
        return {
            "text": self.text,
            "bodies": [body.to_json() for body in self.bodies],
            "keysteps": [[body.to_json() for body in scene] for scene in self.keysteps],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Prompt:
        """Read a prompt."""

        def bodies(entries: Sequence[Mapping[str, Any]]) -> tuple[Body, ...]:
            return tuple(Body.from_json(entry) for entry in entries)

        return cls(data["text"], bodies(data["bodies"]), tuple(bodies(s) for s in data["keysteps"]))
