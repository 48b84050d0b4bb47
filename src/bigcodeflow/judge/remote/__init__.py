"""Execution outside this process: the protocol, the host program, and the backends http and gradio."""
