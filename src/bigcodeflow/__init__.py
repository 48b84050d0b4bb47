"""BigCodeBench as a resumable data pipeline: datasets, sanitizing, sandboxed execution and results."""

from importlib.metadata import version

__version__ = version("bigcodeflow")
