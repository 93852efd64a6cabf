"""Compact modular policy: perception trained on scenes, control trained on demonstrations."""
