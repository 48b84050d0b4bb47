"""Plug-in: exports of runs to Inspect, Every Eval Ever, the Hugging Face Hub, MLflow and Weights & Biases."""
