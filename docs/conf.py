"""Sphinx's settings of the documentation site, which `make docs` builds into docs/_build/html."""

import sys
from pathlib import Path
from typing import Any

from pygments.lexers.special import TextLexer

import specmargin

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

project = "specmargin"
author = "the specmargin developers"
copyright = "the specmargin developers"
version = release = specmargin.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "numpydoc",
    "api_pages",
    "figure_gallery",
    "interactive_pages",
    "local_mathjax",
    "markdown_pages",
    "notebook_pages",
    "recorded_pages",
]
root_doc = "index"
exclude_patterns = ["_build", "_extensions"]
default_role = "py:obj"

# Markdown: anchors as a forge makes them, formulas between dollars.
myst_enable_extensions = ["attrs_inline", "dollarmath", "html_image"]
myst_heading_anchors = 4

# Notebooks run when their text has changed; an exception in a cell ends the build.
nb_execution_mode = "cache"
nb_execution_cache_path = str(Path(__file__).parent / "_build" / "executed")
nb_execution_raise_on_error = True
nb_execution_timeout = 600
nb_execution_show_tb = True
nb_merge_streams = True
# Cells tagged "hide-cell" are the solutions of exercises.
nb_code_prompt_show = "Show a solution"
nb_code_prompt_hide = "Hide the solution"

autodoc_typehints = "none"  # the docstrings name the types
autosummary_generate = False  # `api_pages` writes the pages
numpydoc_show_class_members = False  # `api_pages` names the members

pygments_dark_style = "github-dark"
html_theme = "furo"
html_title = "specmargin"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_copyright = False
templates_path: list[str] = []
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#2d5b9e", "color-brand-content": "#2d5b9e"},
    "dark_css_variables": {"color-brand-primary": "#8ab4f0", "color-brand-content": "#8ab4f0"},
}


def setup(app: Any) -> None:
    """Show blocks of a language that Pygments does not know as they are."""
    app.add_lexer("csv", TextLexer)
