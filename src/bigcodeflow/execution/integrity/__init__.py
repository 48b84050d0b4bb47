"""Test texts that contradict a task's test: nobody who solves the task passes them."""

from bigcodeflow.execution.integrity.choosing import VARIANTS, VERSION, Alteration, AlteredTest, contradict
from bigcodeflow.execution.integrity.copying import copying_text
from bigcodeflow.execution.integrity.pins import read_recording, recording_text

__all__ = [
    "VARIANTS",
    "VERSION",
    "Alteration",
    "AlteredTest",
    "contradict",
    "copying_text",
    "read_recording",
    "recording_text",
]
