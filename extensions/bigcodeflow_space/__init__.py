"""Plug-in: the Gradio space: a page for people, and the HTTP service for machines."""
