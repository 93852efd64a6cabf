"""The published weights of JAT, ``jat-project/jat`` on the hub, by this package's names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clevrskills.baselines.checkpoint import read_tensors
from clevrskills.baselines.policies.hub import published_file
from clevrskills.errors import ClevrSkillsError

if TYPE_CHECKING:
    from clevrskills.baselines.policies.jat.policy import JAT

WEIGHTS_FILE = "model.safetensors"
_WORDS, _PLACES = "transformer.wte.weight", "transformer.wpe.weight"
_SAME_WORDS = ("single_discrete_encoder.weight", "multi_discrete_encoder.0.weight")


def load_published(policy: JAT, name: str) -> None:
    """Fill a policy with published weights.

    A shorter window needs the first rows of the table of positions only.

    Args:
        policy: The policy.
        name: Folder or name of the published model.

    Raises:
        ClevrSkillsError: They are not there, or do not fit.
    """
    found = read_tensors(published_file(name, WEIGHTS_FILE))
    for same in _SAME_WORDS:  # one matrix, which is kept under one of its names
        if same in found:
            found.setdefault(_WORDS, found[same])
    needed = policy.state_dict()
    weights = {}
    for ours, tensor in needed.items():
        published = found.get(_published(ours))
        if published is not None and ours == _PLACES:
            published = published[: len(tensor)]
        if published is None or published.shape != tensor.shape:
            there = "is missing" if published is None else f"is {tuple(published.shape)}"
            raise ClevrSkillsError(
                f"the weights of {name} do not fit this configuration: {_published(ours)} {there}, "
                f"not {tuple(tensor.shape)}"
            )
        weights[ours] = published
    policy.load_state_dict(weights)


def _published(ours: str) -> str:
    """The published name of a weight."""
    parts = ours.split(".")
    if parts[0] != "image_encoder":
        return ours
    if parts[1] == "out":
        return f"image_encoder.module.fc.{parts[2]}"
    block, layer, rest = int(parts[2]) + 1, parts[3], ".".join(parts[4:])
    kind = {"convolution": f"conv{block}", "attention": f"att{block}.fc"}[layer]
    return f"image_encoder.module.{kind}.{rest}"
