"""What speaks for or against a computation as what a question asks for, as numbers that a fitted model weighs."""

from __future__ import annotations

import math
from collections.abc import Sequence

from footnote_text.lexical import is_unspaced

from footnote_ingestion.tables import forms
from footnote_ingestion.tables.candidates import Candidate, Reading
from footnote_ingestion.tables.mentions import Asked, Mentions

SIGNS = (
    # The operation: its chance, whether a word says it, how many words say another one.
    "operation", "said", "said_otherwise",
    "average", "count", "highest", "lowest", "difference", "columns_apart", "grouped_best",
    # The column of numbers: the share of its name that is said, how many words say it, its likeness to the question,
    # and how far it leads before the other columns of numbers in each.
    "measure", "measure_words", "measure_alike", "measure_lead", "measure_alike_lead", "measure_word", "measure_only",
    "count_named", "share_added", "measure_before",
    # The column that names rows or groups.
    "key", "key_alike",
    # Conditions: texts of cells, whether their column is named, whether the limit's number stands behind its word.
    "filters", "filter_named", "limit_said", "limit_unsaid", "limit_against",
    # What is left over: numbers, names, words that turn the meaning, other words as a share and in number.
    "numbers_left", "capitals_left", "turning_left", "left_share", "left", "left_alike", "left_strange",
)  # fmt: skip
NONE = ("none", "none_other", "none_compare", "none_unsaid", "none_long")
_LEAST = 0.005
_CLASSES = {forms.ROWS: "other", forms.DIFFERENCE: "compare"}
_SAID = {forms.DIFFERENCE: "comparison"}
_SHARES = frozenset({"%", "percent"})


def signs(candidate: Candidate, asked: Asked, mentions: Mentions, reading: Reading) -> list[float]:
    """Return the signs SIGNS of a computation over a table."""
    form, subject = candidate.form, mentions.subject
    limits = [one for one in form.filters if one.op != "="]
    sides = [one for side in form.sides for one in side.filters]
    texts = [one for one in (*form.filters, *sides) if one.op == "="]
    spoken = _spoken(candidate, asked)
    explained = candidate.explained | spoken | mentions.file | mentions.about
    # Of the other columns' names nothing is explained, nor of words of forms that the computation does not use.
    left = [at for at in range(len(asked.tokens)) if at not in explained and at not in asked.empty]
    numbers = [at for at in left if asked.tokens[at][0].isdecimal() or at in asked.number_words]
    turning = [at for at in left if at in asked.turning]
    unused = [at for at in left if at in asked.spoken]
    known = {*numbers, *turning, *unused}
    plain = [at for at in left if at not in known]
    capitals = [at for at in plain if at in asked.capitals]
    content = (len(asked.tokens) - len(asked.empty)) or 1
    header = subject.headers.get(form.measure, "")
    parts = [header, *(subject.headers[one.column] for one in texts), subject.headers.get(form.key, "")]
    named = [part for part in dict.fromkeys(parts) if part]
    alike = [max((reading.word(asked.tokens[at], part) for part in named), default=0.0) for at in plain]
    strange = [max(0.0, 1.0 - one) for one in alike]
    scale = 0.5 if plain and sum(is_unspaced(asked.tokens[at][0]) for at in plain) * 2 > len(plain) else 1.0
    limit = _limit(candidate, asked) if limits else (0.0, 0.0, 0.0)
    kind = form.kind
    best = form.grouped and kind in (forms.HIGHEST, forms.LOWEST)
    chance = reading.operations.get(_CLASSES.get(kind, kind), 0.0)
    if form.grouped and not best:
        chance += reading.operations.get("other", 0.0)
    return [
        math.log(max(_LEAST, min(1.0, chance))),
        float(_SAID.get(kind, kind) in asked.said or (kind == forms.ROWS and bool(limits) and bool(limit[0]))),
        float(len({_form_at(asked, at) for at in unused})),
        *(float(kind == one) for one in (forms.AVERAGE, forms.COUNT, forms.HIGHEST, forms.LOWEST)),
        float(kind == forms.DIFFERENCE),
        float(bool(form.beside)),
        float(best),
        *_measure(candidate, asked, mentions, reading, plain),
        mentions.shares.get(form.key, 0.0),
        reading.columns.get(subject.headers.get(form.key, ""), 0.0),
        float(len(texts)),
        float(sum(one.column in mentions.headers for one in texts)),
        *limit,
        float(len(numbers)),
        scale * len(capitals),
        float(len(turning)),
        (len(plain) + len(unused)) / content,
        scale * min(6, len(plain)),
        max(alike, default=0.0),
        scale * sum(strange),
    ]


def none_signs(asked: Asked, reading: Reading) -> list[float]:
    """Return the signs NONE: for that the question asks for none of the computations."""
    return [
        1.0,
        reading.operations.get("other", 0.0),
        reading.operations.get("compare", 0.0) + float("comparison" in asked.said),
        float(not asked.said),
        min(20, len(asked.tokens)) / 10,
    ]


def _measure(
    candidate: Candidate, asked: Asked, mentions: Mentions, reading: Reading, plain: Sequence[int]
) -> list[float]:
    subject, measure = mentions.subject, candidate.form.measure
    if not measure:
        named = max((mentions.shares.get(one, 0.0) for one in subject.numeric), default=0.0)
        return [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, named, 0.0, 0.0]
    header = subject.headers[measure]
    others = [one for one in subject.numeric if one != measure]
    share, words = mentions.shares.get(measure, 0.0), len(mentions.headers.get(measure, ()))
    alike = reading.columns.get(header, 0.0)
    counted = candidate.form.kind == forms.COUNT
    lead = share + words - max(
        (mentions.shares.get(one, 0.0) + len(mentions.headers.get(one, ())) for one in others), default=0.0
    )  # fmt: skip
    alike_lead = alike - max((reading.columns.get(subject.headers[one], 0.0) for one in others), default=alike)
    word = max((reading.word(asked.tokens[at], header) for at in plain), default=0.0)
    percent = bool(_SHARES & set(header.replace("(", " ").replace(")", " ").split())) or "%" in header
    return [
        share, float(min(4, words)), alike, max(-3.0, min(3.0, lead)), alike_lead, word, float(not others),
        float(counted) * share, float(percent and candidate.form.kind == forms.TOTAL),
        float(_before(candidate.form.kind, asked, mentions.headers.get(measure, frozenset()))),
    ]  # fmt: skip


def _before(kind: str, asked: Asked, named: frozenset[int]) -> bool:
    """Return whether a superlative follows the name of its column: "which year had the most" asks for no last year."""
    if kind not in (forms.HIGHEST, forms.LOWEST) or kind not in asked.said or not named:
        return False
    return max(named) < asked.said[kind][0] and not is_unspaced(asked.tokens[max(named)][0])


def _spoken(candidate: Candidate, asked: Asked) -> frozenset[int]:
    """Return the places of the words of forms that a computation uses."""
    form = candidate.form
    used = [_SAID.get(form.kind, form.kind)]
    if form.grouped:
        used.append("per")
    if form.kind == forms.TOTAL:
        used.append(forms.COUNT)  # "how many units": as many as they add up to
    used += ["above" if one.op == ">" else "below" for one in form.filters if one.op != "="]
    return frozenset(at for one in used if one in asked.said for at in _run(asked, one))


def _run(asked: Asked, form: str) -> range:
    start, end = asked.said[form]
    return range(start, end)


def _form_at(asked: Asked, at: int) -> str:
    return next((form for form, (start, end) in asked.said.items() if start <= at < end), "")


def _limit(candidate: Candidate, asked: Asked) -> tuple[float, float, float]:
    """Return whether the words before a limit's number say it; whether none does; whether one says the opposite."""
    one = next(one for one in candidate.form.filters if one.op != "=")
    form, other = ("above", "below") if one.op == ">" else ("below", "above")
    at = next(iter(candidate.numbers), -1)
    said = form in asked.said and asked.said[form][1] in (at, at - 1)
    return float(said), float(form not in asked.said), float(other in asked.said)
