"""Frames of drawn lines: where the columns and the rows of bordered tables end."""

from __future__ import annotations

from collections.abc import Sequence

from footnote_ingestion.parsers.pdf.rulings import Rule, Rulings

LEAST_DOWN = 3
NEAR = 2.5
"""Two lines less than this apart, in points, are at the same place."""
_NARROWEST = 12.0
_OPEN_LINES = 3
"""A table with an unbordered column has a line above it, one below its headers, and one below the table."""


def frames(rules: Rulings) -> list[tuple[list[float], list[float], Rulings, bool]]:
    """Return for touching lines where columns and bands of rows end, and whether a side is open."""
    groups = _touching(rules.down, rules.across)
    inner = [_without_box(*group) for group in groups]
    if any(inner):
        parts = [_touching(*one) if one else [group] for group, one in zip(groups, inner, strict=True)]
        groups = [group for part in parts for group in part]
    found = []
    for down, across, (left, bottom, right, top) in groups:
        xs = _lasting(down, 0.5 * (top - bottom))
        ys = _lasting(across, 0.45 * (right - left))
        opened = xs
        if len(xs) >= LEAST_DOWN and len(ys) == _OPEN_LINES:
            opened = [*_open_side(xs[0], left), *xs, *_open_side(xs[-1], right)]
        if len(xs) >= 3 and len(ys) >= 2:
            ys = _with_open_rows(ys, xs, down)
            found.append((opened, ys[::-1], Rulings(across, down), len(opened) > len(xs)))
    return found


_Group = tuple[list[Rule], list[Rule], list[float]]
"""Vertical and horizontal lines, and the box around them."""


def _touching(down: Sequence[Rule], across: Sequence[Rule]) -> list[_Group]:
    """Return the lines in groups whose boxes touch."""
    groups: list[_Group] = []
    for vertical, rule in [*((True, rule) for rule in down), *((False, rule) for rule in across)]:
        box = [rule.at, rule.start, rule.at, rule.end] if vertical else [rule.start, rule.at, rule.end, rule.at]
        touched = [group for group in groups if _touch(group[2], box)]
        merged: _Group = ([], [], box)
        for group in touched:
            merged[0].extend(group[0])
            merged[1].extend(group[1])
            other = group[2]
            merged[2][:] = [
                min(merged[2][0], other[0]), min(merged[2][1], other[1]),
                max(merged[2][2], other[2]), max(merged[2][3], other[3]),
            ]  # fmt: skip
        groups = [group for group in groups if not any(group is one for one in touched)]
        (merged[0] if vertical else merged[1]).append(rule)
        groups.append(merged)
    return groups


def _without_box(
    down: Sequence[Rule], across: Sequence[Rule], box: Sequence[float]
) -> tuple[list[Rule], list[Rule]] | None:
    """Return the lines within a box that is drawn around them and that none of them touches; None without one.

    The tallest lines may be such a box, as around a page; lines across or beyond its sides are then in no table.
    """
    tall = max((rule.end - rule.start for rule in down), default=0.0)
    sides = [rule for rule in down if rule.end - rule.start > tall - NEAR]
    if sides and sides[0].end - sides[0].start < box[3] - box[1] - NEAR:
        left, right = min(rule.at for rule in sides), max(rule.at for rule in sides)
        box = (left, sides[0].start, right, sides[0].end)
        down = [rule for rule in down if left - NEAR < rule.at < right + NEAR and _is_between(rule, box[1], box[3])]
        across = [rule for rule in across if _is_between(rule, left, right) and box[1] - NEAR < rule.at < box[3] + NEAR]
    left, bottom, right, top = box
    inner_down = [rule for rule in down if min(abs(rule.at - left), abs(rule.at - right)) > NEAR]
    inner_across = [rule for rule in across if min(abs(rule.at - bottom), abs(rule.at - top)) > NEAR]
    if len(inner_down) < LEAST_DOWN or len(inner_down) == len(down) or len(inner_across) == len(across):
        return None
    touches = any(rule.start <= left + NEAR or rule.end >= right - NEAR for rule in inner_across) or any(
        rule.start <= bottom + NEAR or rule.end >= top - NEAR for rule in inner_down
    )
    return None if touches else (inner_down, inner_across)


def _is_between(rule: Rule, low: float, high: float) -> bool:
    return low - NEAR < rule.start and rule.end < high + NEAR


def _open_side(outermost: float, end: float) -> list[float]:
    """Return the end of horizontal lines that extend beyond the outermost vertical line: a column without a border."""
    return [end] if abs(end - outermost) > _NARROWEST else []


def _with_open_rows(ys: list[float], xs: Sequence[float], down: Sequence[Rule]) -> list[float]:
    """Return where rows end, from below, with a first or last row that has lines between its cells but none around."""
    beside = [[rule for rule in down if abs(rule.at - x) <= NEAR] for x in xs]
    bottom = max((min(rule.start for rule in rules) for rules in beside if rules), default=ys[0])
    top = min((max(rule.end for rule in rules) for rules in beside if rules), default=ys[-1])
    below = [bottom] if ys[0] - bottom > _NARROWEST else []
    above = [top] if top - ys[-1] > _NARROWEST else []
    return [*below, *ys, *above]


def _touch(one: Sequence[float], other: Sequence[float]) -> bool:
    return (
        one[0] <= other[2] + NEAR
        and other[0] <= one[2] + NEAR
        and one[1] <= other[3] + NEAR
        and other[1] <= one[3] + NEAR
    )


def _lasting(rules: Sequence[Rule], least: float) -> list[float]:
    """Return the places, in rising order, of lines with at least some total length."""
    places: list[list[float]] = []  # place, length
    for rule in sorted(rules, key=lambda rule: rule.at):
        if places and rule.at - places[-1][0] <= NEAR:
            places[-1][1] += rule.end - rule.start
        else:
            places.append([rule.at, rule.end - rule.start])
    return [place for place, length in places if length >= least]
