"""A listener that follows a run without Prefect."""

from collections.abc import Callable

from bigcodeflow.store import ArtifactRef


class RecordingListener:
    """Notes what happens to stages, in which order."""

    def __init__(self) -> None:
        self.events: list[str] = []

    @property
    def computed(self) -> list[str]:
        return [event.removesuffix(" begins") for event in self.events if event.endswith(" begins")]

    @property
    def reused(self) -> list[str]:
        return [event.removesuffix(" reused") for event in self.events if event.endswith(" reused")]

    def begin(self, title: str) -> Callable[..., None]:
        self.events.append(f"{title} begins")
        return lambda finished, *_counts, **_more: self.events.append(f"{title} has {finished}")

    def end(self, title: str, ref: ArtifactRef, *, reused: bool) -> None:
        self.events.append(f"{title} reused" if reused else f"{title} ends")

    def before(self, first: str, second: str) -> bool:
        return self.events.index(first) < self.events.index(second)
