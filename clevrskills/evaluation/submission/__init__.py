"""Submissions to the leaderboard: packing, checks and verification."""
