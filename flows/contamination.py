"""Flow that searches a corpus for tasks."""

from functools import partial

from bigcodeflow.store import ArtifactRef, open_store
from bigcodeflow.studies.contamination import ContaminationConfig
from bigcodeflow.studies.contamination.searching import search_corpus
from flows.hooks import by_config, reporting_flow
from tasks.artifacts import show_study
from tasks.progress import RunListener
from tasks.stages import perform_step

STARTER_ANSWERS = ContaminationConfig()


def _name(config: ContaminationConfig) -> str:
    return f"contamination: {config.dataset.source} in {config.corpus}"


@reporting_flow("contamination", flow_run_name=by_config(ContaminationConfig, _name))
def contamination(config: ContaminationConfig = STARTER_ANSWERS) -> ArtifactRef:
    """Say which tasks' prompts, solutions and tests stand in a corpus. The same search is reused.

    Args:
        config: which corpus, and what is looked for.
    """
    ref = perform_step("search", partial(search_corpus, config, RunListener()))
    show_study(open_store(config.store), ref, f"{config.dataset.source} in {config.corpus}")
    return ref
