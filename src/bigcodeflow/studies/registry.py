"""Protocol of a study, and the studies that are installed."""

import inspect
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, cast

from bigcodeflow.core.plugins import loaded_study, study_entries
from bigcodeflow.core.settings import SettingOption, SettingsModel
from bigcodeflow.core.table import Table

if TYPE_CHECKING:
    import pyarrow as pa

    from bigcodeflow.config import RunConfig
    from bigcodeflow.pipeline.stages import Listener
    from bigcodeflow.store import ArtifactRef

S = TypeVar("S", bound=SettingsModel)


class Study(Generic[S]):
    """Base of a study: an entry point of the group ``bigcodeflow.studies`` names the subclass and gives its name.

    The name is also that of the store folder, the catalog view, the flow, the command and the address. The subclass's
    docstring is the help of command and flow.
    """

    title: ClassVar[str]
    description: ClassVar[str]
    """One sentence about the content of its tables."""
    schema: ClassVar["pa.Schema"]
    """Columns of a result; the metadata ``grain`` describes a row."""
    settings: type[S] | None = None
    """Settings, all with defaults, one named ``store``; None if runs publish the study, without command and flow."""
    options: Sequence[SettingOption | str] = ()
    """Options of the command; empty makes one of each field, and ``--set`` of ``overrides``."""
    is_of_one_run: ClassVar[bool] = False
    """True if a result is about a single run and says nothing about other runs of the same model."""

    def run(self, settings: S, listener: "Listener") -> "ArtifactRef":
        """Run the study and return its result, published by `records.publish_study`.

        By default the function `run_study` in the module `study` of the study's package does it.
        """
        return cast("ArtifactRef", self._module("study").run_study(settings, listener))

    def tables(self, rows: "pa.Table") -> list[Table]:
        """Return the tables that people read of a result: first the summary, then the evidence.

        By default the function of this name in the module `tables` of the study's package returns them.
        """
        return cast("list[Table]", self._module("tables").tables(rows))

    def _module(self, name: str) -> Any:
        return import_module(f"{type(self).__module__}.{name}")

    def subject(self, settings: S) -> str:
        """Return what these settings study, for the title of the page in Prefect."""
        return str(settings)

    def run_name(self, settings: S) -> str:
        """Return the name of the flow run."""
        return f"{self.title.lower()}: {self.subject(settings)}"

    def runs_of_models(self, settings: S) -> Iterable["RunConfig"]:  # noqa: ARG002
        """Return settings of runs that ask models, for which the flow looks up API keys."""
        return ()


def help_of(study: Study[Any]) -> str:
    """Return the help of a study's command and flow."""
    return inspect.cleandoc(type(study).__doc__ or study.description)


@cache
def installed_studies() -> Mapping[str, Study[Any]]:
    """Return the installed studies by name, sorted by name."""
    found = ((name, loaded_study(name)) for name in study_entries())
    return {name: study for name, study in found if study is not None}
