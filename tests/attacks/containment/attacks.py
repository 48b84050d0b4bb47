"""The attack programs, as their docstrings describe them."""

import re
from pathlib import Path
from typing import NamedTuple

_PROGRAMS = Path(__file__).parent / "programs"

ATTEMPT = (_PROGRAMS / "shared" / "attempt.py").read_text()
"""Stands in front of every program: says BREACH for what the sandbox let happen."""

TEST = """import unittest
class TestCases(unittest.TestCase):
    def test_answer(self):
        self.assertEqual(task_func(), 42)
"""


class Attack(NamedTuple):
    """One attack program."""

    name: str
    program: str
    statuses: tuple[str, ...]
    """What it may end as; none is a pass. One that is also seen tampering is ``tampered``."""
    shows: str
    """Pattern of what it prints when it went the whole way."""


def _read(path: Path) -> Attack:
    text = path.read_text()
    fields = dict(re.findall(r"^(Status|Shows): (.+?)(?:\"{3})?$", text, re.MULTILINE))
    statuses = (*fields.get("Status", "fail").split(", "), "tampered")
    return Attack(path.stem, ATTEMPT + text, statuses, fields.get("Shows", "" if "Status" in fields else "tried"))


ATTACKS = [_read(path) for path in sorted(_PROGRAMS.glob("*.py"))]
