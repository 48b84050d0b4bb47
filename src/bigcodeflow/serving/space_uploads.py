"""Files that came to the space: nothing else of this machine is opened, whatever path a call names."""

from pathlib import Path
from typing import Any

import gradio
from gradio.utils import get_upload_folder


def upload_field(label: str, **options: Any) -> gradio.File:
    """A field for one file, which takes uploads only.

    Gradio copies what a call names into its upload folder before the call is answered: any file that this process can
    read, or the content of an address. A mounted app is not asked where the file lies, so it is asked here.
    """
    field = gradio.File(label=label, type="filepath", **options)
    move = field.async_move_resource_to_block_cache

    async def move_uploaded(path: str | Path | None) -> str | None:
        return await move(path and uploaded(path))

    field.async_move_resource_to_block_cache = move_uploaded  # type: ignore[method-assign, assignment]
    return field


def uploaded(path: str | Path) -> Path:
    """The file at a path, once links are followed.

    Raises:
        gradio.Error: it is none of the upload folder's files; also for what a call names as a stream, which Gradio
            passes on as it is.
    """
    folder, file = Path(get_upload_folder()).resolve(), Path(path).resolve()
    if not (file.is_relative_to(folder) and file.is_file()):
        told = "this file was not uploaded to the space: upload it, then name the path that comes back"
        raise gradio.Error(told, print_exception=False)
    return file
