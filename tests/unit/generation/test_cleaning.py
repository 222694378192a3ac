# ruff: noqa: E501 - a table of pieces
"""What an answer may hold: rendered by any Markdown with HTML allowed, nothing in it acts, loads or hides."""

import asyncio
import re
from collections.abc import Sequence
from urllib.parse import unquote

import pytest
from footnote.types.v1 import answer_pb2 as types
from footnote_generation.answering import policy
from footnote_generation.answering.generate import Completed, Delta, Generator
from footnote_generation.answering.markers import MarkerScanner
from footnote_generation.answering.retries import RetryPolicy
from footnote_generation.answering.writer import Writer
from footnote_generation.ports import ModelRequest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from selectolax.lexbor import LexborHTMLParser
from support import xss_corpus
from support.doubles.model_provider import ScriptedModel
from support.matrices import sampled

SOURCES = [types.Source(number=1, filename="a.txt", text="The stock is 150."), types.Source(number=2, filename="b.txt")]
RENDERERS = (
    MarkdownIt("commonmark", {"html": True}),
    MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]),
)
HARMLESS_ELEMENTS = re.compile(
    r"html|head|body|p|br|hr|em|strong|del|s|code|pre|a|ul|ol|li|blockquote|h[1-6]|table|thead|tbody|tr|th|td|-text"
)
ATTRIBUTES = frozenset({"href", "title", "start", "class", "style"})


def dangers(text: str) -> list[str]:
    """Say what in a text a browser would act on, once any of the renderers has made HTML of it."""
    found = []
    for renderer in RENDERERS:
        for node in LexborHTMLParser(renderer.render(text)).css("*"):
            if not HARMLESS_ELEMENTS.fullmatch(node.tag or ""):
                found.append(f"<{node.tag}>")
            for name, value in node.attributes.items():
                plain = "".join((value or "").split()).lower()
                if name not in ATTRIBUTES or (name == "style" and not plain.startswith("text-align:")):
                    found.append(f"{node.tag} {name}={value}")
                scheme = re.match(r"[\x00-\x20]*([a-z][a-z0-9+.-]*):", unquote(plain))
                if name == "href" and scheme and scheme[1] not in {"http", "https", "mailto"}:
                    found.append(f"{node.tag} {name}={value}")
    return found


def compose(parts: Sequence[str]) -> tuple[str, list[str], Writer]:
    """Return the text that these parts of a stream become, all that was shown on the way, and who wrote it."""
    warnings: list[str] = []
    rules, scanner, writer = policy.Policy(warnings), MarkerScanner(["a.txt"]), Writer(SOURCES, warnings=warnings)
    shown = ["".join(map(writer.add, scanner.feed(rules.feed(part)))) for part in parts]
    shown.append("".join(map(writer.add, [*scanner.feed(rules.finish()), *scanner.finish()])) + writer.finish())
    return writer.text, shown, writer


def answer(pieces: Sequence[str], strict: bool = False) -> tuple[types.Answer, str]:
    """Return the answer made of what a model says, and all that was shown of it."""

    async def run() -> tuple[types.Answer, str]:
        request = ModelRequest(messages=(), question="?", sources=SOURCES, locale="en")
        events = [event async for event in Generator(RetryPolicy()).run(ScriptedModel(pieces), request, strict)]
        assert isinstance(events[-1], Completed)
        return events[-1].answer, "".join(event.text for event in events if isinstance(event, Delta))

    return asyncio.run(run())


def test_the_corpus_is_dangerous_and_large() -> None:
    assert len(set(xss_corpus.ALL)) >= 200
    # Most act as they stand; the others only once a marker or a delimiter has been taken out of them.
    assert sum(bool(dangers(vector)) for vector in xss_corpus.ALL) >= 120


@pytest.mark.parametrize("vector", sampled(xss_corpus.ALL, every=9))
def test_nothing_acts_in_an_answer(vector: str) -> None:
    for text in (
        vector,
        f"The stock is 150 [1]. {vector} It is 150 [1].",
        f"- x\n\n  {vector}\n\nThe stock is 150 [1].",
    ):
        made, shown = answer([text])
        assert dangers(made.text) == [], made.text
        assert shown == made.text
        for citation in made.citations:
            assert made.text[citation.marker_span.start : citation.marker_span.end] == f"[{citation.number}]"
        assert dangers(answer([text], strict=True)[0].text) == []


@pytest.mark.parametrize("vector", sampled(xss_corpus.ALL, every=60))
def test_nothing_acts_wherever_the_stream_is_cut(vector: str) -> None:
    text = f"See {vector} and [1]."
    whole, _, _ = compose([text])
    assert dangers(whole) == []
    step = max(1, len(text) // 150)
    for cut in range(0, len(text), step):
        made, shown, writer = compose([text[:cut], text[cut:]])
        assert made == whole == "".join(shown)
        assert dangers(shown[0]) == []
        assert all(made[marker.start : marker.end] == f"[{marker.number}]" for marker in writer.markers)
    assert compose(list(text))[0] == whole


@pytest.mark.parametrize("vector", sampled(xss_corpus.ALL, every=9))
def test_what_was_done_is_said(vector: str) -> None:
    made, _ = answer([vector])
    if made.text.split() != vector.split() and dangers(vector):
        assert made.warnings


@pytest.mark.parametrize("text", xss_corpus.HARMLESS)
def test_ordinary_text_and_code_stay(text: str) -> None:
    assert policy.clean(text) == (text, [])


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("x <y> z", "x < y> z"),
        ("if x<y and y>z", "if x< y and y>z"),
        ("List<String> and Map<K, V>", "List< String> and Map< K, V>"),
        ("a<br>b<br/>c", "a b c"),
        ("<p>one</p><p>two</p>", "one two "),
        ("Look![1]", "Look! [1]"),
        ("[![logo](https://e.example/x.png)](https://e.example)", "[logo](https://e.example)"),
        ("[x](javascript:alert(1))", "[x] (javascript:alert(1))"),
        ("H<sub>2</sub>O", "H2O"),
    ],
)
def test_no_word_is_lost(text: str, left: str) -> None:
    assert policy.clean(text)[0] == left
    assert policy.clean(text)[1]


PIECES = st.sampled_from(
    ["<", ">", "<script>", "</script>", "<b", " onclick=x", "<img src=x>", "<!--", "-->", "<?", "![", "[", "]", "(", ")", "](",
     "]:", "[x]", "[1]", "[9]", "【9】", "javascript:", "java", "script:", "https://e", "mailto:a@b.c", "data:", "&#58;", "&colon;", "\\",
     "`", "``", "```", "~~~", "\n", "\n\n", "\n    ", "\n  ", "    ", " ", "\t", "- ", "1. ", "2) ", "> ", "\n> ", "\n- ", "# ",
     "|", "\n|---|---|\n", "---", "===", "***", "x", "word ", "'", '"', "=", "!", "<http://e>", "<<<SOURCES 1>>>", "\x00", "\u200b",
     "[^1]: ", "<a@b.c>", "sk-abcdefghijklmnop", "$"]
)  # fmt: skip


@pytest.mark.slow
@settings(max_examples=1500, deadline=None)
@given(st.lists(PIECES, max_size=30).map("".join), st.integers(0, 200))
@example("[`]: javascript:alert(1) '`'\n\n[x][`]", 3)
def test_whatever_is_put_together_nothing_acts(text: str, cut: int) -> None:
    cleaned, _ = policy.clean(text)
    assert dangers(cleaned) == [], cleaned
    assert policy.clean(cleaned)[0] == cleaned
    cut %= len(text) + 1
    whole, shown, writer = compose([text[:cut], text[cut:]])
    assert dangers(whole) == [], whole
    assert whole == "".join(shown) == compose([text])[0]
    assert all(whole[marker.start : marker.end] == f"[{marker.number}]" for marker in writer.markers)
