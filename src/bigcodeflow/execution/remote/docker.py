"""The backend docker: each host, with its warm sandboxes, in a container without network, root or capability."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, cast

from bigcodeflow.config import ExecutionConfig
from bigcodeflow.core.errors import EnvironmentUnusableError, SandboxUnavailableError
from bigcodeflow.environments import Environment, RemoteEnvironment
from bigcodeflow.environments.images import environment_of, image_tag
from bigcodeflow.execution.backend_registry import BackendSpec
from bigcodeflow.execution.backends.base import Backend
from bigcodeflow.execution.remote.backend import RemoteBackend
from bigcodeflow.execution.remote.docker_engine import (
    Engine,
    EngineDownError,
    EngineError,
    container_settings,
    require_runtime,
    share_of,
)
from bigcodeflow.execution.remote.docker_transport import ContainerLink
from bigcodeflow.execution.remote.transports import HostRefusedError, LinkLostError


def environment(config: ExecutionConfig) -> RemoteEnvironment:
    """The environment in the configured image, after a look at the engine and its runtime; changes nothing there.

    Raises:
        SandboxUnavailableError: no engine answers, or it lacks the runtime.
        EnvironmentUnusableError: it lacks the image, or that holds another environment.
    """
    name = config.docker.image or image_tag(config.environment)
    try:
        with Engine.connect(config.docker.url) as engine:
            require_runtime(config.docker.runtime, engine.info())
            image = engine.image(name)
    except EngineError as error:
        raise SandboxUnavailableError(f"backend docker: {error}") from error
    if image is None:
        raise EnvironmentUnusableError(
            f"backend docker: the engine has no image {name}: run `bigcodeflow env build {config.environment} "
            "--backend docker`"
        )
    return environment_of(image, name, config.environment)


def backend(config: ExecutionConfig, environment: Environment, cores: float, isolated: bool) -> Backend:  # noqa: FBT001
    """Containers for a worker that may keep so many cores busy."""
    del isolated  # a host isolates, or refuses
    image = cast("RemoteEnvironment", environment).reference

    def settings(engine: Engine) -> dict[str, Any]:
        info = engine.info()
        require_runtime(config.docker.runtime, info)
        engine.require_image(image)
        share = share_of(config, cores, info)
        return container_settings(engine, info, image=image, environment=environment.name, config=config, share=share)

    def open_link() -> ContainerLink:
        with _refusals(), ExitStack() as stack:
            engine = stack.enter_context(Engine.connect(config.docker.url))
            link = ContainerLink(engine, settings(engine))
            stack.pop_all()  # from here on the link's
        return link

    def remove_orphans() -> None:
        with _refusals(), Engine.connect(config.docker.url) as engine:
            engine.remove_orphans()

    return RemoteBackend(
        "docker",
        open_link,
        hosts=config.docker.containers,
        limits=config.limits,
        start=config.start,
        remove_orphans=remove_orphans,
    )


@contextmanager
def _refusals() -> Iterator[None]:
    """What an engine says, in the words of a host.

    Raises:
        LinkLostError: no engine answers.
        HostRefusedError: it does not do what is asked.
    """
    try:
        yield
    except EngineDownError as error:
        raise LinkLostError(str(error)) from error
    except EngineError as error:
        raise HostRefusedError(str(error)) from error


SPEC = BackendSpec(environment, backend)
