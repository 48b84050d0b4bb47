"""Flow that runs a model on tasks and on variants of them with the same meaning, and compares both scores."""

from functools import partial

from bigcodeflow.pipeline.concurrent_stages import StageLocks
from bigcodeflow.pipeline.outputs import run_title
from bigcodeflow.pipeline.resolution import Resolver
from bigcodeflow.results.runs import recorded_run
from bigcodeflow.store import ArtifactRef
from bigcodeflow_studies.perturbation import PerturbationConfig
from bigcodeflow_studies.perturbation.comparing import compare_runs, perturbed_run, require_answers
from bigcodeflow_studies.perturbation.writing import make_variants
from flows.benchmark import judge
from flows.hooks import by_config, reporting_flow
from tasks.artifacts import show_study
from tasks.progress import RunListener
from tasks.stages import perform_step

STARTER_ORACLE = PerturbationConfig()


_NAME = by_config(PerturbationConfig, lambda config: f"perturbation: {run_title(config.run)}")


@reporting_flow("perturbation", flow_run_name=_NAME)
def perturbation(config: PerturbationConfig = STARTER_ORACLE) -> ArtifactRef:
    """Judge a model on tasks and on variants with the same meaning, and compare the scores. Finished work is reused.

    Args:
        config: the run on the original tasks, and the changes that make the variants.
    """
    require_answers(config.run)
    variants = perform_step("variants", partial(make_variants, config, RunListener()))
    changed, resolver, stage_locks = perturbed_run(config.run, variants.path), Resolver(), StageLocks()
    finished = [judge(run, resolver, stage_locks) for run in (config.run, changed)]
    store = finished[0].store
    runs = [recorded_run(store, one.outputs.record) for one in finished]
    ref = perform_step("comparison", partial(compare_runs, store, *runs, variant=config.run.execution.variants[0]))
    show_study(store, ref, run_title(config.run))
    return ref
