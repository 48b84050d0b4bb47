"""Plug-in: leaderboard that ranks recorded runs with published figures, keeps a history, and publishes to the hub."""
