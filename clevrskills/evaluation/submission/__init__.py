"""Submissions to the leaderboard: a run in one small file, packed, verified, tabled."""
