"""Evaluation of policies: frozen episodes, a runner, metrics with intervals, reports."""
