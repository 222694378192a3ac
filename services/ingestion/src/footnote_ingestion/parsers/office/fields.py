"""Fields of Word documents (ECMA-376 part 1, 17.16): removes their code, and writes what is chosen in forms as text."""

from __future__ import annotations

from lxml import etree  # type: ignore[import-untyped]

from footnote_ingestion.parsers.office.hidden import OFF

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_CHAR, _TEXT = f"{_W}fldChar", f"{_W}t"
_SHOWN = (_TEXT, *(f"{_W}{name}" for name in ("sym", "tab", "br", "cr", "ptab", "noBreakHyphen")))


def show_fields(root: etree._Element) -> None:
    """Remove the text in the code of fields, such as results of inner ones; write ticks and choices into forms.

    A field that does not end keeps its text.
    """
    texts: list[etree._Element] = []
    fields: list[tuple[etree._Element, int, bool]] = []  # begin, number of texts before the code or result, is code
    for one in list(root.iter(_CHAR, *_SHOWN)):
        kind = one.get(f"{_W}fldCharType") if one.tag == _CHAR else ""
        if kind == "begin":
            fields.append((one, len(texts), True))
        elif not fields:
            continue
        elif one.tag != _CHAR:
            texts.append(one)
        else:
            begin, before, is_code = fields.pop()
            if is_code:
                _remove(texts, before)
            if kind == "separate":
                fields.append((begin, before, False))
            elif len(texts) == before and (chosen := _chosen(begin)):
                written = etree.Element(_TEXT)
                written.text = chosen
                one.addprevious(written)
                texts.append(written)


def _remove(texts: list[etree._Element], before: int) -> None:
    for text in texts[before:]:
        text.getparent().remove(text)
    del texts[before:]


def _chosen(begin: etree._Element) -> str:
    """Return whether a form's box is ticked, or the entry that is chosen of its list; empty for other fields."""
    if (box := begin.find(f"{_W}ffData/{_W}checkBox")) is not None:
        mark = box.find(f"{_W}checked")
        mark = box.find(f"{_W}default") if mark is None else mark
        return "☑" if mark is not None and mark.get(f"{_W}val") not in OFF else "☐"
    if (choices := begin.find(f"{_W}ffData/{_W}ddList")) is None:
        return ""
    mark = choices.find(f"{_W}result")
    mark = choices.find(f"{_W}default") if mark is None else mark
    number = (mark.get(f"{_W}val") or "")[:4] if mark is not None else "0"
    entries = choices.findall(f"{_W}listEntry")
    return (entries[int(number)].get(f"{_W}val") or "") if number.isdecimal() and int(number) < len(entries) else ""
