"""Settings of Sphinx, which builds a site from these pages: ``make docs``."""

import bigcodeflow

project = "bigcodeflow"
version = release = bigcodeflow.__version__
copyright = "the bigcodeflow developers"  # noqa: A001 - Sphinx's name for it

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
root_doc = "docs/index"
include_patterns = ["docs/**", "*.md"]
exclude_patterns = ["docs/conf.py", ".venv", "results", "README.md"]
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]

html_theme = "furo"
html_title = f"bigcodeflow {version}"
html_copy_source = False
autodoc_member_order = "bysource"
autodoc_typehints = "description"
