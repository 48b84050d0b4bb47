"""Requirement files in the forms that people and tools write them in."""

import codecs
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.utils import canonicalize_name

from bigcodeflow.core.errors import ConfigError
from bigcodeflow_studies.recommend.requirements import read_requirements

NAMES = st.from_regex(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,12}[A-Za-z0-9])?", fullmatch=True)
EXTRAS = st.sampled_from(["", "[socks]", "[a, b-c]"])
VERSIONS = st.sampled_from(["", "==1.0", " >= 1.2, <2", "~=1.4.2", "===2012b", "!=1.5.*", "==1.0.post1+local"])
MARKERS = st.sampled_from(["", " ; python_version < '3.9'", '; sys_platform == "win32" and extra == "x"'])
ENDS = st.sampled_from(["", "  # via pandas", " --hash=sha256:" + "a" * 64, " \\\n    --hash=sha256:" + "b" * 64])
#: Lines between requirements that name nothing.
OTHERS = st.sampled_from(
    ["", "   ", "# numpy is not asked for", "--index-url https://x.invalid/simple", "-i x", "--pre"]
)
ENCODINGS = {
    "utf-8": lambda text: text.encode(),
    "utf-8 with a mark": lambda text: codecs.BOM_UTF8 + text.encode(),
    "utf-16 with a mark": lambda text: text.encode("utf-16"),
    "utf-16 big-endian with a mark": lambda text: codecs.BOM_UTF16_BE + text.encode("utf-16-be"),
    "utf-16 without a mark": lambda text: text.encode("utf-16-le"),
    "utf-16 big-endian": lambda text: text.encode("utf-16-be"),
    "utf-32": lambda text: text.encode("utf-32"),
    "latin-1": lambda text: ("# Abhängigkeiten\n" + text).encode("latin-1"),
}


def found(folder, text, name="requirements.txt"):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_requirements(path)


LINES = st.lists(st.tuples(NAMES, EXTRAS, VERSIONS, MARKERS, ENDS, OTHERS), min_size=1, max_size=6)


@pytest.mark.slow
@given(lines=LINES, encoding=st.sampled_from(list(ENCODINGS)), newline=st.sampled_from(["\n", "\r\n"]))
def test_every_requirement_is_found_by_its_name(tmp_path_factory, lines, encoding, newline):
    """Whatever extras, versions, markers, hashes and comments follow it, in whatever encoding and order."""
    folder = tmp_path_factory.mktemp("project")
    text = "\n".join(f"{other}\n{''.join(parts)}" for *parts, other in lines).replace("\n", newline) + newline
    expected = tuple(dict.fromkeys(str(canonicalize_name(name)) for name, *_ in lines))
    assert found(folder, ENCODINGS[encoding](text)) == (expected, ())


@given(st.binary(max_size=300) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_any_file_is_read(tmp_path_factory, content):
    """Lines that are no requirements are named with their number, or a user's mistake is told in one line."""
    try:
        read = found(tmp_path_factory.mktemp("project"), content)
    except ConfigError:  # an include that leads nowhere
        return
    assert all(", line " in problem for problem in read.problems)


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("numpy @ https://host.invalid/numpy-1.0.zip", "numpy"),
        ("-e git+https://host.invalid/team/seaborn.git@main#egg=seaborn&subdirectory=x", "seaborn"),
        ("--editable=git+ssh://git@host.invalid/team/x#egg=pandas[all]", "pandas"),
        ("git+https://host.invalid/team/x#egg=Flask", "flask"),
        ("https://host.invalid/wheels/scikit_learn-1.4-cp310-cp310-manylinux_2_17_x86_64.whl", "scikit-learn"),
        ("./wheels/scipy-1.0.tar.gz", "scipy"),
        ("C:\\wheels\\pytz-2024.1-py2.py3-none-any.whl", "pytz"),
        ("file:///wheels/nltk-3.9.1-py3-none-any.whl --hash=sha256:" + "0" * 64, "nltk"),
        ("numpy=1.26.4=py311h64a7726_0", "numpy"),
        ("pytz>dev", "pytz"),
    ],
)
def test_addresses_and_old_forms_name_their_distribution(tmp_path, line, name):
    """URLs and paths by egg= or by the file's name, and what other tools and times have written."""
    assert found(tmp_path, line) == ((name,), ())


@pytest.mark.parametrize(
    "line", [".", "-e .", "./local", "../other[extra]", "git+https://host.invalid/x", "-c limits.txt"]
)
def test_what_names_no_distribution_is_passed_over(tmp_path, line):
    """Paths and addresses without a name, and constraints, ask for nothing that is known."""
    assert found(tmp_path, f"numpy\n{line}\n") == (("numpy",), ())


def test_a_line_that_is_no_requirement_is_named(tmp_path):
    """With file and line; the others count."""
    read = found(tmp_path, "numpy\n\npandas is nice\nscipy\n")
    assert read.distributions == ("numpy", "scipy")
    [problem] = read.problems
    assert "line 3: 'pandas is nice' names no distribution" in problem


def test_included_files_count_once(tmp_path):
    """Relative to the file that includes them, in either form; a circle ends."""
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "base.txt").write_text("scipy\n-r ../requirements.txt\n")
    (tmp_path / "dev.txt").write_text("--requirement=more/base.txt\nseaborn\n")
    assert found(tmp_path, "pandas\n-rdev.txt\n-r 'more/base.txt'\n").distributions == ("pandas", "scipy", "seaborn")


@pytest.mark.parametrize("name", ["gone.txt", "https://host.invalid/requirements.txt"])
def test_an_include_that_cannot_be_read_is_one_line(tmp_path, name):
    """It says where the include stands."""
    with pytest.raises(ConfigError, match=r"requirements.txt, line 2: includes") as raised:
        found(tmp_path, f"numpy\n-r {name}\n")
    assert "\n" not in str(raised.value)


PYPROJECT = """
[project]
name = "own"
dependencies = ["numpy>=1", "requests[socks] ; python_version > '3'"]
[project.optional-dependencies]
plots = ["matplotlib"]
[dependency-groups]
dev = ["pytest", {include-group = "other"}]
[tool.poetry.dependencies]
python = "^3.10"
Pandas = {version = "^2", extras = ["all"]}
[tool.poetry.group.test.dependencies]
faker = "*"
[tool.uv]
dev-dependencies = ["Flask>=2"]
[tool.pdm.dev-dependencies]
docs = ["mechanize", "-e file:///x#egg=own-docs"]
"""
POETRY = '[[package]]\nname = "numpy"\nversion = "1.0"\n[[package]]\nname = "PyYAML"\nversion = "6"\n'
UV = (
    'version = 1\n[[package]]\nname = "own"\nsource = { editable = "." }\n'
    '[[package]]\nname = "scipy"\nsource = { registry = "x" }\n'
)
PIPFILE = {"_meta": {}, "default": {"numpy": {"version": "==1"}}, "develop": {"faker": {}}}


@pytest.mark.parametrize(
    ("name", "text", "names"),
    [
        (
            "pyproject.toml",
            PYPROJECT,
            {"numpy", "requests", "matplotlib", "pytest", "pandas", "faker", "flask", "mechanize"},
        ),
        ("poetry.lock", POETRY, {"numpy", "pyyaml"}),
        ("uv.lock", UV, {"scipy"}),
        ("pylock.toml", '[[packages]]\nname = "lxml"\n', {"lxml"}),
        ("Pipfile.lock", json.dumps(PIPFILE), {"numpy", "faker"}),
        *(("Pipfile.lock", text, set()) for text in ("[]", "3", '"text"', '{"default": 3}')),
        ("Pipfile", '[packages]\nnumpy = "*"\n[dev-packages]\nnltk = "*"\n', {"numpy", "nltk"}),
        (
            "requirements.lock",
            "numpy==1 \\\n    --hash=sha256:0\n    # via\n    #   pandas\npandas==2\n",
            {"numpy", "pandas"},
        ),
    ],
)
def test_projects_and_locks_are_read_in_their_formats(tmp_path, name, text, names):
    """The file's name tells the format; uv's project itself is no dependency; JSON of another shape has none."""
    assert set(found(tmp_path, text, name).distributions) == names


@pytest.mark.parametrize(
    ("name", "text"),
    [("pyproject.toml", "[project"), ("uv.lock", "]"), ("Pipfile.lock", "{"), ("poetry.lock", b"\xff\0")],
)
def test_a_damaged_file_is_one_line(tmp_path, name, text):
    """It names the file and what it should be."""
    with pytest.raises(ConfigError, match=f"{name}: is not valid (TOML|JSON)") as raised:
        found(tmp_path, text, name)
    assert "\n" not in str(raised.value)


def test_a_file_that_is_not_there_is_one_line(tmp_path):
    """Also a folder in its place."""
    for path in (tmp_path / "gone.txt", tmp_path):
        with pytest.raises(ConfigError, match="cannot be read"):
            read_requirements(path)


@pytest.mark.parametrize("name", ["environment.yml", "setup.py", "setup.cfg", "project.toml"])
def test_files_of_other_formats_are_refused(tmp_path, name):
    """Their lines would name nothing, or what is none of the project's; also where another file includes them."""
    (tmp_path / name).write_text("dependencies:\n  - numpy=1.26\n")
    (tmp_path / "all.txt").write_text(f"-r {name}\npandas\n")
    for path in (tmp_path / "all.txt", tmp_path / name)[: 1 if name.endswith(".toml") else 2]:
        with pytest.raises(ConfigError, match=f"{name}: is not a requirements file"):
            read_requirements(path)
