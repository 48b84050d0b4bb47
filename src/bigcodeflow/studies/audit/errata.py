"""Known errata of the audited tasks, as rows of the audit."""

from collections.abc import Mapping, Sequence
from typing import Any

from bigcodeflow.core.errata import errata_of
from bigcodeflow.studies.audit.findings import ERRATA, Finding


def errata_findings(tasks: Sequence[Mapping[str, Any]]) -> list[Finding]:
    """Return a finding for each erratum of a task whose texts are exactly those with the error."""
    return [
        Finding(task["task_id"], ERRATA, one.kind, one.text, command=one.evidence)
        for task in tasks
        for one in errata_of(task)
    ]
