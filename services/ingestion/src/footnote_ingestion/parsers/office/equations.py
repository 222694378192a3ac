"""Equations of Word documents (Office MathML) as text in one line: "(a+b)/2", "x^2", "√(x+1)"."""

from __future__ import annotations

from collections.abc import Iterator

from lxml import etree  # type: ignore[import-untyped]

_M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_MOST_DEPTH = 30
_CHR = f"{_M}val"


def linear(equation: etree._Element, depth: int = 0) -> str:
    """Return an equation as linear text; parts nested too deep are given letter by letter."""
    if depth > _MOST_DEPTH:
        return "".join(one.text or "" for one in equation.iter(f"{_M}t"))
    return "".join(_pieces(equation, depth + 1))


def _pieces(parent: etree._Element, depth: int) -> Iterator[str]:
    for child in parent.iterchildren(tag=etree.Element):
        name = etree.QName(child).localname
        match name:
            case "t":
                yield child.text or ""
            case "f":
                yield f"{_whole(child, 'num', depth)}/{_whole(child, 'den', depth)}"
            case "sSup" | "sSub" | "sSubSup":
                yield _part(child, "e", depth)
                yield _raised(child, depth)
            case "sPre":
                yield _raised(child, depth)
                yield _part(child, "e", depth)
            case "rad":
                degree = _part(child, "deg", depth)
                yield f"root({degree}, {_part(child, 'e', depth)})" if degree else f"√{_whole(child, 'e', depth)}"
            case "nary":
                yield f"{_sign(child, 'chr', '∫')}{_raised(child, depth)} {_part(child, 'e', depth)}"
            case "d":
                inner = ", ".join(linear(one, depth) for one in child.iterchildren(f"{_M}e"))
                yield f"{_sign(child, 'begChr', '(')}{inner}{_sign(child, 'endChr', ')')}"
            case "m":
                rows = (
                    ", ".join(linear(one, depth) for one in row.iterchildren(f"{_M}e"))
                    for row in child.iterchildren(f"{_M}mr")
                )
                yield f"[{'; '.join(rows)}]"
            case "func":
                yield f"{_part(child, 'fName', depth)} {_whole(child, 'e', depth)}"
            case "limLow" | "limUpp":
                mark = "_" if name == "limLow" else "^"
                yield f"{_part(child, 'e', depth)}{mark}{_whole(child, 'lim', depth)}"
            case _ if name.endswith("Pr"):
                continue
            case _:
                yield linear(child, depth)


def _part(parent: etree._Element, name: str, depth: int) -> str:
    found = parent.find(f"{_M}{name}")
    return linear(found, depth) if found is not None else ""


def _whole(parent: etree._Element, name: str, depth: int) -> str:
    """Return a part, in brackets unless it is a single sign, word or number."""
    text = _part(parent, name, depth)
    return text if len(text) < 2 or text.isalnum() else f"({text})"


def _raised(parent: etree._Element, depth: int) -> str:
    """Return subscript and superscript."""
    below, above = _whole(parent, "sub", depth), _whole(parent, "sup", depth)
    return (f"_{below}" if below else "") + (f"^{above}" if above else "")


def _sign(parent: etree._Element, name: str, usual: str) -> str:
    found = parent.find(f"{_M}{etree.QName(parent).localname}Pr/{_M}{name}")
    return found.get(_CHR, "") if found is not None else usual
