"""`bigcodeflow env build`: an environment on this machine, in an image, or as a template of E2B."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from bigcodeflow import environments
from bigcodeflow.cli.console import notices
from bigcodeflow.core.errors import ConfigError

NAME_HELP = "Name of the environment, such as starter, bigcodebench or vllm; see `bigcodeflow env list`."
_ELSEWHERE = "Images and templates"

DataFolder = Annotated[
    Path | None,
    typer.Option(
        help="Folder that already holds the environment's data files; the others are downloaded.",
        envvar="BIGCODEFLOW_NLTK_DATA",
    ),
]
Secrets = Annotated[
    list[str] | None,
    typer.Option(
        "--secret",
        help="NAME=FILE that an image's build is lent, in no layer: pip (pip.conf), uv (uv.toml), certificates.",
        rich_help_panel=_ELSEWHERE,
    ),
]


class Target(StrEnum):
    """What is built."""

    local = "local"
    docker = "docker"
    e2b = "e2b"


def build(
    name: Annotated[str, typer.Argument(help=NAME_HELP)],
    backend: Annotated[
        Target, typer.Option(help="Build it on this machine, as an image of Docker or Podman, or as a template of E2B.")
    ] = Target.local,
    nltk_data: DataFolder = None,
    rebuild: Annotated[bool, typer.Option("--rebuild", help="Start from nothing.")] = False,
    base_image: Annotated[
        str,
        typer.Option(
            help="Python of the environment's version on Debian bookworm. [default: the official image]",
            rich_help_panel=_ELSEWHERE,
        ),
    ] = "",
    engine_url: Annotated[
        str,
        typer.Option(
            help="Address of the engine for images. [default: DOCKER_HOST, or Docker's own]",
            rich_help_panel=_ELSEWHERE,
        ),
    ] = "",
    secrets: Secrets = None,
    network: Annotated[
        str, typer.Option(help="Network of an image's build, such as host.", rich_help_panel=_ELSEWHERE)
    ] = "",
    cores: Annotated[int, typer.Option(min=1, help="Cores of a template's sandboxes.", rich_help_panel=_ELSEWHERE)] = 2,
    memory_mib: Annotated[
        int, typer.Option(min=512, help="Memory of a template's sandboxes, in MiB.", rich_help_panel=_ELSEWHERE)
    ] = 8192,
) -> None:
    """Build an environment outside the repository; an interrupted build goes on where it stopped.

    Images and templates come out of deployments/sandbox/Dockerfile, in a checkout, and have the same libraries as here.
    """
    definition = environments.load_definition(name)
    if backend is Target.local:
        _build_here(definition, nltk_data, rebuild=rebuild)
        return
    shared: dict[str, Any] = {"say": _say, "base_image": base_image, "data_folder": nltk_data, "rebuild": rebuild}
    if backend is Target.docker:
        from bigcodeflow.environments.images import build_image

        image = build_image(definition, url=engine_url, secrets=_files(secrets or ()), network=network, **shared)
        told = f"image {image.tag} is ready ({image.image_id[:19]})"
    else:
        from bigcodeflow.environments.templates import build_template

        template = build_template(definition, cores=cores, memory_mib=memory_mib, **shared)
        told = f"template {template.name} is ready ({template.template_id})"
    notices.print(told, soft_wrap=True)


def _build_here(definition: environments.EnvironmentDefinition, nltk_data: Path | None, *, rebuild: bool) -> None:
    built = environments.build_environment(definition, say=_say, data_folder=nltk_data, rebuild=rebuild)
    notices.print(
        f"{definition.purpose} environment {definition.name} is ready: {built.root} (sha {built.environment_sha[:12]})",
        soft_wrap=True,
    )
    for path in built.missing_data:
        notices.print(f"  without {path}: tasks that read it cannot be judged", soft_wrap=True)


def _files(secrets: list[str] | tuple[str, ...]) -> dict[str, Path]:
    pairs = [text.partition("=") for text in secrets]
    for text, (name, _, file) in zip(secrets, pairs, strict=True):
        if not (name and Path(file).is_file()):
            raise ConfigError(f"--secret {text!r} is no NAME=FILE with a file that is there, such as pip=/etc/pip.conf")
    return {name: Path(file) for name, _, file in pairs}


def _say(line: str) -> None:
    notices.print(f"  {line}", markup=False, soft_wrap=True)
