"""Plug-in for a Gradio space, with a page for people and the HTTP service for programs."""
