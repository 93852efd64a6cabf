"""Chat messages: image budget, conversion to OpenAI chat completions, hashes and token counts."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from PIL import Image

from clevrskills.core.policy import ImagePart, Message
from clevrskills.sim.render.images import encode_image

CHARACTERS_PER_TOKEN, PIXELS_PER_TOKEN = 4, 750
"""Size of a token in estimates and for servers that report no usage."""
MEDIA = ("png", "jpeg")


def budgeted(
    messages: Sequence[Message], most: int | None, largest_px: int | None
) -> list[Message]:
    """Fit messages into an image budget: replace the earliest images by text and scale down large
    ones.

    Args:
        messages: The messages.
        most: Maximum number of images; ``None``: no limit.
        largest_px: Maximum length of the longer side of an image; ``None``: no limit.
    """
    images = sum(isinstance(part, ImagePart) for message in messages for part in message.parts)
    over = 0 if most is None else max(0, images - most)
    fitting = []
    for message in messages:
        parts: list[str | ImagePart] = []
        for part in message.parts:
            if isinstance(part, ImagePart) and over:
                over -= 1
                parts.append("(image left out)")
            else:
                parts.append(part if isinstance(part, str) else _shrunk(part, largest_px))
        fitting.append(replace(message, parts=tuple(parts)))
    return fitting


def _shrunk(part: ImagePart, largest_px: int | None) -> ImagePart:
    height, width = part.pixels.shape[:2]
    if largest_px is None or max(height, width) <= largest_px:
        return part
    scale = largest_px / max(height, width)
    size = max(1, round(width * scale)), max(1, round(height * scale))
    small = Image.fromarray(part.pixels).resize(size, Image.Resampling.LANCZOS)
    return replace(part, pixels=np.asarray(small))


def to_openai(messages: Sequence[Message], media: str = "png") -> list[dict[str, Any]]:
    """Return the ``messages`` field of a request, with images as data URLs."""
    data = []
    for message in messages:
        content: Any = [_part(part, media) for part in message.parts]
        if len(content) == 1 and isinstance(message.parts[0], str):
            content = message.parts[0]
        data.append({"role": message.role, "content": content})
    return data


def _part(part: str | ImagePart, media: str) -> dict[str, Any]:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    options = {"compress_level": 3} if media == "png" else {"quality": 90}
    data = base64.b64encode(encode_image(part.pixels, media, **options)).decode()
    return {"type": "image_url", "image_url": {"url": f"data:image/{media};base64,{data}"}}


def from_openai(data: Sequence[Mapping[str, Any]]) -> list[Message]:
    """Return the messages of a request, without their images.

    Raises:
        KeyError, TypeError: The data are not chat messages.
    """
    messages = []
    for entry in data:
        content = entry["content"]
        texts = [content] if isinstance(content, str) else [part.get("text") for part in content]
        messages.append(Message(entry["role"], tuple(text for text in texts if text)))
    return messages


def digest(messages: Sequence[Message]) -> str:
    """Return the SHA-256, in hexadecimal, of the texts and pixels of messages."""
    data = [[m.role, *(_mark(part) for part in m.parts)] for m in messages]
    return hashlib.sha256(json.dumps(data, ensure_ascii=False).encode()).hexdigest()


def _mark(part: str | ImagePart) -> Any:
    if isinstance(part, str):
        return part
    return [list(part.pixels.shape), hashlib.sha256(part.pixels.tobytes()).hexdigest()]


def tokens_of(messages: Sequence[Message]) -> int:
    """Return the approximate number of tokens of messages."""
    tokens = 0.0
    for part in (part for message in messages for part in message.parts):
        if isinstance(part, str):
            tokens += len(part) / CHARACTERS_PER_TOKEN
        else:
            tokens += part.pixels[..., 0].size / PIXELS_PER_TOKEN
    return round(tokens)


def images_of(messages: Sequence[Message]) -> dict[str, np.ndarray]:
    """Return the images of messages by name."""
    parts = (part for message in messages for part in message.parts)
    return {part.name: part.pixels for part in parts if isinstance(part, ImagePart)}
