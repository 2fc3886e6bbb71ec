"""Sphinx configuration."""

import sys
from importlib.metadata import version as installed
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "quiltwork"
version = release = installed("quiltwork")
extensions = [
    "myst_nb",
    "sphinx_design",
    "sphinx.ext.autodoc",
    "mathml",
    "entry_words",
    "plain_docstrings",
    "command_help",
    "http_interface",
    "gallery_items",
]
exclude_patterns = ["_ext"]

myst_enable_extensions = ["dollarmath", "deflist", "colon_fence"]
myst_heading_anchors = 3
nb_execution_mode = "off"  # notebooks are kept as they ran: `make notebooks`; the tests run them again

smartquotes_action = "q"  # dashes stay as they are: options begin with two

linkcheck_ignore = [r"http://127\.0\.0\.1", r"https://budgets\.example"]  # of examples

html_theme = "furo"
html_title = "quiltwork"
html_logo = html_favicon = "../src/quiltwork/web/static/icon.svg"  # the dashboard's mark and colours
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#1f5f99", "color-brand-content": "#1f5f99"},
    "dark_css_variables": {"color-brand-primary": "#6fb1e8", "color-brand-content": "#6fb1e8"},
}
html_static_path, html_css_files = ["_static"], ["quiltwork.css"]
html_math_renderer = "mathml"
html_show_copyright = False
html_show_sphinx = False

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
nitpicky = False
suppress_warnings = ["ref.python"]  # signatures name classes shortly, and two rooms have a Plan and a Released
