"""Materials: surfaces as the renderer knows them."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import sapien

from clevrskills.suites.asgardbench.models.surfaces import Appearance, Color, texture


@lru_cache(maxsize=1024)
def material(surface: Appearance) -> sapien.render.RenderMaterial:
    """Return SAPIEN's material of a surface, uploaded once."""
    made = sapien.render.RenderMaterial(base_color=[1, 1, 1, 1], roughness=0.9)
    if surface.pattern == "plain" and surface.overlay is None and not surface.mirrors:
        made.base_color = [*(linear(surface.color)), 1.0]
    else:
        pixels = (texture(surface).clip(0, 1) * 255).round().astype(np.uint8)
        opaque = np.full((*pixels.shape[:2], 1), 255, np.uint8)
        made.base_color_texture = sapien.render.RenderTexture2D(
            np.concatenate([pixels, opaque], axis=-1), "R8G8B8A8Unorm", mipmap_levels=5, srgb=True
        )
    if surface.glow > 0:
        power = surface.glow * surface.strength
        made.emission = [*(power * c for c in linear(surface.color)), 1.0]
    return made


def linear(color: Color) -> list[float]:
    """Return a color in linear light, as the renderer reckons."""
    return [c**2.2 for c in color]
