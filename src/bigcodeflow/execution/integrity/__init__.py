"""Test texts that contradict a task's test: nobody who solves the task passes them."""

from bigcodeflow.execution.integrity.altered_tests import (
    VARIANTS,
    VERSION,
    Alteration,
    AlteredTest,
    contradict,
    copying_text,
    separated_test,
)
from bigcodeflow.execution.integrity.recorded_values import read_recording, recording_text

__all__ = [
    "VARIANTS",
    "VERSION",
    "Alteration",
    "AlteredTest",
    "contradict",
    "copying_text",
    "read_recording",
    "recording_text",
    "separated_test",
]
