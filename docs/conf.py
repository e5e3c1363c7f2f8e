"""How the site is built: `make docs`. Nothing is fetched from the network, here or by a page that is read."""

import sys
from pathlib import Path

import mercer

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "Mercer"
author = "The Mercer developers"
copyright = "The Mercer developers; BSD-3-Clause"
version = release = mercer.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "mathml",
    "plain_text",
    "reference",
    "repository_links",
    "words",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "_ext", "**/README.md", "gallery/**/*.ipynb"]
# The page on accuracy is written by the benchmarks, whose sections are of the third level.
suppress_warnings = ["myst.header"]
# `names` in docstrings are links where they are public, and code where they are not.
default_role = "py:obj"
add_module_names = False
toc_object_entries_show_parents = "hide"

# -- Markdown: the same files are read on the repository's pages ------------------------------------
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4
myst_dmath_double_inline = True
html_math_renderer = "mathml"

# -- docstrings -------------------------------------------------------------------------------------
autosummary_generate = False
autodoc_typehints = "none"
autodoc_member_order = "alphabetical"
autodoc_class_signature = "mixed"
napoleon_google_docstring = False
# Written by plain_text.py, and to be left as it is.
napoleon_custom_sections = ["Attributes"]
napoleon_use_rtype = False
napoleon_use_param = True

# -- examples ---------------------------------------------------------------------------------------
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_only_copy_prompt_lines = True
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "backreferences_dir": "gallery/backreferences",
    "doc_module": ("mercer",),
    "filename_pattern": r"plot_",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "only_warn_on_example_error": False,
    "image_scrapers": ("matplotlib",),
    "image_srcset": ["2x"],
    "reset_modules": ("matplotlib", "figure_paper.transparent"),
    "matplotlib_animations": False,
    "min_reported_time": 5,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
}

# -- pages ------------------------------------------------------------------------------------------
wide = ["accuracy", "performance", "api/index", "api/names/mercer", "howto/from-scikit-learn"]
html_theme = "pydata_sphinx_theme"
html_title = "Mercer"
html_static_path = ["_static"]
html_css_files = ["mercer.css"]
html_js_files = ["mercer.js"]
html_favicon = "_static/logo.svg"
html_show_sourcelink = False
html_copy_source = False
html_context = {"default_mode": "auto"}
html_theme_options = {
    "logo": {"text": "Mercer", "image_light": "_static/logo.svg", "image_dark": "_static/logo.svg"},
    "navbar_align": "left",
    "header_links_before_dropdown": 5,
    "header_dropdown_text": "More",
    "navbar_end": ["theme-switcher"],
    "navbar_persistent": ["search-button"],
    "show_prev_next": True,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "back_to_top_button": True,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
    "footer_start": ["copyright"],
    "footer_end": ["theme-version"],
    # Wide tables take the whole width.
    "secondary_sidebar_items": {"**": ["page-toc"], **{page: [] for page in wide}},
}
# Pages of one level have nothing to show beside them.
alone = [
    "index",
    "start",
    "lab",
    "glossary",
    "figures",
    "performance",
    "accuracy",
    "design",
    "errata",
    "contributing",
    "changes",
]
html_sidebars = {page: [] for page in alone}
