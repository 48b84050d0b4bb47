"""Base class of studies, and the studies that are installed."""

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
    """Base class of studies; an entry point of the group ``bigcodeflow.studies`` names each subclass.

    The entry point's name is the name of the study, its store folder, catalog view, flow, command and page. The
    subclass's docstring is the help of command and flow.
    """

    title: ClassVar[str]
    description: ClassVar[str]
    """Sentence that describes the content of the study's tables."""
    schema: ClassVar["pa.Schema"]
    """Columns of a result; the metadata ``grain`` describes a row."""
    settings: type[S] | None = None
    """Settings with defaults, including ``store``; None for a study without command and flow, which runs publish."""
    options: Sequence[SettingOption | str] = ()
    """Options of the command; if empty, each setting becomes an option, and ``overrides`` becomes ``--set``."""
    is_of_one_run: ClassVar[bool] = False
    """True if a result is about a single run and says nothing about other runs of the same model."""

    def run(self, settings: S, listener: "Listener") -> "ArtifactRef":
        """Run the study and return its result, published by `records.publish_study`.

        By default, this calls `run_study` in the module `study` of the study's package.
        """
        return cast("ArtifactRef", self._module("study").run_study(settings, listener))

    def tables(self, rows: "pa.Table") -> list[Table]:
        """Return the tables that show a result to people: first the summary, then the evidence.

        By default, this calls `tables` in the module `tables` of the study's package.
        """
        return cast("list[Table]", self._module("tables").tables(rows))

    def _module(self, name: str) -> Any:
        return import_module(f"{type(self).__module__}.{name}")

    def subject(self, settings: S) -> str:
        """Return the subject of a study with these settings, for the title of its page in Prefect."""
        return str(settings)

    def run_name(self, settings: S) -> str:
        """Return the name of a flow run of this study in Prefect."""
        return f"{self.title.lower()}: {self.subject(settings)}"

    def runs_of_models(self, settings: S) -> Iterable["RunConfig"]:  # noqa: ARG002
        """Return the settings of the study's runs that ask models; the flow looks up the API keys for these runs."""
        return ()


def help_of(study: Study[Any]) -> str:
    """Return the help text of a study's command and flow."""
    return inspect.cleandoc(type(study).__doc__ or study.description)


@cache
def installed_studies() -> Mapping[str, Study[Any]]:
    """Return the installed studies by name, sorted by name."""
    found = ((name, loaded_study(name)) for name in study_entries())
    return {name: study for name, study in found if study is not None}
