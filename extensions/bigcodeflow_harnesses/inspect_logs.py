"""Reader for Inspect's ``.eval`` logs: a ZIP archive with header.json and a file for each sample and epoch."""

import json
import zipfile
import zlib
from pathlib import Path
from typing import Any

import pyarrow as pa

from bigcodeflow.core.errors import SamplesError
from bigcodeflow_harnesses.samples import Content, completion, content_of, inner, request_of, sample_of

#: ZIP's number of Zstandard, which Inspect writes and zipfile reads only from Python 3.14 on.
_ZSTANDARD = 93
_LOCAL_HEADER_BYTES = 30
_MOST_BYTES = 1 << 28
#: Values of a score that mean correct, as in Inspect's value_to_float.
_CORRECT = ("C", "true", "True", "yes", 1)


def read(path: Path) -> Content | None:
    """Read a log of Inspect; return None if the file's name does not end in ``.eval``."""
    if path.suffix != ".eval":
        return None
    try:
        with path.open("rb") as file, zipfile.ZipFile(file) as archive:
            header = _content(file, archive.getinfo("header.json"))
            contents = [_content(file, one) for one in archive.infolist() if one.filename.startswith("samples/")]
            contents.sort(key=lambda one: int(one["epoch"]))
    except (OSError, LookupError, TypeError, ValueError, pa.ArrowException, zipfile.BadZipFile, zlib.error) as error:
        raise SamplesError(f"{path}: is not a finished log of Inspect ({error}): copy it again") from None
    evaluation = header["eval"]
    told = {"date": evaluation.get("created"), "model": evaluation.get("model")}
    told |= request_of(evaluation.get("model_generate_config")) | request_of(inner(header, "plan", "config"))
    version = inner(evaluation, "packages", "inspect_ai") or ""
    return content_of(path, f"inspect_ai {version}", map(_sample, contents), told)


def _content(file: Any, member: zipfile.ZipInfo) -> Any:
    """Return the JSON value of an archive member; unlike zipfile, also read members compressed with Zstandard."""
    file.seek(member.header_offset)
    header = file.read(_LOCAL_HEADER_BYTES)
    file.seek(int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little"), 1)
    data = file.read(member.compress_size)
    if member.compress_type == _ZSTANDARD:
        data = pa.CompressedInputStream(pa.BufferReader(data), "zstd").read(_MOST_BYTES)
    elif member.compress_type == zipfile.ZIP_DEFLATED:
        data = zlib.decompressobj(-zlib.MAX_WBITS).decompress(data, _MOST_BYTES)
    return json.loads(data)


def _sample(content: Content) -> Content:
    metadata, scores = content.get("metadata") or {}, content.get("scores") or {}
    score: Content = next(iter(scores.values()), {})
    task_id = metadata.get("task_id_metadata") or metadata.get("task_id") or content.get("id")
    status: str | None = "pass" if score.get("value") in _CORRECT else "fail"
    if status == "fail" and "timed out" in str(score.get("explanation")):
        status = "timeout"
    if not scores:
        status = "infra_error" if content.get("error") else None
    return sample_of(str(task_id), score.get("answer", ""), status, completion(content.get("output")))
