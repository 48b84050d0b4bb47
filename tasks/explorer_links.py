"""Links from what the Prefect UI shows to the explorer, where one beside the server shows the run's store."""

from urllib.parse import quote

from bigcodeflow.prefect_service.folder import explorer_url


def explorer_link(store: str, path: str = "/") -> str:
    """Address of a page of the explorer; empty where none shows the store."""
    url = explorer_url(store)
    return f"{url}{path}" if url else ""


def run_path(record: str) -> str:
    """Path of a recorded run's page."""
    return f"/runs/{quote(record, safe='')}"


def linked(description: str, store: str, path: str = "/") -> str:
    """An artifact's description, as Markdown, with a link to the explorer."""
    link = explorer_link(store, path)
    return f"{description} · [open in the explorer]({link})" if link else description
