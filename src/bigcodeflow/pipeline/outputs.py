"""Names of a run's outputs: its folder, the stem of its result files, its model and its title."""

import hashlib
import itertools
import json
import logging
import re
import uuid
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bigcodeflow import datasets, generation
from bigcodeflow.config import DatasetConfig, GenerationConfig, OfflineConfig, RunConfig, SamplesConfig, SamplingConfig
from bigcodeflow.config.reads import NEUTRAL
from bigcodeflow.core.errors import ConfigError
from bigcodeflow.core.files import write_atomically
from bigcodeflow.core.paths import user_path
from bigcodeflow.core.plugins import shown_benchmark
from bigcodeflow.core.settings import as_name, flattened
from bigcodeflow.results.formatting import title_of
from bigcodeflow.store import ArtifactRef, open_store

#: File that names the run whose results a folder holds: a copy of the run's record, with the record's name.
RUN_FILE = "run.json"
#: File of the report in the folder of the results.
REPORT_FILE = "report.html"
#: Files in every run's folder; a folder without a record was left by an earlier version.
_RESULTS = ("metrics.parquet", REPORT_FILE)
#: Prefixes of settings that may differ when a run replaces its own results.
_NEUTRAL = tuple(f"{path}." for path in NEUTRAL if path != "name")
_SUFFIX = re.compile(r"\.jsonl(\.gz)?$")
_NAME_LENGTH = 120
#: Characters of a full commit hash. With both limits, a file name stays below the 255 bytes of file systems.
_REVISION_LENGTH = 40
_MODEL_LENGTH = 88
_BENCHMARK_LENGTH = 40
#: The original's dataset; identities leave out its default version.
_BENCHMARK = "bigcode/bigcodebench"
#: Placeholder for samples of any source, used if only the other settings count.
_ANY = SamplesConfig(source="oracle")
#: Names of sample files that do not name a model.
_ANY_MODELS = frozenset(
    {"answers", "completions", "generations", "output", "outputs", "predictions", "responses", "samples", "solutions"}
)

logger = logging.getLogger(__name__)


def own_folder(parent: str, title: str, moment: datetime, token: str = "") -> str:
    """Return the path of a new folder, named by the start time and title of its run.

    ``token`` distinguishes runs that start in the same second; a retry passes the same token. If empty, it is random.
    """
    stamp = moment.astimezone(UTC).strftime("%Y%m%dT%H%M%S")
    return f"{parent}/{stamp}-{as_name(title)[:_NAME_LENGTH].rstrip('-')}-{token or uuid.uuid4().hex[-8:]}"


def in_own_folder(config: RunConfig, moment: datetime, token: str = "") -> RunConfig:
    """Return the settings with ``out`` set: the configured folder, or if it is empty, a new path by :func:`own_folder`.

    Raise ConfigError if the configured folder holds the results of another run.
    """
    if config.out:
        if problem := _other_results(config):
            raise ConfigError(f"out: {problem}, or leave the setting empty to get a new folder")
        return config
    name = model_name(config) if config.name == "run" else config.name
    title = "-".join(
        filter(None, (name, shown_benchmark(config.dataset.source), config.dataset.subset, config.dataset.split))
    )
    return config.model_copy(update={"out": own_folder("results/runs", title, moment, token)})


def recorded_in(folder: str) -> str:
    """Return the name of the run record that a results folder belongs to; return '' if its run.json cannot be read."""
    try:
        return str(json.loads((user_path(folder) / RUN_FILE).read_bytes())["record"])
    except (OSError, ValueError, TypeError, KeyError):
        return ""


def _other_results(config: RunConfig) -> str:
    """Return the reason why ``config.out`` cannot take this run's results, with a remedy; return '' if it can."""
    folder = user_path(config.out)
    if folder.exists() and not folder.is_dir():
        return f"{folder} is a file: name a folder,"
    try:
        held = json.loads((folder / RUN_FILE).read_bytes())
        whose, before = f"run {held['record'] or held['run']}", _settings(RunConfig.model_validate(held["config"]))
    except (OSError, ValueError, TypeError, KeyError):
        if not any((folder / name).exists() for name in (RUN_FILE, *_RESULTS)):
            return ""
        return f"{folder} holds the results of a run that it does not name (no readable run.json): name another folder,"
    now = _settings(config)
    differing = sorted(path for path in before.keys() | now.keys() if before.get(path) != now.get(path))
    if not differing:
        return ""
    return f"{folder} holds the results of {whose} (different settings: {', '.join(differing)}): name another folder,"


def _settings(config: RunConfig) -> dict[str, Any]:
    """Return the settings that can change a run's results, by path."""
    settings = {".".join(path): value for path, value in flattened(config.model_dump(mode="json"))}
    return {path: value for path, value in settings.items() if not f"{path}.".startswith(_NEUTRAL)}


def file_stem(config: RunConfig) -> str:
    """Return the stem of the names of a run's result files.

    For a model's answers it is the stem that the original evaluator uses. For controls it begins with the name of the
    run or control. For other samples it is the stem of the sample file.
    """
    source = config.samples.source
    benchmark = f"{_file_benchmark(config)}{'-hard' if config.dataset.subset == 'hard' else ''}-{config.dataset.split}"
    if source == "model":
        # Provider, temperature and number of samples as the original writes them, then a hash of all other settings;
        # the hash is absent if these are the original's, so that the name equals the original's.
        provider, _ = generation.provider_and_model(config.generation)
        temperature = config.generation.sampling.temperature
        setting = "default" if temperature is None else format(temperature, "g")
        identity, own = _identity(config), ""
        if identity != _identity_of_name(config, provider, setting):
            own = f"-{hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:12]}"
        setting = f"{provider}-{setting}-{config.generation.n_samples}{own}"
        return f"{cut_model(_whole_model(config))}--{benchmark}--{setting}-sanitized_calibrated"
    if source == "starter" or source in generation.CONTROLS:
        return f"{source if config.name == 'run' else config.name}--{benchmark}"
    return _SUFFIX.sub("", Path(source).name)


def _file_benchmark(config: RunConfig) -> str:
    """Return the benchmark's name for names of result files: 'bigcodebench' also for the starter set and task files."""
    return as_name(shown_benchmark(config.dataset.source))[:_BENCHMARK_LENGTH] or "bigcodebench"


def _whole_model(config: RunConfig) -> str:
    """Return MODEL--REVISION as the original evaluator writes it; use only the last part of a local folder's path."""
    _, model = generation.provider_and_model(config.generation)
    name = model.replace("/", "--")
    with suppress(OSError):  # too long for a path
        name = Path(model).name if Path(model).is_dir() else name
    return f"{name}--{config.generation.offline.revision.replace('/', '-') or 'main'}"


def cut_model(model: str) -> str:
    """Shorten MODEL--REVISION so that it fits into a file name."""
    name, dashes, revision = model.rpartition("--")
    revision = revision[:_REVISION_LENGTH]
    return f"{name[: _MODEL_LENGTH - len(revision)]}--{revision}" if dashes else model


def _identity(config: RunConfig) -> dict[str, Any]:
    """Return the settings that distinguish sample files of the same split, subset and number of samples."""
    view = config.dataset.model_dump(mode="json", include={"source", "ids", "libraries", "domains"})
    if config.dataset.difficulty:  # only if set, so that the names of existing files stay valid
        view |= config.dataset.model_dump(mode="json", include={"difficulty", "solve_rates"})
    if config.dataset.limit:
        view["limit"] = config.dataset.limit
    if view["source"] == f"{_BENCHMARK}@{datasets.DEFAULT_VERSION}":
        view["source"] = _BENCHMARK
    asked = generation.identity(config.generation)
    return {"dataset": view, "generation": asked, "sanitizing": config.sanitizing.model_dump(mode="json")}


def _identity_of_name(config: RunConfig, provider: str, temperature: str) -> dict[str, Any]:
    """Return the `_identity` that the parts of a file name imply; the model is empty if the file name is ambiguous."""
    model, _, revision = cut_model(_whole_model(config)).rpartition("--")
    ambiguous = "-" in provider or model.endswith("-") or revision.startswith("-") or not model
    asked = GenerationConfig(
        model="" if ambiguous else f"{provider}:{model.replace('--', '/')}",
        sampling=SamplingConfig(temperature=None if temperature == "default" else float(temperature)),
        offline=OfflineConfig(revision="" if revision == "main" else revision),
    )
    return _identity(RunConfig(dataset=DatasetConfig(source=_BENCHMARK), samples=_ANY, generation=asked))


def model_name(config: RunConfig) -> str:
    """Return the model's name as in file names of the original evaluator (before '--BENCHMARK'), but not shortened.

    If the sample file has a generic name, such as output.jsonl, the name of its folder is put in front.
    """
    if config.samples.source == "model":
        return _whole_model(config)
    name = file_stem(config).partition(f"--{_file_benchmark(config)}")[0]
    return f"{user_path(config.samples.source).absolute().parent.name}--{name}" if name in _ANY_MODELS else name


def run_title(config: RunConfig, selection: str = "") -> str:
    """Return the run's title for displays: model, subset, split, own name if there is any, and selection of tasks."""
    source, view = config.samples.source, config.dataset
    model = source if source == "starter" or source in generation.CONTROLS else model_name(config)
    # A sweep names its runs MODEL-SPLIT-SUBSET-SETTING+GRID; only the end adds anything to the title.
    _, _, rest = config.name.partition(f"-{view.split}-{view.subset}")
    own = rest or config.name.removeprefix("run")
    default = as_name(model.rpartition("--")[0])  # name that a form gives to a run of MODEL--REVISION
    own = "" if own in ("", model, default) else own.lstrip("-+")
    return title_of(model, view.subset, view.split, own, selection, benchmark=shown_benchmark(view.source))


def write_sample_files(config: RunConfig, samples: ArtifactRef, solutions: ArtifactRef) -> tuple[Path, ...]:
    """Write a model's samples into ``config.out``: the original's JSONL, and the samples table as Parquet.

    An existing file of that name with other content is renamed and kept.
    """
    store, out, stem = open_store(config.store), user_path(config.out), file_stem(config)
    answers = store.read(samples, ["raw_text"])["raw_text"].to_pylist()
    rows = store.read(solutions, ["task_id", "solution"]).to_pylist()
    lines = [json.dumps({**row, "raw_solution": answer}) + "\n" for row, answer in zip(rows, answers, strict=True)]
    return (
        _write_beside(out / f"{stem}.jsonl", "".join(lines).encode()),
        _write_beside(out / f"{stem}.samples.parquet", store.path(samples).read_bytes()),
    )


def _write_beside(target: Path, content: bytes) -> Path:
    """Write a file; rename an existing file with other content to a numbered backup first."""
    if target.is_file() and target.read_bytes() != content:
        backups = (target.with_name(f"{target.name}.~{number}~") for number in itertools.count(1))
        kept = target.rename(next(backup for backup in backups if not backup.exists()))
        logger.warning("%s existed with other content: the old file is kept as %s", target, kept)
    return write_atomically(target, content)
