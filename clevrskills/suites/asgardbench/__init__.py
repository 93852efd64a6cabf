"""AsgardBench: household tasks whose plan must be repaired by looking."""
