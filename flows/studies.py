"""Flows of studies, made from the settings of each study: ``flows.studies.NAME`` is the flow of the study NAME."""

import inspect
from functools import cache, partial
from typing import Any

from prefect import Flow

from bigcodeflow.core.settings import SettingsModel
from bigcodeflow.store import ArtifactRef, open_store
from bigcodeflow.studies import installed_studies
from bigcodeflow.studies.registry import help_of
from flows.hooks import by_config, reporting_flow
from tasks.artifacts import show_study
from tasks.progress import RunListener
from tasks.stages import perform_step, take_secret


def __getattr__(name: str) -> Flow[..., ArtifactRef]:
    study = installed_studies().get(name)
    if study is None or study.settings is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _study_flow(name)


@cache
def _study_flow(name: str) -> Flow[..., ArtifactRef]:
    """Return the flow of a study: it takes the study's settings as ``config`` and returns a reference to its result."""
    study = installed_studies()[name]
    model: type[SettingsModel] = study.settings or SettingsModel

    def body(config: Any) -> ArtifactRef:
        for run in study.runs_of_models(config):
            take_secret(run)
        ref = perform_step(study.title.lower(), partial(study.run, config, RunListener()))
        show_study(open_store(config.store), ref, study.subject(config))
        return ref

    # Prefect makes the form from the signature and the docstring, and names the flow of a run without deployment.
    config = inspect.Parameter("config", inspect.Parameter.POSITIONAL_OR_KEYWORD, default=model(), annotation=model)
    body.__signature__ = inspect.Signature([config], return_annotation=ArtifactRef)  # type: ignore[attr-defined]
    body.__annotations__ = {"config": model, "return": ArtifactRef}
    body.__doc__ = f"{help_of(study)}\n\nArgs:\n    config: {inspect.cleandoc(model.__doc__ or study.description)}\n"
    body.__name__ = body.__qualname__ = name
    return reporting_flow(name, flow_run_name=by_config(model, study.run_name))(body)
