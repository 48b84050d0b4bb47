"""Every error that a user can meet, as one tree.

BigCodeFlowError                 what is wrong, where, and what to do: one line, shown without a traceback
├── ConfigError                  a preset, an override or a combination of settings
├── DatasetError                 tasks: not found, not reachable, or rows that break the schema
├── SamplesError                 sample files: missing, duplicated, mistyped, foreign or empty
├── GenerationError              a model that does not answer: settings, keys, limits, budgets, its server
├── EnvironmentUnusableError     an environment that is absent, incomplete or cannot judge what was asked
├── SandboxUnavailableError      isolation that this machine cannot give
├── ExecutionError               work that could not be finished although the samples are fine
├── ServiceError                 a Prefect server, worker, database or deployment that does not start or answer
├── PublishingError              results that could not be put on the hub or into a tracker of experiments
└── ArtifactError                a store whose content is gone, damaged or of another version
"""


class BigCodeFlowError(Exception):
    """A condition that the user can mend; its text says what was wrong, where, and what to do."""


def error_message(error: BaseException) -> str:
    """The text of another library's error in one line; the class where it has none."""
    return " ".join(str(error).split()) or type(error).__name__


class ConfigError(BigCodeFlowError):
    """A preset, an override or a combination of settings that cannot work."""


class DatasetError(BigCodeFlowError):
    """Tasks that cannot be found, reached or read."""


class SamplesError(BigCodeFlowError):
    """A sample file or folder that does not hold what the selected tasks need."""


class GenerationError(BigCodeFlowError):
    """A model that does not answer, for a reason that concerns more than one sample."""


class EnvironmentUnusableError(BigCodeFlowError):
    """An environment that is absent, incomplete, or cannot judge the selected tasks."""


class SandboxUnavailableError(BigCodeFlowError):
    """The isolation that was asked for cannot be had on this machine."""


class ExecutionError(BigCodeFlowError):
    """Execution that could not be finished for a reason that lies outside the samples."""


class ServiceError(BigCodeFlowError):
    """A Prefect server, worker, database or deployment that does not start or answer."""


class PublishingError(BigCodeFlowError):
    """Results that could not be put on the hub or into a tracker of experiments; what is there is as it was."""


class ArtifactError(BigCodeFlowError):
    """A stored artifact that is gone, damaged, or was written by an incompatible version."""
