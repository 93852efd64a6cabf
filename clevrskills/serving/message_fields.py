"""Fields of messages that both dialects share: state, prompt, images, what actions mean."""

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
    """Return the state, (n,) float32, with a history (T, n); ``None``: not observed."""
    measured = observation.get("proprioception") or {}
    parts = [measured[name] for name in state_parts() if name in measured]
    return np.concatenate(parts, axis=-1, dtype=np.float32) if parts else None


def common(
    observation: Observation, prompt: PromptInput, sent: Callable[[np.ndarray], Any]
) -> dict[str, Any]:
    """Return the part that is the same in both dialects.

    Args:
        observation: What a policy is shown.
        prompt: The prompt, with the images that are to be sent.
        sent: Makes of an image what is sent.
    """
    data: dict[str, Any] = {"step": int(observation["step"]), "seed": prompt.seed}
    if observation.get("proprioception"):
        data["proprioception"] = dict(observation["proprioception"])
    if prompt.images:
        data["prompt_images"] = {name: sent(image) for name, image in prompt.images.items()}
    return data


def read(
    data: Mapping[str, Any], images: Mapping[Any, Any], state: Any, text: Any
) -> tuple[dict[str, Any], PromptInput]:
    """Return an observation and the prompt as policies know them, from what a client sent; without
    the ``step`` if that was not.

    Args:
        data: The whole message, with what :func:`common` gave if the client knows of it.
        images: What was sent of each camera.
        state: Its state vector, shown as ``state`` if nothing else is known of the robot.
        text: Of the prompt.

    Raises:
        ValueError: Something is not what it should be.
        ClevrSkillsError: Likewise.
    """
    if not isinstance(text, str):
        raise ValueError(f"the prompt is no text but {type(text).__name__}")
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
    """Return what names an episode; only servers that declare themselves privileged are sent it."""
    return {"episode": episode_id(episode.task, episode.split, episode.seed)}


def identified(data: Mapping[str, Any]) -> RecordedName | None:
    """Read what :func:`identity` gave; ``None``: the client does not name the episode.

    Raises:
        ValueError: It is no name of an episode.
    """
    return RecordedName.parse(str(data["episode"])) if "episode" in data else None


def as_asked(observation: Observation, asked: ObservationOptions | None) -> Observation:
    """Return the part of a client's observation that the policy asked for, as in process.

    Args:
        observation: What was sent.
        asked: What the policy asked for; ``None``: it does not say, so all is shown.

    Raises:
        ClevrSkillsError: Something is missing, or of another size or layout.
    """
    images = observation["images"]
    names = images if asked is None else asked.cameras
    for name in names:
        if name not in images:
            sent = ", ".join(images) or "none"
            raise ClevrSkillsError(f"no image of {name}, which the policy asked for; sent: {sent}")
        _check_image(name, images[name], asked)
    if asked is None:
        return observation
    state = observation["proprioception"]
    if [*state] == ["state"]:  # as of clients that do not know our names
        state = parts_of(np.asarray(state["state"]))
    if asked.proprioception and not state:
        raise ClevrSkillsError("no state of the robot, which the policy asked for")
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
    """Return actions (A,) or (H, A) as float32; clipping to [-1, 1] is left to the runner.

    Raises:
        PolicyError: They are of another shape, or not finite.
    """
    find_interface(load_suite()).read(answer, clip=True)
    return as_numbers(answer)


# --- images

COMPRESSIONS = ("none", "jpeg", "png")
JPEG_QUALITY = 95


def encode_file(image: np.ndarray, form: str) -> bytes:
    """Encode an image (H, W, 3) uint8 as JPEG (smaller, not quite the same) or PNG (the same)."""
    options = {"quality": JPEG_QUALITY} if form == "jpeg" else {"compress_level": 1}
    return encode_image(image, form, **options)


def decode_file(file: bytes) -> np.ndarray:
    """Return the image in a JPEG or PNG file, (H, W, 3) uint8; grey ones are (H, W)."""
    from PIL import Image

    return np.array(Image.open(io.BytesIO(file), formats=("JPEG", "PNG")))


def image_encoder(
    compress: str, mark: Callable[[bytes, np.ndarray], Any] = lambda file, image: file
) -> Callable[[np.ndarray], Any]:
    """Return an encoder of images (H, W, 3) for the message; a history (T, H, W, 3) becomes a list
    of T such.

    Args:
        compress: One of :data:`COMPRESSIONS`; with ``none`` images are sent as they are.
        mark: How the dialect marks the file of an image.
    """
    if compress == "none":
        return lambda image: image

    def encode(image: np.ndarray) -> Any:
        if image.ndim == 4:
            return [encode(part) for part in image]
        return mark(encode_file(image, compress), image)

    return encode


def received(image: Any) -> np.ndarray:
    """Return the images received of a camera: an array, a file, or a list of either, one for each
    step.

    Raises:
        ValueError: It is none of these.
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
    "gripper": ("gripper", "binary_close_positive"),  # it is closed while it sucks
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
    """Compare what a vla-eval server declares its actions to be with ours.

    A format "raw" declares nothing, and parts that are not declared are not compared.

    Raises:
        ClevrSkillsError: They differ.
    """
    if not isinstance(declared, Mapping):
        raise ClevrSkillsError(f"{policy_name}: its action_spec is no map: {declared!r:.80}")
    for name, theirs in declared.items():
        if not isinstance(theirs, Mapping) or "format" not in theirs:
            raise ClevrSkillsError(f"{policy_name}: its {name} is no DimSpec: {theirs!r:.80}")
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
