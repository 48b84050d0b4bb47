"""Plug-ins for benchmarks other than BigCodeBench: each module converts the rows of a benchmark family to tasks."""
