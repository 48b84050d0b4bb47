"""Flow of the study of newer libraries: which tasks hold, drift or are dead there, and the scores of models."""

from functools import partial

from bigcodeflow.store import open_store
from bigcodeflow.studies.evolution.config import EvolutionConfig
from bigcodeflow.studies.evolution.study import run_study, study_title
from flows.hooks import by_config, reporting_flow
from tasks.artifacts import show_study
from tasks.progress import RunListener
from tasks.stages import perform_step

WHOLE_BENCHMARK = EvolutionConfig()


def _name(config: EvolutionConfig) -> str:
    return f"evolution, {config.environment} to {config.current}"


@reporting_flow("evolution", flow_run_name=by_config(EvolutionConfig, _name))
def evolution(config: EvolutionConfig = WHOLE_BENCHMARK) -> str:
    """Label tasks in an environment of newer libraries, and score recorded runs there. What was executed is reused.

    Args:
        config: which tasks and runs, and the two environments.

    Returns:
        The key of the result.
    """
    ref = perform_step("evolution", partial(run_study, config, RunListener()))
    show_study(open_store(config.store), ref, study_title(config))
    return ref.key
