"""Where a machine keeps its replica of a store at a URL."""

import hashlib
import os
from pathlib import Path

from bigcodeflow.core.paths import cache_folder

_FOLDER_DIGITS = 16


def replica_folder(url: str) -> Path:
    """Folder of the store's replica: below BIGCODEFLOW_REPLICAS, or bigcodeflow/store in the user's cache."""
    told = os.environ.get("BIGCODEFLOW_REPLICAS")
    root = Path(told).expanduser().resolve() if told else cache_folder() / "store"
    return root / hashlib.sha256(url.encode()).hexdigest()[:_FOLDER_DIGITS]
