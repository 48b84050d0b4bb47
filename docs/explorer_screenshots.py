"""Writes docs/images/explorer-*.png: pages of the explorer over a made-up store, as a browser here shows them.

    python docs/explorer_screenshots.py

Needs the system's Chromium (apt-get install chromium). Models and results are made up
(see benchmarks/explorer_store.py).
"""

import shutil
import sys
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

from explorer_store import LAST_NIGHT, MadeUpModel, fill, starter_tasks  # noqa: E402

from bigcodeflow.core.listening import listening  # noqa: E402
from bigcodeflow.explorer.app import make_app, warm_up  # noqa: E402
from bigcodeflow.explorer.catalog import Catalog  # noqa: E402
from bigcodeflow.explorer.server import ExplorerServer  # noqa: E402
from bigcodeflow.results import rebuild_catalog  # noqa: E402
from tests.conftest import CHROMIUM_FLAGS  # noqa: E402

#: Width and height of the window.
SIZES = {"desk": (1280, 900), "phone": (390, 844)}
#: Size and colour scheme of each page's pictures, those that docs/explorer.md shows.
PICTURES = {
    "runs": (("desk", "light"), ("phone", "dark")),
    "comparison": (("desk", "light"), ("phone", "light")),
    "sample": (("desk", "light"), ("phone", "dark")),
}
MODELS = [
    MadeUpModel("granite-river-70b", 0.66, last_skill=0.28),
    MadeUpModel("granite-river-70b", 0.61, "instruct"),
    MadeUpModel("pine-code-32b", 0.58),
    MadeUpModel("pine-code-32b", 0.52, "instruct"),
    MadeUpModel("heron-mini", 0.41),
    MadeUpModel("heron-mini", 0.37, "instruct"),
    MadeUpModel("lark-2-large", 0.74),
    MadeUpModel("lark-2-large", 0.70, "instruct"),
]


def pages(catalog: Catalog) -> Mapping[str, str]:
    """Addresses of the pages that are shown, by the names of their pictures."""
    version = catalog.version()
    runs = [run for run in version.runs if run.model == "granite-river-70b" and run.split == "complete"]
    later, earlier = runs[0].record, runs[1].record
    lost = version.rows(
        "changed_tasks", left_out=[], first=runs[0].execution_key, second=runs[1].execution_key,
        **dict.fromkeys(("first_variant", "second_variant"), "calibrated"),
        **dict.fromkeys(("first_sanitizer", "second_sanitizer"), "parity"),
    )  # fmt: skip
    task = next(row["task_id"] for row in lost if row["first_outcomes"] == ["wrong_api"] or row is lost[-1])
    return {
        "runs": "/",
        "comparison": f"/compare?run={later}&run={earlier}",
        "sample": f"/sample?run={later}&task={task}",
    }


def main() -> None:
    """Make the store, serve it, and take the pictures."""
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as temporary:
        store = Path(temporary) / "results" / "store"
        fill(store, MODELS, nights=8, tasks=starter_tasks())
        rebuild_catalog(store)
        catalog = Catalog(store)
        for _ in warm_up(catalog):
            pass
        with listening("127.0.0.1", 0) as listener:
            url = f"http://127.0.0.1:{listener.getsockname()[1]}"
            server = ExplorerServer(make_app(catalog))
            thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
            thread.start()
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=CHROMIUM_FLAGS)
                for name, address in pages(catalog).items():
                    for place, scheme in PICTURES[name]:
                        width, height = SIZES[place]
                        page = browser.new_page(
                            viewport={"width": width, "height": height}, color_scheme=scheme, device_scale_factor=1
                        )
                        page.goto(f"{url}{address}")
                        page.wait_for_selector("html[data-ready]", state="attached")
                        page.screenshot(path=IMAGES / f"explorer-{name}-{place}-{scheme}.png")
                        page.close()
                browser.close()
            server.should_exit = True
            thread.join()
    print(f"{LAST_NIGHT:%Y-%m-%d} is the last night of the pictures in {IMAGES.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
