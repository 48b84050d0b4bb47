"""The local backend, against what each sample is known to be."""

import pytest

from bigcodeflow.environments import InstalledEnvironment
from bigcodeflow.execution.backends.local import Admission, LocalBackend

from .conftest import AssertSame
from .samples import LIMITS_OF_ALL, SAMPLES, Judged

pytestmark = [pytest.mark.sandbox, pytest.mark.slow, pytest.mark.conformance]


def test_the_samples_cover_every_status(local_verdicts: list[Judged]) -> None:
    """Two hundred samples, all statuses but infra_error, and each end is what its name says."""
    assert len(local_verdicts) == SAMPLES
    found = {one.status for one in local_verdicts}
    assert found == {"pass", "fail", "timeout", "out_of_memory", "syntax_error", "crash", "tampered"}
    ends = {one.name.removeprefix("end: "): one.status for one in local_verdicts if one.name.startswith("end: ")}
    wrong = {
        name: status for name, status in ends.items() if name.split(" by ")[0] in found and not name.startswith(status)
    }
    assert not wrong


def test_honest_programs_pass(local_verdicts: list[Judged]) -> None:
    """All of them; of attacks one execution says nothing, which is why what passes is executed again elsewhere."""
    assert {one.status for one in local_verdicts if one.name.startswith("honest: ")} == {"pass"}


def test_a_cold_start_gives_the_same(starter_environment: InstalledEnvironment, assert_same: AssertSame) -> None:
    """Verdicts do not depend on the start."""
    backend = LocalBackend(starter_environment, LIMITS_OF_ALL, admission=Admission(2))
    backend.check()
    assert_same(backend)
