"""Runs that ask a model for samples."""

from tests.generation.conftest import ask  # noqa: F401 - fixture
