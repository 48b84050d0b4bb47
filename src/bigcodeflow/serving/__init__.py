"""Executes for others: over HTTP (`bigcodeflow serve`), and as a Gradio space, which answers the same HTTP API."""
