"""Policies that come with the package, by name."""

BUILT_IN = {
    "oracle": "clevrskills.evaluation.policies.oracle:OraclePolicy",
    "zero": "clevrskills.evaluation.policies.simple:Zero",
    "random": "clevrskills.evaluation.policies.simple:Random",
}
"""Those that take no arguments."""

OF_FOLDER = {
    "replay": "clevrskills.evaluation.policies.replay:Replay",
    "checkpoint": "clevrskills.baselines:load",
    "rl": "clevrskills.rl.policy:Learned",
}
"""Those that are made from a folder, as in ``replay:DATASET``."""
