"""What a start refuses, before any process is started and in one message."""

import json
import os
import socket
import stat
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import typer

from bigcodeflow.cli.service import down, status
from bigcodeflow.core.errors import ConfigError, ServiceError
from bigcodeflow.prefect_service import options
from bigcodeflow.prefect_service.deployments import deployments_fingerprint, read_deployments
from bigcodeflow.prefect_service.folder import ServiceFolder, ServiceRecord, ServiceSettings
from bigcodeflow.prefect_service.processes import identify
from bigcodeflow.prefect_service.start import start_service
from bigcodeflow.prefect_service.stop import stop_service
from tests.prefect_service.services import Service, free_port


def refuse(service: Service, **given: Any) -> str:
    """The message with which a start ends, and that nothing runs."""
    with pytest.raises((ConfigError, ServiceError)) as raised:
        start_service(service.folder, service.project, given, lambda line: None)
    assert not service.folder.exists or not service.processes()
    return str(raised.value)


def test_a_port_or_an_address_that_cannot_be_had_is_named(service: Service) -> None:
    """Another program has the port; no server could listen at another machine's address."""
    with socket.create_server(("127.0.0.1", service.port)):
        assert f"--port {service.port} is taken" in refuse(service, port=service.port)
    assert "--host 192.0.2.1" in refuse(service, host="192.0.2.1")


def test_a_state_folder_that_cannot_be_made_is_named(service: Service) -> None:
    """A file is in the way."""
    service.folder.root.write_text("")
    assert "--state" in refuse(service)


def test_the_next_free_port_is_taken_where_none_was_asked_for(tmp_path: Path) -> None:
    """Two projects on one machine need no option."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        record = ServiceRecord(settings=ServiceSettings(port=port))
        options.update_settings(record, {})
    assert port < record.settings.port < port + 100


def test_a_file_with_keys_is_read_before_anything_starts_and_followed_after(service: Service, tmp_path: Path) -> None:
    """A missing one or a line that sets nothing is refused; runs find the file through a link that follows changes."""
    keys, other = tmp_path / "keys.env", tmp_path / "other.env"
    assert "--env-file" in refuse(service, env_file=str(keys))
    keys.write_text("OPENAI_API_KEY\n")
    assert "keys.env, line 1: sets no variable" in refuse(service, env_file=str(keys))
    for path in (keys, other):
        path.write_text("OPENAI_API_KEY=k\n")
    record, folder = ServiceRecord(), ServiceFolder(tmp_path / "state")
    folder.root.mkdir()
    named = [{"env_file": str(keys)}, {}, {"env_file": str(other)}, {"env_file": ""}]
    for given, expected in zip(named, (keys, keys, other, None), strict=True):
        options.update_settings(record, given)
        folder.write(record)
        assert (folder.env_file.readlink() if folder.env_file.is_symlink() else None) == expected


def test_a_database_that_does_not_answer_is_named_without_its_password(service: Service) -> None:
    """The reason is given before a server is started that would fail minutes later."""
    url = f"postgresql://user:secret@127.0.0.1:{free_port()}/prefect"
    said = refuse(service, database=url)
    assert "cannot be used" in said
    assert "bigcodeflow up --database URL" in said
    assert "secret" not in said


def test_a_database_url_gets_the_driver_that_prefect_needs(tmp_path: Path) -> None:
    """The usual spellings work, passwords survive, and are never shown; what cannot be used is refused."""
    url = options.database_url("postgres://user:p%40ss@host:5432/prefect")
    assert url == "postgresql+asyncpg://user:p%40ss@host:5432/prefect"
    assert "p%40ss" not in options.without_password(url)
    assert options.database_url("sqlite") == ""
    assert options.without_password("") == "SQLite"
    for wrong in ("mysql://host/name", "not a url", "postgresql//host"):
        with pytest.raises(ConfigError, match=r"postgresql\+asyncpg://USER"):
            options.database_url(wrong)
    with pytest.raises(ServiceError, match="nowhere does not exist"):
        options.check_database(options.database_url(f"sqlite:///{tmp_path}/nowhere/prefect.db"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("deployments: {", "parsing"),
        ("name: x", "must be a list"),
        ("deployments: [{entrypoint: a.b}]", "`name`"),
        ("deployments: [{name: a, work_pool: {name: other}}]", "work pool 'other'"),
    ],
)
def test_a_prefect_yaml_that_cannot_work_is_named(tmp_path: Path, content: str, message: str) -> None:
    """File and fault, before anything is started."""
    file = tmp_path / "prefect.yaml"
    file.write_text(content)
    with pytest.raises(ConfigError, match=message) as raised:
        read_deployments(file)
    assert str(file) in str(raised.value)


def test_a_changed_flow_of_a_plug_in_is_registered_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its form may have changed; entry points by path, and packages that are not installed, change nothing."""
    file, plugin, module = tmp_path / "prefect.yaml", tmp_path / "own_flows_1", tmp_path / "own_flow_1.py"
    plugin.mkdir()
    (plugin / "__init__.py").write_text("")
    module.write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    entries = ["own_flows_1.nightly", "own_flow_1.nightly", "absent_1.flow", "__main__.flow", "a/b.py:flow", None]
    file.write_text(json.dumps({"deployments": [{"name": "a", "entrypoint": one} for one in entries]}))
    before = deployments_fingerprint(file, tmp_path, "")
    assert before == deployments_fingerprint(file, tmp_path, "")
    (plugin / "flow.py").write_text("x = 1")
    changed = deployments_fingerprint(file, tmp_path, "")
    module.write_text("x = 1")
    assert len({before, changed, deployments_fingerprint(file, tmp_path, "")}) == 3


def test_down_and_status_where_nothing_was_started(service: Service, capsys: pytest.CaptureFixture[str]) -> None:
    """Stopping nothing is fine; asking for the state of nothing says how to start. Neither makes a folder."""
    down(state=service.folder.root)
    assert "no service was started" in capsys.readouterr().err
    with pytest.raises(typer.Exit) as ended:
        status(state=service.folder.root)
    assert ended.value.exit_code == 1
    assert "bigcodeflow up" in capsys.readouterr().err
    assert not service.folder.root.exists()


def test_down_leaves_a_stranger_alone_that_has_the_number_of_an_ended_server(service: Service) -> None:
    """After a reboot the numbers of the record are other programs'."""
    mine = identify(os.getpid())
    assert mine is not None
    service.folder.root.mkdir()
    former = replace(mine, started="another boot")
    service.folder.write(ServiceRecord(server=former, worker=former))
    assert stop_service(service.folder, wait=False, notify=lambda line: None) == ()


def test_the_record_is_for_its_owner_only_and_a_damaged_one_is_named(tmp_path: Path) -> None:
    """It holds the database's password."""
    folder = ServiceFolder(tmp_path)
    folder.write(ServiceRecord(settings=ServiceSettings(port=4321)))
    path = tmp_path / "service.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert folder.read().settings.port == 4321
    path.write_text("{")
    with pytest.raises(ServiceError, match=r"service\.json cannot be read"):
        folder.read()


def test_a_start_waits_for_another_start_or_stop_and_says_so(tmp_path: Path) -> None:
    """The second one enters when the first has left."""
    folder, events = ServiceFolder(tmp_path), []

    def hold() -> None:
        with ServiceFolder(tmp_path).locked(events.append):
            entered.set()
            waited.wait(10)
            events.append("left")

    entered, waited = threading.Event(), threading.Event()
    first = threading.Thread(target=hold)
    first.start()
    entered.wait(10)
    with folder.locked(lambda line: (events.append(line), waited.set())):
        events.append("entered")
    first.join()
    assert [event.split(" is at work")[0] for event in events] == [
        "another `bigcodeflow up` or `down`",
        "left",
        "entered",
    ]
