"""From a project's programs and names to the libraries of tasks."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigcodeflow.core.errors import ConfigError
from bigcodeflow.core.paths import shipped
from bigcodeflow_studies.recommend.stack import imported_modules, modules_of, names_in, stack_of

KNOWN = frozenset(json.loads(shipped("data/bigcodebench/library_domains.json").read_text()))
MODULES = st.sampled_from(["numpy", "os", "sklearn.linear_model", "PIL", "xml.dom", "cv2", "_private", "名"])


@given(st.lists(MODULES, min_size=1, max_size=5), st.booleans(), st.booleans())
def test_imports_are_found_wherever_they_stand(modules, indented, broken):
    """In functions too, and by lines where the file is no Python 3."""
    lines = [f"import {one} as x{place}" if place % 2 else f"from {one} import y" for place, one in enumerate(modules)]
    text = "\n".join(["def f():", *(f"    {line}" for line in lines)] if indented else lines)
    found = modules_of(f"{text}\nprint 'old'\n" if broken else text)
    assert found >= {one.partition(".")[0] for one in modules if one.isascii()}


@pytest.mark.parametrize("rest", ["", "print 'old'\n"])
def test_only_statements_that_import_from_elsewhere_count(rest):
    """A line may hold several, also in a program that cannot be parsed."""
    assert modules_of(f"from . import numpy\nfrom .pandas import x\n# import sympy\n{rest}") == set()
    text = f"import os.path, numpy as np\nimport pandas; import re\n{rest}"
    assert modules_of(text) == {"os", "numpy", "pandas", "re"}
    assert modules_of("'''\nimport scipy\n'''\n") == set()


def notebook(*cells, **more):
    return json.dumps({"cells": [{"cell_type": "code", "source": cell} for cell in cells], "nbformat": 4} | more)


def write(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())


def test_a_folder_is_scanned_with_its_notebooks(tmp_path):
    """Magics are no Python; hidden folders, installed libraries and the folder's own modules do not count."""
    files = {
        "app.py": "import requests, helpers, own\n",
        "helpers.py": "import numpy\n",
        "src/own/__init__.py": "import os\n",
        "work.ipynb": notebook(
            "%matplotlib inline\n!pip install x\nimport pandas\n", ["import ", "seaborn\n"], "oops ("
        ),
        "old.ipynb": json.dumps({"worksheets": [{"cells": [{"cell_type": "code", "input": ["import nltk"]}]}]}),
        "torn.ipynb": "{",
        "list.ipynb": "[1]",
        "wide.py": b"\xff\xfei\0m\0p\0o\0r\0t\0 \0s\0c\0i\0p\0y\0",
        ".git/hook.py": "import sympy\n",
        "node_modules/x.py": "import sympy\n",
        "venv2/pyvenv.cfg": "",
        "venv2/lib/x.py": "import sympy\n",
    }
    write(tmp_path, files)
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "gone.py").symlink_to(tmp_path / "nothing")
    assert imported_modules(tmp_path) == ("nltk", "numpy", "os", "pandas", "requests", "scipy", "seaborn")
    assert imported_modules(tmp_path / "app.py") == ("helpers", "own", "requests")


@pytest.mark.parametrize(
    ("magic", "is_python"),
    [
        ("%%time", True),
        ("\n%%timeit -n 3", True),
        ("%%capture out", True),
        ("%%prun", True),
        ("%%bash", False),
        ("\n %%writefile a.py", False),
        ("%%html", False),
        ("%%timer", False),
    ],
)
def test_a_cell_of_a_magic_is_python_where_that_executes_it(tmp_path, magic, is_python):
    """Other cell magics take texts, or programs of other languages."""
    path = tmp_path / "a.ipynb"
    path.write_text(notebook(f"{magic}\nimport numpy\n", "import pandas"))
    assert ("numpy" in imported_modules(path)) == is_python
    assert "pandas" in imported_modules(path)


def test_a_folder_without_programs_is_one_line(tmp_path):
    """And so is one that is not there."""
    for path, says in ((tmp_path, "no Python file"), (tmp_path / "gone", "no such folder")):
        with pytest.raises(ConfigError, match=says):
            imported_modules(path)


@pytest.mark.parametrize(
    ("asked", "library"),
    [
        ("scikit-learn", "sklearn"),
        ("Scikit_Learn", "sklearn"),
        ("opencv-python-headless", "cv2"),
        ("beautifulsoup4", "bs4"),
        ("bs4", "bs4"),
        ("PyYAML", "yaml"),
        ("python-dateutil", "dateutil"),
        ("Pillow", "PIL"),
        ("pil", "PIL"),
        ("python-docx", "docx"),
        ("python-Levenshtein", "Levenshtein"),
        ("levenshtein", "Levenshtein"),
        ("scikit-image", "skimage"),
        ("pycryptodome", "Crypto"),
        ("Flask-Login", "flask_login"),
        ("python-http-client", "python_http_client"),
        ("tensorflow-cpu", "tensorflow"),
        ("tensorflow-intel", "tensorflow"),
        ("tf-keras", "keras"),
        ("ipython", "IPython"),
        ("Django", "django"),
    ],
)
def test_distributions_lead_to_the_libraries_that_tasks_name(tmp_path, asked, library):
    """By the module that they install, in any way of writing; so do names on the command line."""
    path = tmp_path / "requirements.txt"
    path.write_text(f"{asked}>=1\n")
    assert stack_of(KNOWN, requirements=[path]).libraries == (library,)
    assert stack_of(KNOWN, names=[asked]).libraries == (library,)


def test_the_standard_library_counts_where_programs_import_it(tmp_path):
    """A distribution of such a name is something else; whoever names a module means it."""
    (tmp_path / "requirements.txt").write_text("numpy\nargparse\ntyping\n")
    (tmp_path / "a.py").write_text("import json, sched, own_thing\n")
    stack = stack_of(KNOWN, requirements=[tmp_path / "requirements.txt"])
    assert (stack.libraries, stack.without_tasks) == (("numpy",), ("argparse", "typing"))
    stack = stack_of(KNOWN, folders=[tmp_path])
    assert (stack.libraries, stack.without_tasks) == (("json",), ("own_thing",))
    assert stack_of(KNOWN, names=["argparse"]).libraries == ("argparse",)


def test_libraries_without_tasks_are_named(tmp_path):
    """Beside those that are used; a project that uses none of them gets one line."""
    path = tmp_path / "requirements.txt"
    path.write_text("numpy\nfastapi\nwhat is this\n")
    stack = stack_of(KNOWN, requirements=[path])
    assert stack.without_tasks == ("fastapi",)
    assert "line 3" in stack.notes[0]
    path.write_text("fastapi\nuvicorn\n")
    with pytest.raises(ConfigError, match=r"requirements.txt: no recorded task uses any .*fastapi, uvicorn") as raised:
        stack_of(KNOWN, requirements=[path])
    assert "\n" not in str(raised.value)
    path.write_text("")
    with pytest.raises(ConfigError, match="nothing"):
        stack_of(KNOWN, requirements=[path])
    # Lines that were not understood are the likely reason; of many the first are shown.
    path.write_text("this is prose\n" * 5)
    with pytest.raises(ConfigError, match=r"line 1: 'this is prose' names no distribution, .* and 2 more") as raised:
        stack_of(KNOWN, requirements=[path])
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("named", ["matplotlib.pyplot", "matplotlib[x]>=3", "Matplotlib == 3.8"])
def test_a_library_may_be_named_as_files_and_programs_name_it(named):
    """By a module in it, with extras and with a version; two names without a comma are none."""
    assert "matplotlib" in stack_of(KNOWN, names=[named]).libraries
    with pytest.raises(ConfigError, match="numpy pandas"):
        stack_of(KNOWN, names=["numpy pandas"])


def test_scripts_import_what_lies_beside_them(tmp_path):
    """A script finds its neighbours before any library; a module of a package does not."""
    files = {
        "tools/run.py": "import holidays, numpy\n",
        "tools/holidays.py": "",
        "app/__init__.py": "",
        "app/regex.py": "import regex\n",
    }
    write(tmp_path, files)
    assert imported_modules(tmp_path) == ("numpy", "regex")


@pytest.mark.parametrize(
    "text", ["numpy,pandas", " numpy pandas ", "numpy;\tpandas,", "numpy[a, b] >= 1, <2, pandas==2.*"]
)
def test_names_are_typed_between_commas_or_blanks(text):
    """With extras and versions, which may hold both."""
    assert names_in(text) == ["numpy", "pandas"]
