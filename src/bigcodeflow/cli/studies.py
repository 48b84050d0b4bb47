"""Commands of studies: each has an option for each setting of its study, runs the study and prints the result."""

from typing import Any

import typer

from bigcodeflow.cli.console import print_study
from bigcodeflow.cli.options import Command, settings_options
from bigcodeflow.core.settings import SET, SettingsModel, merged, validated
from bigcodeflow.pipeline.progress import progress_listener
from bigcodeflow.store import open_store
from bigcodeflow.studies import installed_studies
from bigcodeflow.studies.registry import help_of


def study_command(name: str) -> Command:
    """Return the command that runs the study ``name``, with options for the study's settings."""
    study = installed_studies()[name]
    model: type[SettingsModel] = study.settings or SettingsModel
    # Nested models have no option; the field `overrides` is the option --set.
    names = [name for name, field in model.model_fields.items() if not hasattr(field.annotation, "model_fields")]
    chosen = study.options or [SET if name == SET.path else name for name in names]

    def command(context: typer.Context, given: dict[str, Any]) -> None:
        if context.invoked_subcommand:
            return
        config: Any = validated(model, merged({}, given, "command line"), "command line")
        with progress_listener() as listener:
            ref = study.run(config, listener)
        print_study(open_store(config.store), ref)

    command.__doc__ = help_of(study)
    return settings_options(*chosen, model=model)(command)
