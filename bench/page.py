"""A page that needs nothing but itself, and the picture in it."""

from __future__ import annotations

import base64
import struct
import zlib
from html import escape
from io import BytesIO
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STYLE: Final = """
body { font: 15px/1.5 system-ui, sans-serif; color: #222; max-width: 1200px; margin: 2em auto;
       padding: 0 1em }
img { max-width: 100%; height: auto }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; margin-bottom: 1em }
th, td { padding: 2px 14px 2px 0; text-align: left; border-bottom: 1px solid #eee }
pre { background: #f6f6f6; padding: 0.5em 1em }
"""


def page(title: str, body: str) -> str:
    """A whole page; the body is HTML, the title is not."""
    return f"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<style>{STYLE}</style>
<h1>{escape(title)}</h1>
{body}
</html>
"""


def picture(image: bytes, words: str) -> str:
    """A PNG within the page; `words` say what it shows."""
    data = base64.b64encode(image).decode("ascii")
    return f'<img alt="{escape(words)}" src="data:image/png;base64,{data}">'


def as_png(figure: Figure) -> bytes:
    target = BytesIO()
    figure.savefig(target, format="png", metadata={"Software": None})
    return target.getvalue()


END: Final = 12
"""Bytes of a PNG's last chunk, which is empty."""


def stamped(image: bytes, words: str) -> bytes:
    """The same PNG with words that nobody sees, in a text chunk of its own before the last one."""
    body = b"tEXtSource\0" + words.encode("latin-1")
    chunk = struct.pack(">I", len(body) - 4) + body + struct.pack(">I", zlib.crc32(body))
    return image[:-END] + chunk + image[-END:]
