"""The files that a benchmark leaves."""

from __future__ import annotations

from pathlib import Path


def write(out: Path, *, json: str, csv: str, png: bytes, html: str) -> str:
    """Write the results beside each other; a sentence that says so."""
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json, encoding="utf-8")
    out.with_suffix(".csv").write_text(csv, encoding="utf-8")
    out.with_suffix(".png").write_bytes(png)
    out.with_suffix(".html").write_text(html, encoding="utf-8")
    return f"wrote {out} and the .csv, .png and .html beside it"
