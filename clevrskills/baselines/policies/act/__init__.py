"""ACT: action chunking with transformers."""
