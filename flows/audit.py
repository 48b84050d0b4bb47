"""Flow of the task audit: find gaps in the tests of tasks, and tasks that cannot be judged reliably."""

from functools import partial

from bigcodeflow.store import open_store
from bigcodeflow.studies.audit import AuditConfig
from bigcodeflow.studies.audit.study import audit as perform_audit
from flows.hooks import by_config, reporting_flow
from tasks.artifacts import show_study
from tasks.progress import RunListener
from tasks.stages import perform_step

STARTER_TASKS = AuditConfig()


def _name(config: AuditConfig) -> str:
    return f"audit {config.environment}, {config.subset}"


@reporting_flow("audit", flow_run_name=by_config(AuditConfig, _name))
def audit(config: AuditConfig = STARTER_TASKS) -> str:
    """Audit tasks and return the key of the result; what was executed before is reused.

    Args:
        config: which tasks, and how thoroughly.
    """
    ref = perform_step("audit", partial(perform_audit, config, RunListener()))
    show_study(open_store(config.store), ref, f"{config.environment}, {config.subset}")
    return ref.key
