"""Artifacts of studies in the Prefect UI."""

from prefect.artifacts import create_markdown_artifact

from bigcodeflow.core.table import Table
from bigcodeflow.store import ArtifactRef, Store
from bigcodeflow.studies import installed_studies
from tasks.explorer_links import linked
from tasks.progress import artifact_key

#: Most rows of one table; an artifact of Prefect may hold 512 KB.
_MOST_ROWS = 200


def show_study(store: Store, ref: ArtifactRef, title: str) -> None:
    """Attach the tables of a study's result to the run as one page."""
    study = installed_studies()[ref.stage]
    parts = [f"# {study.title}: {title}", study.description]
    for table in study.tables(store.read(ref)):
        notes = [*table.notes]
        if len(table.rows) > _MOST_ROWS:
            notes.append(f"The first {_MOST_ROWS} of {len(table.rows):,} rows; the catalog's view {ref.stage} has all.")
        parts.append(Table(table.columns, table.rows[:_MOST_ROWS], table.title, notes).to_markdown(level=2))
    described = linked(f"{study.title}: {title}", store.location, f"/studies/{ref.stage}/{ref.key}")
    create_markdown_artifact("\n\n".join(parts) + "\n", key=artifact_key(ref.stage, title), description=described)
