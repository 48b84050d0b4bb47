"""The space's page in a real browser: a sample file in, results out, and nothing asked of anybody else."""

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from bigcodeflow.config import DatasetConfig
from bigcodeflow.datasets import load_tasks, resolve
from bigcodeflow.judge.environments import InstalledEnvironment
from tests.serving.services import recorded_calls
from tests.serving.space_process import SpaceProcess

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]

_KEY = "a key of the page's tests"
_EVALUATION_MILLISECONDS = 120_000


@pytest.fixture(scope="module")
def internet() -> Iterator[tuple[str, list[bytes]]]:
    """Address and calls of what takes the place of the internet."""
    listener = socket.create_server(("127.0.0.1", 0))
    address = f"http://127.0.0.1:{listener.getsockname()[1]}"
    with recorded_calls(listener) as calls:
        yield address, calls


@pytest.fixture(scope="module")
def space(
    starter_environment: InstalledEnvironment,
    tmp_path_factory: pytest.TempPathFactory,
    internet: tuple[str, list[bytes]],
) -> Iterator[SpaceProcess]:
    proxies = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), internet[0])
    variables = proxies | {"NO_PROXY": "127.0.0.1,localhost", "no_proxy": "127.0.0.1,localhost"}
    started = SpaceProcess(tmp_path_factory.mktemp("space"), key=_KEY, **variables)
    yield started
    started.stop()


@pytest.fixture
def page(chromium: Any, space: SpaceProcess) -> Iterator[Any]:
    """A tab that is let in; a test fails where it asks another machine for anything."""
    context = chromium.new_context(
        viewport={"width": 1280, "height": 900}, http_credentials={"username": "anybody", "password": _KEY}
    )
    tab = context.new_page()
    asked: list[str] = []
    tab.on("request", lambda request: asked.append(request.url))
    tab.goto(space.url)
    tab.get_by_role("button", name="Evaluate").wait_for()
    yield tab
    context.close()
    assert [url for url in asked if not url.startswith((space.url, "data:", "blob:"))] == []


def _samples(folder: Path) -> Path:
    config = DatasetConfig()
    lines = []
    for number, task in enumerate(load_tasks(config, resolve(config)).to_pylist()[:4]):
        right = task["complete_prompt"] + task["canonical_solution"]
        wrong = task["code_prompt"] + "\n    return 'nothing of that kind'\n"
        lines.append(json.dumps({"task_id": task["task_id"], "solution": wrong if number == 1 else right}))
    path = folder / "a-model--bigcodebench-complete--sample.jsonl"
    path.write_text("\n".join(lines) + "\n")
    return path


def _begin(page: Any, samples: Path, ids: str) -> None:
    from playwright.sync_api import TimeoutError as NotShownError

    for last in (False, False, True):  # the page shows the field before it listens to it
        page.locator("input[type=file]").first.set_input_files(samples)
        try:
            page.get_by_text(samples.name[:10]).first.wait_for()
        except NotShownError:
            if last:
                raise
        else:
            break
    page.get_by_label("Only these tasks").fill(ids)
    page.get_by_role("button", name="Evaluate").click()


def test_a_sample_file_is_judged(page: Any, tmp_path: Path) -> None:
    """Progress is shown, then scores and verdicts, then files that say the same."""
    _begin(page, _samples(tmp_path), "0-3")
    page.get_by_text("pass@1").first.wait_for(timeout=_EVALUATION_MILLISECONDS)
    shown = page.locator("body").inner_text()
    assert "75.0" in shown
    assert "Starter/1" in shown
    files = {}
    for link in page.locator("a[download]").all():
        with page.expect_download() as loading:
            link.click()
        target = tmp_path / loading.value.suggested_filename
        loading.value.save_as(target)
        files[target.name] = target
    stem = "a-model--bigcodebench-complete--sample"
    assert set(files) - {f"{stem}.jsonl"} == {
        f"{stem}_eval_results.json",
        f"{stem}_pass_at_k.json",
        "verdicts.parquet",
        "metrics.parquet",
    }
    assert json.loads(files[f"{stem}_pass_at_k.json"].read_text())["pass@1"] == pytest.approx(0.75)
    statuses = pq.read_table(files["verdicts.parquet"], columns=["status"])["status"].to_pylist()
    assert sorted(statuses) == ["fail", "pass", "pass", "pass"]


def test_a_mistake_is_reported_in_one_line(page: Any, tmp_path: Path) -> None:
    """Neither a traceback nor silence."""
    path = tmp_path / "broken.jsonl"
    path.write_text('{"task_id": "Starter/0"}\n')
    _begin(page, path, "0")
    toast = page.get_by_test_id("toast-body")
    toast.wait_for(timeout=_EVALUATION_MILLISECONDS)
    assert "broken.jsonl, line 1: (task Starter/0) has neither solution" in toast.inner_text()
    assert "Traceback" not in page.locator("body").inner_text()


def test_the_page_is_closed_to_strangers(chromium: Any, space: SpaceProcess) -> None:
    """Without the key there is no page at all."""
    context = chromium.new_context(http_credentials={"username": "anybody", "password": "wrong"})
    tab = context.new_page()
    answer = tab.goto(space.url)
    shown = tab.locator("body").inner_text()
    context.close()
    assert answer.status == 401
    assert shown == "Unauthorized"


def test_the_space_called_nobody(space: SpaceProcess, internet: tuple[str, list[bytes]]) -> None:
    """Neither at its start nor since."""
    assert internet[1] == []
