"""Contracts of every suite and tool: numpy and torch, no simulator."""
