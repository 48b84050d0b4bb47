"""The leaderboard: recorded runs and published figures in one ranking, with history, many formats, and hub upload."""
