"""The record of an imported run: what the file tells and nothing else, under a name that no other content can have."""

import json
from collections.abc import Mapping
from typing import Any

from bigcodeflow.config import RunConfig
from bigcodeflow.core.errors import SamplesError
from bigcodeflow.importing.claims import Claim, Value, agreed
from bigcodeflow.importing.reading import ResultsFile
from bigcodeflow.results.runs import recorded_runs
from bigcodeflow.store import Store, artifact_key

#: Leaves room in a file name for what stands around it.
NAME_LENGTH = 120
#: Sections that the import itself decides on; all others are about an evaluation that took place elsewhere.
_OWN = ("name", "store", "dataset", "samples", "aggregation")
#: Where the same file may lie for another import of it.
_PLACES = ("file",)
_VIEW = ("model", "split", "subset")


def refuse_other_claims(found: ResultsFile, told: Mapping[str, Value | None], store: Store) -> None:
    """See that the store does not hold a run of this very file already under another split, subset or model.

    Args:
        found: the file.
        told: split and subset, and the model, None where nobody names it.
        store: what is looked through.

    Raises:
        SamplesError: it does; one line for each field, with the record.
    """
    claims = [Claim(field, value, "this import") for field in _VIEW if (value := told[field]) is not None]
    for run in recorded_runs(store.location):
        if run.imported.get("sha256") == found.sha256:
            values = {"model": run.imported.get("model"), "split": run.split, "subset": run.subset}
            source = f"{store.root / 'runs' / run.record}.json, which is of this very file (if it is wrong, delete it)"
            claims += [Claim(field, value, source) for field, value in values.items() if value is not None]
    agreed(found.path, claims)


def write_record(
    found: ResultsFile,
    config: RunConfig,
    *,
    told: Mapping[str, Value],
    origin: Mapping[str, Any],
    artifacts: Mapping[str, str | None],
    store: Store,
) -> str:
    """Write the record where the store has none of this content, and return its name.

    Args:
        found: the file; the run takes its date.
        config: what the import was made with.
        told: what is said of the file: model, split, subset, and temperature and n_samples where they are known.
        origin: what the run was made of, beside the file; the same content gives the same record.
        artifacts: keys by stage, None where there is none.
        store: where to.

    Raises:
        SamplesError: a run of this name and this file was made of something else.
    """
    imported = {"file": found.path.name, "sha256": found.sha256, **origin}
    content = {"run": config.name, **told, **{name: imported[name] for name in imported if name not in _PLACES}}
    identity = artifact_key("imported run", 1, content)
    name = f"{found.evaluated_at.strftime('%Y%m%dT%H%M%S.%f')}-{config.name[:NAME_LENGTH]}-{identity[:12]}"
    for run in recorded_runs(store.location):
        if run.record == name and run.keys == {stage: key for stage, key in artifacts.items() if key}:
            return name
        same = run.run == config.name and run.imported.get("sha256") == found.sha256
        if same and run.record != name:
            other = [one for one in sorted(imported) if one not in _PLACES and run.imported.get(one) != imported[one]]
            raise SamplesError(
                f"{found.path}: was imported as {config.name} before, with other {', '.join(other) or 'settings'}, and "
                "no record is replaced: choose another --name, or delete "
                f"{store.root / 'runs' / run.record}.json first"
            )
    moment = found.evaluated_at.isoformat()
    record = {
        "run": config.name,
        "model": told["model"],
        "started_at": moment,
        "finished_at": moment,
        "config": _told_config(config, told),
        "artifacts": artifacts,
        "imported": imported,
    }
    store.write(f"runs/{name}.json", json.dumps(record, indent=2).encode())
    return name


def _told_config(config: RunConfig, told: Mapping[str, Value]) -> dict[str, Any]:
    """The configuration as far as it is known, else null: a default would state how others have evaluated."""
    known: dict[str, Any] = config.model_dump(mode="json")
    content: dict[str, Any] = {name: known[name] if name in _OWN else _nulls(known[name]) for name in known}
    content["generation"]["n_samples"] = told.get("n_samples")
    content["generation"]["sampling"]["temperature"] = told.get("temperature")
    content["execution"]["variants"] = known["execution"]["variants"]
    return content


def _nulls(value: Any) -> Any:
    return {name: _nulls(inner) for name, inner in value.items()} if isinstance(value, dict) else None
