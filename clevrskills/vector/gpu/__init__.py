"""Thousands of environments that are simulated together on a GPU. Experimental."""

from clevrskills.vector.gpu.env import GpuVectorEnv

__all__ = ["GpuVectorEnv"]
