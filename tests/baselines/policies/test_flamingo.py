"""Language models that look at images."""

from __future__ import annotations

import pytest
import torch
from clevrskills_policies.robo_flamingo.resampler import PerceiverResampler

from clevrskills.baselines.policies.flamingo import (
    CrossAttention,
    GatedCrossAttention,
    VisionConditionedLM,
)
from clevrskills.baselines.policies.stream_robolm.backbones import make_language_model
from clevrskills.errors import UnknownNameError


@pytest.fixture(autouse=True)
def seeded() -> None:
    torch.manual_seed(0)


def test_tokens_attend_to_unmasked_ones() -> None:
    attention = CrossAttention(16, 8)
    tokens, images = torch.randn(1, 3, 16), torch.randn(1, 4, 8)
    mask = torch.tensor([[[0, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 1]]], dtype=torch.bool)
    other = images.clone()
    other[:, 2:] += 1
    seen, then = attention(tokens, images, mask), attention(tokens, other, mask)
    assert (seen[:, 0] == 0).all()
    assert torch.equal(seen[:, 1], then[:, 1])
    assert (seen[:, 2] - then[:, 2]).abs().max() > 1e-3
    torch.testing.assert_close(seen[:, 2], attention(tokens, images)[:, 2])


def test_a_fully_masked_token_has_finite_gradients() -> None:
    attention = CrossAttention(16, 8)
    images = torch.randn(1, 2, 8, requires_grad=True)
    attention(
        torch.randn(1, 3, 16), images, torch.zeros(1, 3, 2, dtype=torch.bool)
    ).sum().backward()
    assert images.grad is not None and (images.grad == 0).all()
    assert all(torch.isfinite(p.grad).all() for p in attention.parameters() if p.grad is not None)


@pytest.mark.parametrize("name", ["tiny-opt", "tiny-llama"])
def test_closed_gates_do_not_change_a_language_model(name: str) -> None:
    model = make_language_model(name).eval()
    inputs = torch.randn(2, 5, 64)
    expected = model(inputs_embeds=inputs).last_hidden_state
    images = torch.randn(2, 3, 8)
    shown: list[torch.Tensor] = []

    def look(block: GatedCrossAttention, tokens: torch.Tensor) -> torch.Tensor:
        shown.append(tokens)
        return block(tokens, images)

    closed = VisionConditionedLM(model, 8, every=1)(look, inputs_embeds=inputs)
    torch.testing.assert_close(closed, expected)
    assert len(shown) == 2 and not torch.equal(*shown)
    torch.testing.assert_close(model(inputs_embeds=inputs).last_hidden_state, expected)
    opened = VisionConditionedLM(model, 8, every=2, gate=1.0)
    assert list(opened.cross) == ["1"]
    assert (opened(look, inputs_embeds=inputs) - expected).abs().max() > 1e-2
    assert len(shown) == 3


def test_an_error_leaves_nothing_behind() -> None:
    model = make_language_model("tiny-opt").eval()
    looking = VisionConditionedLM(model, 8, every=1)
    inputs = torch.randn(1, 5, 64)

    def look(block: GatedCrossAttention, tokens: torch.Tensor) -> torch.Tensor:
        raise RuntimeError("blind")

    with pytest.raises(RuntimeError, match="blind"):
        looking(look, inputs_embeds=inputs)
    assert model(inputs_embeds=inputs).last_hidden_state.isfinite().all()


def test_another_kind_of_language_model() -> None:
    model = make_language_model("tiny-opt")
    model.config.model_type = "parrot"
    with pytest.raises(UnknownNameError, match="unknown kind of language model 'parrot'; allowed"):
        VisionConditionedLM(model, 8, every=1)


def test_a_resampler_turns_many_features_into_a_few() -> None:
    resampler = PerceiverResampler(8, latents=3, depth=2)
    features = torch.randn(2, 20, 8)
    found = resampler(features)
    assert found.shape == (2, 3, 8)
    torch.testing.assert_close(found, resampler(features.flip(1)))
    assert (found[0] - found[1]).abs().max() > 1e-3
