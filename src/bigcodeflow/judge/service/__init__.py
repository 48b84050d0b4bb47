"""Execution as a service: over HTTP (`bigcodeflow serve`), and as a Gradio space with the same HTTP API."""
