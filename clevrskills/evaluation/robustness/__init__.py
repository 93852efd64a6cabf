"""Robustness: evaluation on perturbed but solvable episodes, paired with clean ones."""
