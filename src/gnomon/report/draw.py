"""Small pictures as inline SVG: shapes only, so that text stays text on phones, in print, read aloud."""

from __future__ import annotations

import math

from markupsafe import Markup

from gnomon.report.summary import Histogram

WIDTH, HEIGHT = 320, 88


def histogram(picture: Histogram, name: str) -> Markup:
    """Bars from the declared low to the declared high."""
    counts = picture.counts
    tallest = max([*counts, 1])
    step = WIDTH / len(counts)
    gap = min(2.0, step / 4)
    bars = Markup("").join(
        Markup('<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" rx="1"/>').format(
            i * step + gap / 2, HEIGHT - height, step - gap, height
        )
        for i, count in enumerate(counts)
        # a rare bin stays visible
        if (height := max(1.5, (HEIGHT - 4) * count / tallest) if count else 0.0)
    )
    return Markup(
        '<svg class="plot" viewBox="0 0 {} {}" role="img" preserveAspectRatio="none" '
        'aria-label="Histogram of {} from {} to {}">{}<line x1="0" x2="{}" y1="{}" y2="{}"/></svg>'
    ).format(WIDTH, HEIGHT + 1, name, picture.low, picture.high, bars, WIDTH, HEIGHT + 0.5, HEIGHT + 0.5)


def bar(share: float) -> Markup:
    """One category's share of the rows."""
    width = max(0.6, 100 * share) if share > 0 else 0.0
    return Markup(
        '<svg class="bar" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">'
        '<rect class="track" width="100" height="10"/><rect width="{:.2f}" height="10"/></svg>'
    ).format(width)


def chance(best: float) -> Markup:
    """How often the best guesser is right: from blind (one half) to certain."""
    x = 300 * (2 * best - 1)
    return Markup(
        '<svg class="chance" viewBox="0 0 300 14" preserveAspectRatio="none" role="img" '
        'aria-label="The best guesser is right {:.1f}% of the time">'
        '<rect class="track" width="300" height="14" rx="7"/><rect width="{:.2f}" height="14" rx="7"/></svg>'
    ).format(100 * best, max(x, 3.0))


def sundial() -> Markup:
    """The mark of the page: a gnomon, its shadow and the hours."""
    ticks = Markup("").join(
        Markup('<line x1="{:.2f}" y1="{:.2f}" x2="{:.2f}" y2="{:.2f}"/>').format(
            32 + 24 * math.cos(a), 52 - 24 * math.sin(a), 32 + 29 * math.cos(a), 52 - 29 * math.sin(a)
        )
        for a in (math.pi * k / 8 for k in range(9))
    )
    return Markup(
        '<svg class="mark" viewBox="0 0 64 60" aria-hidden="true">'
        '<path class="arc" d="M3 52a29 29 0 0 1 58 0"/>{}'
        '<path class="shade" d="M32 52 56 35 38 52z"/><path class="gnomon" d="M32 14 38 52H26z"/></svg>'
    ).format(ticks)
