"""The leaderboard: recorded runs beside the published figures, with a history, in many formats and on the hub."""
