"""Start of the Gradio space by ``python -m bigcodeflow.serving.space``."""
