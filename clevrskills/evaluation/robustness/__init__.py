"""Robustness: evaluation on perturbed episodes that are still solvable, paired with clean ones."""
