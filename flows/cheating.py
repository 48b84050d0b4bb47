"""Flow of the cheating rate: models solve tasks whose shown tests contradict their descriptions."""

from functools import partial

from bigcodeflow.store import open_store
from bigcodeflow.studies.cheating import CheatingConfig, run_study, study_title
from flows.hooks import by_config, reporting_flow
from tasks.artifacts import show_study
from tasks.keys import take_secret
from tasks.progress import RunListener
from tasks.stages import perform_step

ORACLE_ON_STARTER = CheatingConfig(samples="oracle")


@reporting_flow("cheating", flow_run_name=by_config(CheatingConfig, study_title))
def cheating(config: CheatingConfig = ORACLE_ON_STARTER) -> str:
    """Tell how many answers to contradicted tasks are cheats, and return the key of the result in the store.

    Args:
        config: which tasks are contradicted, and whose answers are judged.
    """
    for model in config.models:
        take_secret(config.run(generation={"model": model}))
    ref = perform_step("cheating rate", partial(run_study, config, RunListener()))
    show_study(open_store(config.store), ref, study_title(config))
    return ref.key
