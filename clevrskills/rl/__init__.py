"""Reinforcement learning: PPO on the rewards of the tasks, and adapters to other libraries."""
