"""The picture of a page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from bench.page.figures import Section


def draw(sections: Sequence[Section], path: Path) -> bool:
    """Draw the ratios of a page, one bar a row, and say whether it could be done: matplotlib is the extra `bench`."""
    try:
        import matplotlib
    except ImportError:
        return False
    matplotlib.use("Agg")
    from matplotlib import pyplot, ticker

    drawn = [section for section in sections if any(row.ratio for row in section.rows)]
    heights = [sum(row.ratio is not None for row in section.rows) for section in drawn]
    figure, panes = pyplot.subplots(
        len(drawn), figsize=(9, 1.2 + 0.32 * sum(heights) + 0.6 * len(drawn)), dpi=110, squeeze=False,
        gridspec_kw={"height_ratios": heights}, layout="constrained",
    )  # fmt: skip
    for pane, section in zip(panes[:, 0], drawn, strict=True):
        rows = [row for row in section.rows if row.ratio is not None and math.isfinite(row.ratio)]
        bars = pane.barh([row.name for row in rows], [row.ratio or 0.0 for row in rows], color="#4878a8")
        pane.bar_label(bars, labels=[f" {row.ratio:.2f} ×" for row in rows], fontsize=8)
        pane.invert_yaxis()
        pane.set_xscale("log")
        pane.xaxis.set_minor_formatter(ticker.NullFormatter())
        pane.xaxis.set_major_formatter("{x:g} ×")
        pane.margins(x=0.15)
        pane.axvline(1, color="black", linewidth=0.8)
        pane.tick_params(labelsize=8)
        pane.set_title(f"{section.title}: Footnote as a multiple of: {section.beside}", fontsize=9, loc="left")
    figure.savefig(path)
    pyplot.close(figure)
    return True
