"""Errors with messages for users, as a tree of classes.

BigCodeFlowError                 what is wrong, where, and what to do: one line, shown without a traceback
├── ConfigError                  a preset, an override or a combination of settings
├── DatasetError                 tasks: missing, not reachable, or rows that break the schema
├── SamplesError                 sample files: missing, duplicated, mistyped, foreign or empty
├── GenerationError              a model that does not answer: settings, keys, limits, budgets, its server
├── EnvironmentUnusableError     an environment that is absent, incomplete or cannot judge the selected tasks
├── SandboxUnavailableError      isolation that this machine cannot provide
├── ExecutionError               work that could not be finished although the samples are fine
├── ServiceError                 a Prefect server, worker, database or deployment that does not start or answer
├── PublishingError              results that could not be put on the hub or into a tracker of experiments
└── ArtifactError                a store whose content is missing, damaged or of another version
"""

from collections.abc import Sequence

_SHOWN = 5
_LINES_SHOWN = 20


class BigCodeFlowError(Exception):
    """A condition that the user can fix; its text says what was wrong, where, and what to do."""


def error_message(error: BaseException) -> str:
    """Return the text of another library's error in one line; the error's class name if the text is empty."""
    return " ".join(str(error).split()) or type(error).__name__


def problem_lines(problems: Sequence[str]) -> str:
    """Join problems to a text of at most 20 lines: at most five problems of each kind, then the number left out.

    Problems are of the same kind if they have the same remedy, which is the text after the last colon.
    """
    kinds: dict[str, list[str]] = {}
    for problem in problems:
        kinds.setdefault(problem.rpartition(": ")[2], []).append(problem)
    shown = []
    for alike in kinds.values():
        shown += [*alike[:_SHOWN], *([f"… and {len(alike) - _SHOWN:,} more like these"] if alike[_SHOWN:] else [])]
    return "\n".join([*shown[:_LINES_SHOWN], *(["… and more: correct these first"] if shown[_LINES_SHOWN:] else [])])


class ConfigError(BigCodeFlowError):
    """A preset, an override or a combination of settings that cannot work."""


class DatasetError(BigCodeFlowError):
    """Tasks that are missing, cannot be reached or cannot be read."""


class SamplesError(BigCodeFlowError):
    """A sample file or folder that does not hold what the selected tasks need."""


class GenerationError(BigCodeFlowError):
    """A model that does not answer, for a reason that affects more than one sample."""


class EnvironmentUnusableError(BigCodeFlowError):
    """An environment that is absent, incomplete, or cannot judge the selected tasks."""


class SandboxUnavailableError(BigCodeFlowError):
    """Requested isolation that is not available on this machine."""


class ExecutionError(BigCodeFlowError):
    """Execution that could not be finished for a reason outside the samples."""


class ServiceError(BigCodeFlowError):
    """A Prefect server, worker, database or deployment that does not start or answer."""


class PublishingError(BigCodeFlowError):
    """Results that could not be put on the hub or into a tracker of experiments; the target is unchanged."""


class ArtifactError(BigCodeFlowError):
    """A stored artifact that is missing, damaged, or was written by an incompatible version."""
