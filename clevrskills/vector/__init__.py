"""Vector environments for reinforcement learning.

::

    from clevrskills.vector import make_vec
    envs = make_vec("trace", num_envs=32, workers=2)

Scenes are stepped sequentially on the CPU; goals, rewards and observations are evaluated in one
batched call per process.
"""

from clevrskills.vector.env import VectorEnv, make_vec
from clevrskills.vector.spec import VectorSpec
