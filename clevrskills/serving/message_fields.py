"""Fields of messages shared by the dialects: state, prompt, images, action specs."""

import functools
import io
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from clevrskills.core.episode import RecordedName, episode_id
from clevrskills.core.interface import as_numbers
from clevrskills.core.policy import Observation, ObservationOptions, PromptInput
from clevrskills.core.suite import find_interface, load_suite
from clevrskills.errors import ClevrSkillsError, whole_number
from clevrskills.sim.render.images import encode_image
from clevrskills.sim.state_vector import parts_of, state_parts


def state_vector(observation: Observation) -> np.ndarray | None:
    """Return the state vector, (n,) float32, with a history (T, n); ``None`` if not observed."""
    measured = observation.get("proprioception") or {}
    parts = [measured[name] for name in state_parts() if name in measured]
    return np.concatenate(parts, axis=-1, dtype=np.float32) if parts else None


def common(
    observation: Observation, prompt: PromptInput, sent: Callable[[np.ndarray], Any]
) -> dict[str, Any]:
    """Return the fields shared by the dialects."""
    data: dict[str, Any] = {"step": int(observation["step"]), "seed": prompt.seed}
    if observation.get("proprioception"):
        data["proprioception"] = dict(observation["proprioception"])
    if prompt.images:
        data["prompt_images"] = {name: sent(image) for name, image in prompt.images.items()}
    return data


def read(
    data: Mapping[str, Any], images: Mapping[Any, Any], state: Any, text: Any
) -> tuple[dict[str, Any], PromptInput]:
    """Return the observation and prompt of a client's message; without ``step`` if it is missing.

    Args:
        data: The message, with the fields of :func:`common` if the client sends them.
        images: Images by camera.
        state: The state vector, used as ``state`` if there is no other proprioception.
        text: Text of the prompt.

    Raises:
        ValueError, ClevrSkillsError: A field is invalid.
    """
    if not isinstance(text, str):
        raise ValueError(f"the prompt is of type {type(text).__name__}, not text")
    proprioception = dict(data.get("proprioception") or {})
    if not proprioception and state is not None:
        proprioception["state"] = np.asarray(state)
    observation: dict[str, Any] = {
        "images": {name: received(image) for name, image in images.items()},
        "proprioception": proprioception,
        "prompt": text,
    }
    if "step" in data:
        observation["step"] = whole_number("step", data["step"])
    images_of_prompt = {name: received(p) for name, p in (data.get("prompt_images") or {}).items()}
    for name, image in images_of_prompt.items():
        _check_image(name, image, None)
    return observation, PromptInput(
        text, images_of_prompt, whole_number("seed", data.get("seed", 0))
    )


def identity(episode: Any) -> dict[str, str]:
    """Return the field that identifies an episode, for privileged servers only."""
    return {"episode": episode_id(episode.task, episode.split, episode.seed)}


def identified(data: Mapping[str, Any]) -> RecordedName | None:
    """Parse the field of :func:`identity`; ``None`` if it is missing.

    Raises:
        ValueError: It is not the name of an episode.
    """
    return RecordedName.parse(str(data["episode"])) if "episode" in data else None


def as_asked(observation: Observation, asked: ObservationOptions | None) -> Observation:
    """Return the requested part of a client's observation.

    Args:
        observation: The observation sent.
        asked: Options of the policy; ``None``: everything is passed on.

    Raises:
        ClevrSkillsError: Something is missing or has another size or layout.
    """
    images = observation["images"]
    names = images if asked is None else asked.cameras
    for name in names:
        if name not in images:
            sent = ", ".join(images) or "none"
            raise ClevrSkillsError(f"no image of {name}, which the policy requires; sent: {sent}")
        _check_image(name, images[name], asked)
    if asked is None:
        return observation
    state = observation["proprioception"]
    if [*state] == ["state"]:  # from clients that send only a state vector
        state = parts_of(np.asarray(state["state"]))
    if asked.proprioception and not state:
        raise ClevrSkillsError("no state of the robot, which the policy requires")
    shown = {name: images[name] for name in names}
    return {**observation, "images": shown, "proprioception": state if asked.proprioception else {}}


def _check_image(name: str, image: np.ndarray, asked: ObservationOptions | None) -> None:
    size = asked.size_px if asked else None
    if asked is None:
        steps: Sequence[int] = image.shape[:-3][:1]  # with a history or without
    else:
        steps = (asked.history,) if asked.history > 1 else ()
    wanted = (*steps, size or "H", size or "W", 3)
    fits = len(image.shape) == len(wanted) and all(
        isinstance(b, str) or a == b for a, b in zip(image.shape, wanted, strict=True)
    )
    if not fits or image.dtype != np.uint8:
        raise ClevrSkillsError(
            f"the image of {name} is {image.shape} {image.dtype}; the policy takes "
            f"({', '.join(map(str, wanted))}) uint8"
        )


def unclipped(answer: Any) -> np.ndarray:
    """Return actions (A,) or (H, A) as float32 without clipping.

    Raises:
        PolicyError: They have another shape, or are not finite.
    """
    find_interface(load_suite()).read(answer, clip=True)
    return as_numbers(answer)


# --- images

COMPRESSIONS = ("none", "jpeg", "png")
JPEG_QUALITY = 95


def encode_file(image: np.ndarray, form: str) -> bytes:
    """Encode an image (H, W, 3) uint8 as JPEG (lossy) or PNG (lossless)."""
    options = {"quality": JPEG_QUALITY} if form == "jpeg" else {"compress_level": 1}
    return encode_image(image, form, **options)


def decode_file(file: bytes) -> np.ndarray:
    """Return the image in a JPEG or PNG file, (H, W, 3) or grayscale (H, W) uint8."""
    from PIL import Image

    return np.array(Image.open(io.BytesIO(file), formats=("JPEG", "PNG")))


def image_encoder(
    compress: str, mark: Callable[[bytes, np.ndarray], Any] = lambda file, image: file
) -> Callable[[np.ndarray], Any]:
    """Return an encoder of images (H, W, 3); histories (T, H, W, 3) become lists of T images.

    Args:
        compress: One of :data:`COMPRESSIONS`; ``none`` for raw arrays.
        mark: Function that marks the file of an image in the dialect.
    """
    if compress == "none":
        return lambda image: image

    def encode(image: np.ndarray) -> Any:
        if image.ndim == 4:
            return [encode(part) for part in image]
        return mark(encode_file(image, compress), image)

    return encode


def received(image: Any) -> np.ndarray:
    """Decode the images of a camera: an array, a file, or a list of either with one per step.

    Raises:
        ValueError: The data is invalid.
    """
    if isinstance(image, np.ndarray):
        return image
    if isinstance(image, bytes):
        return decode_file(image)
    if isinstance(image, list) and image:
        return np.stack([received(part) for part in image])
    raise ValueError(f"not an image: {type(image).__name__}")


# --- actions and observations in the terms of vla-eval

DimSpec = Mapping[str, Any]

_FORMATS = {
    "translation": ("position", "delta_xyz"),
    "rotation": ("rotation", "axis_angle"),
    "gripper": ("gripper", "binary_close_positive"),  # closed means suction
}
"""Name and format of each part of an action."""

DIM_IMAGE: DimSpec = {"name": "image", "dims": 0, "format": "rgb_hwc_uint8"}
DIM_LANGUAGE: DimSpec = {"name": "language", "dims": 0, "format": "language"}
DIM_STATE: DimSpec = {"name": "state", "dims": 0, "format": "raw"}

_ANYTHING = "raw"


@functools.cache
def action_dims() -> dict[str, DimSpec]:
    """Return the parts of an action by name."""
    found: dict[str, DimSpec] = {}
    for part in find_interface(load_suite()).spec["parts"]:
        name, form = _FORMATS[part["name"]]
        size = part["stop"] - part["start"]
        found[name] = {"name": name, "dims": size, "format": form, "range": [-1, 1]}
    return found


def check_action_dims(declared: Any, policy_name: str) -> None:
    """Check the actions declared by a vla-eval server, except those of format "raw".

    Raises:
        ClevrSkillsError: They differ from those of the environments.
    """
    if not isinstance(declared, Mapping):
        raise ClevrSkillsError(f"{policy_name}: its action_spec is not a map: {declared!r:.80}")
    for name, theirs in declared.items():
        if not isinstance(theirs, Mapping) or "format" not in theirs:
            raise ClevrSkillsError(f"{policy_name}: its {name} is not a DimSpec: {theirs!r:.80}")
        if theirs["format"] == _ANYTHING:
            continue
        ours = action_dims().get(name)
        if ours is None:
            raise ClevrSkillsError(
                f"{policy_name}: its actions have a {name}; allowed: {', '.join(action_dims())}"
            )
        if theirs["format"] != ours["format"] or theirs.get("dims", 0) not in (0, ours["dims"]):
            raise ClevrSkillsError(
                f"{policy_name}: its actions have a {name} of {theirs.get('dims', 0)} x "
                f"{theirs['format']}; allowed: {ours['dims']} x {ours['format']}"
            )
