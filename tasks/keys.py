"""API keys of providers from Prefect's Secret blocks, for runs without a key in their environment."""

import os
from typing import Any

from prefect.blocks.system import Secret

from bigcodeflow.config import RunConfig
from bigcodeflow.generation import provider_and_model
from bigcodeflow.generation.providers import key_variables, secret_block


def take_secret(config: RunConfig) -> None:
    """Set the model's key variable from the Secret block of its name, if no key variable is set and a block exists."""
    settings = config.generation
    if config.samples.source != "model":
        return
    name, _ = provider_and_model(settings)
    variables = key_variables(name, variable=settings.api_key_variable, base_url=settings.base_url)
    if any(os.environ.get(variable) for variable in variables):
        return
    for variable in variables:
        try:
            secret: Any = Secret.load(secret_block(variable))
        except ValueError:  # no such block
            continue
        os.environ[variable] = str(secret.get())
        return
