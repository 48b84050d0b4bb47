"""Grids: parameters that are lists make a run of every combination, each cached apart."""

import itertools

from bigcodeflow.config import RunConfig, SamplingConfig

#: Short names of what a grid may vary, for names of runs and folders.
_SHORT = {
    "temperature": "t",
    "top_p": "p",
    "top_k": "k",
    "max_tokens": "max",
    "frequency_penalty": "fp",
    "presence_penalty": "pp",
    "reasoning_effort": "effort",
    "reasoning_tokens": "think",
}


def settings_of(config: RunConfig) -> tuple[RunConfig, ...]:
    """The run of each combination of the listed values, with a name of its own, and a folder where one is named."""
    sampling = config.generation.sampling
    varied = varied_parameters(sampling) if config.samples.source == "model" else ()
    if not varied:
        return (config,)
    runs = []
    for values in itertools.product(*(getattr(sampling, name) for name in varied)):
        label = "-".join(f"{_SHORT[name]}{value}" for name, value in zip(varied, values, strict=True))
        chosen = sampling.model_copy(update=dict(zip(varied, values, strict=True)))
        generation = config.generation.model_copy(update={"sampling": chosen})
        out = f"{config.out}/{label}" if config.out else ""
        changes = {"name": f"{config.name}+{label}", "out": out, "generation": generation}
        runs.append(config.model_copy(update=changes))
    return tuple(runs)


def varied_parameters(config: SamplingConfig) -> tuple[str, ...]:
    """Names of the parameters that are lists."""
    return tuple(name for name in _SHORT if isinstance(getattr(config, name), tuple))
