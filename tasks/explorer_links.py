"""Links from artifacts in the Prefect UI to the explorer, if an explorer next to the server shows the run's store."""

from urllib.parse import quote

from bigcodeflow.prefect_service.folder import explorer_url


def explorer_link(store: str, path: str = "/") -> str:
    """Return the address of a page of the explorer; empty if no explorer shows the store."""
    url = explorer_url(store)
    return f"{url}{path}" if url else ""


def run_path(record: str) -> str:
    """Return the path of a recorded run's page."""
    return f"/runs/{quote(record, safe='')}"


def linked(description: str, store: str, path: str = "/") -> str:
    """Return an artifact's description as Markdown, with a link to the explorer if there is an explorer."""
    link = explorer_link(store, path)
    return f"{description} · [open in the explorer]({link})" if link else description
