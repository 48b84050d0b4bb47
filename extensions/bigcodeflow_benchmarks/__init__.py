"""Benchmarks beside BigCodeBench, as plug-ins: each module converts the rows of one family of benchmarks to tasks."""
