"""Work on many processes: worker pools, run folders, journals, progress; no simulator."""
