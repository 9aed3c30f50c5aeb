"""The settings of Zensical for the site, as TOML."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

__all__ = ["configuration"]

_SETTINGS = """\
[project]
site_name = "Tidegate"
site_description = "Time-aware stream processing in Python whose answers are final"
docs_dir = "pages"
site_dir = "site"
use_directory_urls = false
copyright = "Apache License 2.0"
extra_css = ["assets/site/site.css"]
nav = {nav}

[project.extra]
polyfills = ["assets/site/iframe-worker.js"]

[project.theme]
language = "en"
font = false
features = [
  "content.code.copy",
  "navigation.footer",
  "navigation.path",
  "navigation.sections",
  "navigation.top",
  "search.highlight",
  "toc.follow",
]

[[project.theme.palette]]
media = "(prefers-color-scheme: light)"
scheme = "default"
toggle = {{ icon = "lucide/sun", name = "Dark" }}

[[project.theme.palette]]
media = "(prefers-color-scheme: dark)"
scheme = "slate"
toggle = {{ icon = "lucide/moon", name = "Light" }}

[project.plugins.offline]

[project.plugins.search]

[project.plugins.mkdocstrings.handlers.python]
paths = [{source}]

[project.plugins.mkdocstrings.handlers.python.options]
docstring_style = "google"
extensions = [{examples}]
filters = ["!^_"]
heading_level = 2
inherited_members = true
line_length = 100
members_order = "alphabetical"
separate_signature = true
show_bases = false
show_root_heading = true
show_root_full_path = true
show_signature_annotations = true
show_source = false
signature_crossrefs = true

[project.markdown_extensions.attr_list]
[project.markdown_extensions.tables]
[project.markdown_extensions.toc]
permalink = true
slugify = {{ object = "pymdownx.slugs.slugify", kwds = {{ case = "lower" }} }}
[project.markdown_extensions.pymdownx.highlight]
anchor_linenums = false
[project.markdown_extensions.pymdownx.inlinehilite]
[project.markdown_extensions.pymdownx.superfences]
"""


def configuration(navigation: Sequence[object], *, source: Path) -> str:
    """Return the settings for a project with its pages in ``pages``; ``source`` is where the package is."""
    return _SETTINGS.format(
        nav=_toml(navigation),
        source=json.dumps(str(source)),
        examples=json.dumps("scripts.website.docstrings"),
    )


def _toml(value: object) -> str:
    """Return lists, mappings and texts as a value of TOML on one line."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(k)} = {_toml(v)}" for k, v in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value, ensure_ascii=False)
