"""Plug-in: the engines vllm, transformers and vllm-server, which run models on this machine."""
