"""Rendering: shaders, offscreen scenes, recorded trajectories, videos, Vulkan devices."""
