"""A Gradio space that judges: a page for whole runs, and the service's HTTP API."""
