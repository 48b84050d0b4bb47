"""`bigcodeflow import --from-space`: a sample file judged by the original's space, taken in as a run."""

from pathlib import Path

from bigcodeflow.cli.console import notices
from bigcodeflow.config import ServiceConfig
from bigcodeflow.core.errors import ConfigError


def results_from_space(
    address: str, samples: str, *, split: str, subset: str, ids: str = "", calibrated: bool = True, out: Path
) -> Path:
    """Ask a space for the results of a sample file; they are in the folder ``out``, in the original's two files.

    Raises:
        ConfigError: no sample file or no split was given, or the space cannot be asked this.
        SamplesError: there is no such sample file.
        ExecutionError: the space gave no results that can be used.
    """
    from bigcodeflow.execution.original_space import SpaceQuestion, results_of_space

    if not samples:
        raise ConfigError("--from-space judges a sample file: name it with --samples")
    if split not in {"complete", "instruct"}:
        raise ConfigError("--from-space has to know which prompts were answered: add --split complete or instruct")
    question = SpaceQuestion(
        split="instruct" if split == "instruct" else "complete",
        subset="hard" if subset == "hard" else "full",
        calibrated=calibrated,
        selective_evaluate=_numbers(ids),
    )
    notices.print(f"{address} evaluates {samples}: some minutes", soft_wrap=True)
    return results_of_space(ServiceConfig(url=address), Path(samples), out, question)


def _numbers(ids: str) -> str:
    """Task numbers as the space takes them: without ranges and prefixes."""
    numbers: list[int] = []
    for part in filter(None, (part.strip() for part in ids.split(","))):
        first, _, last = part.rpartition("/")[2].partition("-")
        if not first.isdigit() or (last and not last.isdigit()):
            raise ConfigError(f"--ids {part!r} is no task number and no range such as 5-9")
        numbers += range(int(first), int(last or first) + 1)
    return ",".join(map(str, numbers))
