"""Equations in MathML: read as one line in pages, books and OpenDocument, where they stand."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest
from footnote_ingestion.parsers import parser_for
from footnote_ingestion.parsers.base import BlockWriter, Limits
from support.opendocument import NAMES

DRAW = 'xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0" xmlns:xlink="http://www.w3.org/1999/xlink"'
EQUATIONS = {
    "<mfrac><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow><mn>2</mn></mfrac>": "(a+b)/2",
    "<msup><mi>x</mi><mn>2</mn></msup><mo>=</mo><mn>9</mn>": "x^2=9",
    "<msub><mi>x</mi><mrow><mi>n</mi><mo>−</mo><mn>1</mn></mrow></msub>": "x_(n−1)",
    "<msqrt><mi>x</mi><mo>+</mo><mn>1</mn></msqrt>": "√(x+1)",
    "<mroot><mi>x</mi><mn>3</mn></mroot>": "root(3, x)",
    "<munderover><mo>∑</mo><mi>i</mi><mi>n</mi></munderover><mi>i</mi>": "∑_i^ni",
    "<mtable><mtr><mtd><mi>a</mi></mtd><mtd><mi>b</mi></mtd></mtr><mtr><mtd><mn>1</mn></mtd></mtr></mtable>": (
        "[a, b; 1]"
    ),
    "<semantics><mi>x</mi><annotation encoding='application/x-tex'>\\x</annotation></semantics>": "x",
}


def read(data: bytes, kind: str, folder: Path) -> tuple[list[str], list[str]]:
    path = folder / f"file.{kind}"
    path.write_bytes(data)
    texts: list[str] = []
    out = BlockWriter(lambda block: texts.append(block.text), Limits())
    parser_for(kind).parse(path, out, Limits())
    return texts, [one.text for one in out.noticed.warnings()]


@pytest.mark.parametrize(("equation", "text"), EQUATIONS.items())
def test_an_equation_of_a_page_is_read_where_it_stands(equation: str, text: str, tmp_path: Path) -> None:
    page = f"<p>Here <math>{equation}</math> holds.</p>"
    assert read(page.encode(), "html", tmp_path) == ([f"Here {text} holds."], [])


def test_equations_in_headings_and_cells_are_read(tmp_path: Path) -> None:
    square = "<math><msup><mi>x</mi><mn>2</mn></msup></math>"
    page = f"<h1>On {square}</h1><table><tr><td>Name<td>Value</tr><tr><td>Area<td>{square}</tr></table>"
    texts, warnings = read(page.encode(), "html", tmp_path)
    assert texts[0] == "On x^2"
    assert texts[-1].endswith("x^2")
    assert warnings == []


def test_an_equation_that_is_drawn_too_is_read_once(tmp_path: Path) -> None:
    """As KaTeX and MathJax write it, for readers of the screen and for the eye."""
    math = "<math><mi>x</mi><mo>=</mo><mn>5</mn></math>"
    katex = f"<span><span>{math}</span><span aria-hidden=true><b>x</b>=<b>5</b></span></span>"
    mathjax = f"<span><nobr aria-hidden=true>x=5</nobr><span role=presentation>{math}</span></span>"
    page = f"<h2>If {katex}</h2><p>If {katex} or {mathjax}, <span aria-hidden=true>so</span>.</p>"
    assert read(page.encode(), "html", tmp_path) == (["If x=5", "If x=5 or x=5 , so."], [])


def test_an_equation_nested_deep_gives_its_letters(tmp_path: Path) -> None:
    deep = "<mrow>" * 400 + "<mi>x</mi>" + "</mrow>" * 400
    texts, _ = read(f"<p>Here <math>{deep}</math></p>".encode(), "html", tmp_path)
    assert texts == ["Here x"]


@pytest.mark.parametrize("within", [True, False], ids=["in the document", "in a file of its own"])
@pytest.mark.parametrize(("equation", "text"), EQUATIONS.items())
def test_an_equation_of_an_opendocument_text_is_read(equation: str, text: str, within: bool, tmp_path: Path) -> None:
    math = f'<math xmlns="http://www.w3.org/1998/Math/MathML">{equation}</math>'
    thing = f"<draw:object>{math}</draw:object>" if within else '<draw:object xlink:href="./Object 1"/>'
    body = f"<office:text><text:p>Here</text:p><text:p><draw:frame>{thing}</draw:frame></text:p></office:text>"
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as package:
        content = f"<office:document-content {NAMES} {DRAW}><office:body>{body}</office:body></office:document-content>"
        package.writestr("content.xml", content)
        if not within:
            package.writestr("Object 1/content.xml", math)
    texts, warnings = read(made.getvalue(), "odt", tmp_path)
    assert texts[-1] == text
    assert warnings == []
