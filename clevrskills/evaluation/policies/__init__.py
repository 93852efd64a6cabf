"""Policies that come with the package, by name; all but ``replay`` take no arguments."""

BUILT_IN = {
    "oracle": "clevrskills.evaluation.policies.oracle:OraclePolicy",
    "zero": "clevrskills.evaluation.policies.simple:Zero",
    "random": "clevrskills.evaluation.policies.simple:Random",
    "replay": "clevrskills.evaluation.policies.replay:Replay",
}
