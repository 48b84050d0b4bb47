"""A listener that follows a run without Prefect."""

from collections.abc import Callable

from bigcodeflow.store import ArtifactRef


class RecordingListener:
    """Remembers which stages were computed, and which were found in the store."""

    def __init__(self) -> None:
        self.computed: list[str] = []
        self.reused: list[str] = []

    def begin(self, title: str) -> Callable[..., None]:
        self.computed.append(title)
        return lambda *_counts, **_more: None

    def end(self, title: str, ref: ArtifactRef, *, reused: bool) -> None:
        assert reused is (title not in self.computed)
        if reused:
            self.reused.append(title)
