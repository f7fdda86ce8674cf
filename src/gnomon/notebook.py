"""What a notebook shows of a page: the page itself, in a frame of its own."""

from __future__ import annotations

from html import escape

HEIGHT = 560  # pixels


def framed(page: str, height: int = HEIGHT) -> str:
    """A whole HTML page inside another one, without its styles reaching out."""
    return (
        f'<iframe srcdoc="{escape(page)}" style="width:100%;height:{height}px;border:0" sandbox '
        'title="gnomon"></iframe>'
    )


def listed(title: str, facts: dict[str, str]) -> str:
    """A title and a table of facts."""
    rows = "".join(
        f"<tr><th style='text-align:left'>{escape(key)}</th><td style='text-align:left'>{escape(value)}</td></tr>"
        for key, value in facts.items()
    )
    return f"<div><strong>{escape(title)}</strong><table>{rows}</table></div>"
