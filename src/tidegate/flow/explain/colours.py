"""Colours of pictures of flows, on light and on dark pages.

Each element has the colours of a light page as attributes, so a picture looks right where styles are ignored, as in
slides. Where styles count, a rule for each class takes its colour from a CSS variable. The variables have other values
on a dark page: by the setting of the reader's system, or by the theme of the notebook. A page may set them itself.
"""

from __future__ import annotations

from typing import Final

__all__ = ["STYLE", "styled"]

#: For each CSS variable, the colour on a light page and on a dark one.
_COLOURS: Final = {
    "paper": ("#fbfcfd", "#12171e"),
    "card": ("#ffffff", "#1b222c"),
    "border": ("#c3cad5", "#3d4756"),
    "text": ("#1c2430", "#e7eaef"),
    "muted": ("#5a6574", "#a9b2c0"),
    "line": ("#8490a0", "#78849a"),
    "source": ("#2b6cb0", "#63a4e6"),
    "table": ("#3a8a4c", "#6abf7b"),
    "operator": ("#76818f", "#8b97a8"),
    "sink": ("#b3761a", "#dfab54"),
    "kept": ("#eceffb", "#262e4b"),
    "kept-text": ("#3d4789", "#bcc6f7"),
    "note": ("#e6f4ec", "#1d3a2a"),
    "note-text": ("#256b41", "#9fdcb6"),
    "warning": ("#fdeecf", "#46350f"),
    "warning-text": ("#8a4b05", "#f6c266"),
}


#: The variables that are colours of lines.
_LINES: Final = ("border", "line", "source", "table", "operator", "sink", "warning-text")


def styled(*classes: str, fill: str = "none", line: str = "") -> str:
    """Return the attributes of an element: its classes, by which a page can find it, and its colours.

    >>> styled("card", fill="card", line="border")
    'class="card tg-card tg-line-border" fill="#ffffff" stroke="#c3cad5"'
    """
    named = [*classes, *([f"tg-{fill}"] if fill != "none" else []), *([f"tg-line-{line}"] if line else [])]
    filled = _COLOURS[fill][0] if fill != "none" else fill
    return f'class="{" ".join(named)}" fill="{filled}"' + (f' stroke="{_COLOURS[line][0]}"' if line else "")


def _variables(which: int) -> str:
    return "".join(f"--tg-{name}:{colours[which]};" for name, colours in _COLOURS.items())


def _style() -> str:
    light, dark = _variables(0), _variables(1)
    # How JupyterLab, VS Code and other pages say which theme they have.
    hosts = {
        light: ('[data-jp-theme-light="true"]', ".vscode-light", '[data-theme="light"]'),
        dark: ('[data-jp-theme-light="false"]', ".vscode-dark", '[data-theme="dark"]'),
    }
    rules = [f".tidegate{{{light}}}", f"@media (prefers-color-scheme: dark){{.tidegate{{{dark}}}}}"]
    rules += [f"{','.join(f'{host} .tidegate' for host in named)}{{{values}}}" for values, named in hosts.items()]
    rules += [f".tidegate .tg-{name}{{fill:var(--tg-{name})}}" for name in _COLOURS]
    rules += [f".tidegate .tg-line-{name}{{stroke:var(--tg-{name})}}" for name in _LINES]
    return f"<style>{''.join(rules)}</style>"


STYLE: Final = _style()
