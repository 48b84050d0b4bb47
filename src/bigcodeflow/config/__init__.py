"""Everything that a run can be told: the YAML presets, ``--set`` and the form in the Prefect UI fill one model."""

from bigcodeflow.config.execution import (
    BackendName,
    ClusterConfig,
    DockerConfig,
    E2BConfig,
    ExecutionConfig,
    LimitsConfig,
    Quarantine,
    ServiceConfig,
    Start,
    Variant,
)
from bigcodeflow.config.generation import (
    GenerationConfig,
    OfflineConfig,
    PromptConfig,
    RequestsConfig,
    SamplingConfig,
)
from bigcodeflow.config.loading import load_config, load_settings, read_preset
from bigcodeflow.config.run import (
    AggregationConfig,
    DatasetConfig,
    RunConfig,
    SafetyPolicy,
    SamplesConfig,
    Sanitizer,
    SanitizingConfig,
    Split,
    Subset,
)

__all__ = [
    "AggregationConfig",
    "BackendName",
    "ClusterConfig",
    "DatasetConfig",
    "DockerConfig",
    "E2BConfig",
    "ExecutionConfig",
    "GenerationConfig",
    "LimitsConfig",
    "OfflineConfig",
    "PromptConfig",
    "Quarantine",
    "RequestsConfig",
    "RunConfig",
    "SafetyPolicy",
    "SamplesConfig",
    "SamplingConfig",
    "Sanitizer",
    "SanitizingConfig",
    "ServiceConfig",
    "Split",
    "Start",
    "Subset",
    "Variant",
    "load_config",
    "load_settings",
    "read_preset",
]
