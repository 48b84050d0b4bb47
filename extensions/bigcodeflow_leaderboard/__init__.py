"""Plug-in: the leaderboard, recorded runs and published figures in one ranking, with history and upload to the hub."""
