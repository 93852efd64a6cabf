"""Vision-language-action policies of the paper, in the form that ``clevrskills train`` expects."""
