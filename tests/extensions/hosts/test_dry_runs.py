"""Dry runs and keys touch no backend, and a run asks for its environment once."""

import os
import shutil
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bigcodeflow.config import RunConfig, load_settings
from bigcodeflow.pipeline.resolution import Resolver
from bigcodeflow.pipeline.stages import each_stage, stage_of
from bigcodeflow.pipeline.sweep_results import plan_of
from bigcodeflow.pipeline.sweeps import SweepConfig, SweepModel, members_of
from bigcodeflow.store import ArtifactRef
from tests.extensions.hosts.e2b import E2BDouble
from tests.serving.services import recorded_calls

pytestmark = pytest.mark.sandbox


def config_of(folder: Path, backend: dict[str, Any]) -> RunConfig:
    return load_settings(
        {"store": str(folder / "store"), "samples": {"source": "oracle"}, "execution": backend, "name": "m"}, "test"
    )


def requests_of(double: E2BDouble) -> list[tuple[str, str]]:
    """What was asked of the cloud; what the SDK sends when it lets go of a sandbox may come later."""
    return [(method, path) for method, path in double.requests if path != "/health"]


def keys_of(config: RunConfig, resolver: Resolver) -> list[str]:
    run, keys = resolver(config), list[str]()

    def obtain(name: str, refs: Mapping[str, ArtifactRef]) -> ArtifactRef:
        stage = stage_of(name, run, refs)
        keys.append(stage.key)
        return ArtifactRef(stage=stage.folder, key=stage.key, rows=0, sha256="")

    each_stage(obtain)
    return keys


@pytest.mark.parametrize("named", ["execution.docker.url", "DOCKER_HOST"])
def test_a_dry_run_with_docker_does_not_reach_the_engine(
    named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the plan of a sweep nor a key opens a connection; what is not known is said."""
    with recorded_calls(socket.create_server(f"{tmp_path}/engine.sock", family=socket.AF_UNIX)) as seen:
        url = f"unix://{tmp_path}/engine.sock"
        values: dict[str, Any] = {"execution.backend": "docker"}
        if named == "DOCKER_HOST":
            monkeypatch.setenv("DOCKER_HOST", url)
        else:
            values[named] = url
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        sweep = SweepConfig(models=(SweepModel(answers="oracle"),), common=values, store=str(tmp_path / "store"))
        [member] = members_of(sweep)
        plan = plan_of(member, None, Resolver(dry_run=True))
        assert not seen
    assert (plan.problem, plan.artifacts) == ("", None)
    assert plan.missing == ("dataset", "generation", "sanitizing", "ground truth", "execution", "aggregation")
    assert "the environment of backend docker is not known yet" in plan.cause


def test_keys_and_dry_runs_with_e2b_ask_nothing_and_start_nothing(double: E2BDouble, tmp_path: Path) -> None:
    """One run asks which build is current, and a build that is new in one sandbox; keys and plans ask nobody."""
    config = config_of(tmp_path, {"backend": "e2b"})
    unknown = keys_of(config, Resolver(dry_run=True))
    assert (double.requests, double.created) == ([], [])
    resolver = Resolver()
    asked = keys_of(config, resolver)
    requests, created = requests_of(double), list(double.created)
    assert requests
    assert len(created) == 1
    assert unknown[:3] == asked[:3]
    assert not set(unknown[3:]) & set(asked[3:])
    assert keys_of(config, resolver) == asked
    assert keys_of(config, Resolver(dry_run=True)) == asked
    assert (requests_of(double), double.created) == (requests, created)


def test_what_a_backend_answered_is_remembered_for_these_settings_alone(double: E2BDouble, tmp_path: Path) -> None:
    """Another template's environment, or a record that is damaged, is unknown to a dry run, never a wrong one."""
    config = config_of(tmp_path, {"backend": "e2b"})
    known = Resolver()(config).environment
    assert Resolver(dry_run=True)(config).environment == known
    other = config_of(tmp_path, {"backend": "e2b", "e2b": {"template": "another"}})
    assert Resolver(dry_run=True)(other).environment is None
    faster = config_of(tmp_path, {"backend": "e2b", "e2b": {"sandboxes": 9}})
    assert Resolver(dry_run=True)(faster).environment == known
    for record in Path(os.environ["XDG_CACHE_HOME"]).glob("bigcodeflow/backends/*.json"):
        record.write_text('{"name": 1')
    assert Resolver(dry_run=True)(config).environment is None
    shutil.rmtree(Path(os.environ["XDG_CACHE_HOME"]) / "bigcodeflow" / "backends")
    assert Resolver(dry_run=True)(config).environment is None
