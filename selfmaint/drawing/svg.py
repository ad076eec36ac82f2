"""SVG elements as text, and how wide a text will be.

Law: whatever text goes in, the result is well-formed XML that shows it and nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final
from unicodedata import east_asian_width
from xml.sax.saxutils import escape, quoteattr

MONO: Final = "ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace"
SANS: Final = "system-ui, 'DejaVu Sans', Helvetica, Arial, sans-serif"

_ILLEGAL: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def safe(text: str) -> str:
    """`text` with a mark for each control character or other sign that XML cannot hold."""
    return _ILLEGAL.sub("\ufffd", text)


def element(name: str, *content: str, **attributes: object) -> str:
    """An element; `content` is XML already, attribute values are text."""
    written = "".join(
        f" {key.rstrip('_').replace('_', '-')}={quoteattr(safe(_shown(value)))}"
        for key, value in attributes.items()
        if value is not None
    )
    inner = "".join(content)
    return f"<{name}{written}>{inner}</{name}>" if inner else f"<{name}{written}/>"


def _shown(value: object) -> str:
    """Numbers with at most one decimal, so that the same picture is the same text."""
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else str(value)


def text(x: float, y: float, content: str, **attributes: object) -> str:
    """A line of text; `y` is its base line."""
    return element("text", escape(safe(content)), x=x, y=y, **attributes)


def title(content: str) -> str:
    """What a viewer shows on hover, and what a screen reader says."""
    return element("title", escape(safe(content)))


def rect(x: float, y: float, width: float, height: float, **attributes: object) -> str:
    return element("rect", x=x, y=y, width=width, height=height, **attributes)


def path(points: Iterable[tuple[float, float]], **attributes: object) -> str:
    """A line through the points."""
    steps = " L".join(f"{_shown(float(x))} {_shown(float(y))}" for x, y in points)
    return element("path", d=f"M{steps}", fill="none", **attributes)


def group(*content: str, x: float = 0, y: float = 0, **attributes: object) -> str:
    moved = f"translate({_shown(float(x))} {_shown(float(y))})" if x or y else None
    return element("g", *content, transform=moved, **attributes)


def cells(content: str) -> int:
    """How many columns the text takes in a monospaced font; wide characters take two."""
    return sum(2 if east_asian_width(char) in "WF" else 1 for char in content)


def width_of(content: str, size: float = 12) -> float:
    """How wide the text is at most, in a font of this size."""
    return cells(content) * size * 0.62


def fit(content: str, most: int) -> str:
    """`content` on one line, cut at the end to `most` columns.

    Example:
        >>> fit("a long name", 8)
        'a long …'
    """
    line = re.sub(r"\s", " ", content)
    if cells(line) <= most:
        return line
    cut = line[:most]
    while cells(cut) >= most:
        cut = cut[:-1]
    return f"{cut}…"
