"""Every public function of ours that takes a text first, and what else it is called with here."""

from __future__ import annotations

import inspect
import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import _lru_cache_wrapper
from pathlib import Path
from typing import Any

from footnote.stages.v1 import parsing_pb2
from footnote.types.v1 import collection_pb2
from footnote.types.v1.answer_pb2 import MemoryMessage, Source
from footnote.types.v1.locator_pb2 import Anchor, Locator, SheetLocator, TextSpan
from footnote_augmentation import budget, neutralise, phrases, plan, subject, substitution
from footnote_edge.audit import events
from footnote_edge.sources import patterns, robots
from footnote_edge.sources.kinds import feed
from footnote_generation.answering import addresses, markup, model_verifier, policy, summary
from footnote_generation.extractive import compose, foreign_passages, forms, provider
from footnote_generation.language import phrases as answer_phrases
from footnote_generation.language import quantities, text_language
from footnote_generation.language.cldr import writing
from footnote_generation.language.words import analyse
from footnote_generation.verification import (
    cells,
    claims,
    explanations,
    judging,
    layout,
    lead_ins,
    normalised,
    parts,
    quotations,
    weighing,
)
from footnote_generation.verification import wording as stated
from footnote_generation.verification.evidence import Evidence
from footnote_indexing.chunking.assemble import TextWindow
from footnote_indexing.chunking.registry import make_chunker
from footnote_ingestion.parsers import inside, parser_for, sniff, symbols
from footnote_ingestion.parsers.base import BlockWriter, Limits
from footnote_ingestion.parsers.pdf import bidi
from footnote_ingestion.parsers.sheets import declared, escaped_quotes
from footnote_ingestion.parsers.texts import html
from footnote_ingestion.parsers.texts import plain as text
from footnote_ingestion.tables import asked_numbers, currencies, fitted, literals, periods
from footnote_ingestion.tables import forms as table_forms
from footnote_ingestion.tables.candidates import Reading
from footnote_ingestion.tables.forms import Subject
from footnote_kit.collection_settings import resolve
from footnote_kit.memoise import Memoised
from footnote_providers import quotes
from footnote_providers.builtin import embed
from footnote_retrieval import memory
from footnote_retrieval.query import files
from footnote_retrieval.ranking import affinity
from footnote_store import expr
from footnote_text import a1, abbreviations, intents, locales, question_context, scripts, sentences, tokens

from support.linear.patterns import modules

Call = Callable[[str], object]
_STEP = "The Polaris tracker weighs 12.8 kg. Its warranty lasts 60 months, if registered. "
_PASSAGE = _STEP * 20
_SOURCE = Source(
    number=1, chunk_id="c", document_id="d", filename="products.xlsx", text="Product: Polaris; Weight (kg): 12.8",
    anchors=[Anchor(span=TextSpan(start=0, end=16)), Anchor(span=TextSpan(start=18, end=35))],
    locator=Locator(sheet=SheetLocator(sheet="Products", range="A1:B1")), score=0.5,
)  # fmt: skip
_EVIDENCE = Evidence(Source(number=1, title="Products", text=_PASSAGE))
_QUANTITY = quantities.Quantity(frozenset([1.0]), "", 0, 1, "1")
_CELLS = cells.Cells.of(_SOURCE, "en", ".")
_NAMES = files.FileNames(
    {f"d{i}": f"{name}_{i}.pdf" for i, name in enumerate(("report", "polaris", "1", "annual 2023", "中"))}
)
_TABLE = Subject(
    "depot.xlsx", "depot.xlsx Halle", {1: "Product", 2: "Weight (kg)", 3: "产品 价格"}, frozenset({2, 3}),
    {1: ["Polaris", "北京", "1"]}, 1, 20,
)  # fmt: skip
_MARKERS = [claims.PlacedMarker(at, at + 3, 1) for at in range(40, 4000, 40)]
_FOLDER = tempfile.TemporaryDirectory(prefix="footnote-linear-")

# What needs more than the text.
ARGUMENTS: Mapping[str, Call] = {
    "footnote_ingestion.tables.periods.of_name": lambda t: periods.of_name.__wrapped__(t, "en"),
    "footnote_text.a1.holds": lambda t: a1.holds(t, t),
    "footnote_ingestion.tables.forms.same_word": lambda t: table_forms.same_word(t, t, False),
    "footnote_ingestion.tables.forms.abbreviates": lambda t: table_forms.abbreviates("qty", f"q{t}", t),
    "footnote_ingestion.tables.fitted.weigh": lambda t: fitted.weigh(t, [_TABLE], Reading({}), locales.choose("en")),
    "footnote_ingestion.tables.literals.is_written": lambda t: [literals.is_written(one, t) for one in (t, t[:200])],
    "footnote_ingestion.tables.literals.distinguishing": lambda t: literals.distinguishing(t, t.split()[:20]),
    "footnote_ingestion.tables.asked_numbers.numbers_of": lambda t: asked_numbers.numbers_of(t, "fr"),
    "footnote_ingestion.tables.asked_numbers.number_of": lambda t: asked_numbers.number_of(t[:1] and f"1{t}", "de"),
    "footnote_ingestion.tables.currencies.names_currency": lambda t: currencies.names_currency.__wrapped__(t, "en"),
    "footnote_ingestion.tables.forms.place_of": lambda t: table_forms.place_of(t, ["two", t]),
    "footnote_ingestion.parsers.symbols.in_font": lambda t: symbols.in_font(t, "Symbol"),
    "footnote_ingestion.parsers.sheets.escaped_quotes.with_doubled_quotes": lambda t: (
        escaped_quotes.with_doubled_quotes(t, ",", [["a", "b"]])
    ),
    "footnote_ingestion.parsers.sheets.declared.table_of": lambda t: declared.table_of(t, 1, "Stocks"),
    "footnote_edge.audit.events.origin_of_request": lambda t: events.origin_of_request(t, None),
    "footnote_edge.sources.patterns.matches": lambda t: [
        patterns.matches(t, "docs/guide.md"), patterns.matches("**/*a*b*.md", t)
    ],
    "footnote_edge.sources.patterns.wanted": lambda t: patterns.wanted(t, ["docs/**", "*.md"], ["*draft*"]),
    "footnote_edge.sources.kinds.feed.entry_page": lambda t: feed.entry_page("News", t),
    "footnote_edge.sources.robots.read": lambda t: robots.read(t, "footnote"),
    "footnote_edge.sources.robots.forbids_indexing": lambda t: robots.forbids_indexing(t, "footnote"),
    "footnote_retrieval.memory.relevant": lambda t: memory.relevant(t, [MemoryMessage(text=t)], 0.5),
    "footnote_text.abbreviations.spelled_out": lambda t: abbreviations.spelled_out(t, "en"),
    "footnote_providers.quotes.before_quote": lambda t: [quotes.before_quote(t, [t]), quotes.before_quote(_STEP, [t])],
    "footnote_store.expr.equals": lambda t: expr.equals("filename", t),
    "footnote_store.expr.composed_too": lambda t: expr.composed_too("filename", [t]),
    "footnote_store.expr.check_name": lambda t: expr.check_name(t, ValueError),
    "footnote_text.question_context.line": lambda t: question_context.line("you", t),
    "footnote_text.intents.has": lambda t: intents.has(t, locales.choose("de").signals.steps),
    "footnote_text.intents.without": lambda t: intents.without(t, locales.choose("en").signals.summary),
    "footnote_text.intents.seeks_nothing": intents.seeks_nothing,
    "footnote_text.intents.wish": lambda t: [intents.wish(t, locales.choose(code)) for code in ("en", "fr", "zh")],
    "footnote_text.intents.is_one": lambda t: intents.is_one(t, locales.choose("es").signals.asking),
    "footnote_text.intents.is_order": lambda t: [intents.is_order(t, locales.choose(code)) for code in ("en", "ja")],
    "footnote_text.scripts.joins_without_space": lambda t: scripts.joins_without_space(t, t),
    "footnote_augmentation.subject.in_full": lambda t: subject.in_full(t, ["What does the Vela cost?", t[:2000]]),
    "footnote_text.sentences.begins_anaphorically": lambda t: sentences.begins_anaphorically(t, "en"),
    "footnote_generation.extractive.provider.without_files": lambda t: provider.without_files(t, {"a", t[:40]}),
    "footnote_generation.language.text_language.of_source": lambda t: text_language.of_source.__wrapped__(t, "en"),
    "footnote_augmentation.phrases.tokens": lambda t: phrases.tokens(t, "de"),
    "footnote_augmentation.substitution.swapped": lambda t: substitution.swapped(
        t, phrases.tokens("in the Lyra hall", "en"), ["Vela"], "en", corrects=False
    ),
    "footnote_text.sentences.starts_from": lambda t: sentences.starts_from(t, len(t) // 2),
    "footnote_text.tokens.truncate_to": lambda t: tokens.truncate_to(t, 100),
    "footnote_ingestion.parsers.texts.html.write_html": lambda t: html.write_html(t, _writer(), None),
    "footnote_ingestion.parsers.texts.plain.write_text": lambda t: text.write_text(t, _writer()),
    "footnote_retrieval.ranking.affinity.affinities": lambda t: affinity.affinities(t, "en", _NAMES),
    "footnote_retrieval.query.files.effort_of_naming": lambda t: files.effort_of_naming(t, _NAMES),
    "footnote_retrieval.query.files.asks_for_whole": lambda t: files.asks_for_whole(
        t, files.named_files(t[:200] + " policy_1.txt", _NAMES)
    ),
    "footnote_ingestion.parsers.inside.picture_at": lambda t: inside.picture_at(f"data:image/png;base64,{t}", None),
    "footnote_retrieval.query.files.named_files": lambda t: files.named_files(t, _NAMES),
    "footnote_augmentation.budget.cut_at_sentence": lambda t: budget.cut_at_sentence(t, lambda p: len(p) < 999),
    "footnote_augmentation.neutralise.is_invisible": lambda t: neutralise.is_invisible(t, 0),
    "footnote_augmentation.plan.accumulate": lambda t: plan.accumulate(t[:400], t, "en"),
    "footnote_augmentation.plan.plan": lambda t: plan.plan(t, "polaris tracker"),
    "footnote_generation.answering.model_verifier.find_quote": lambda t: (
        model_verifier.find_quote("never there", t),
        model_verifier.find_quote(t, _PASSAGE),
    ),
    "footnote_generation.verification.cells.find_named": lambda t: cells.find_named(t, None, _SOURCE, "en"),
    "footnote_generation.verification.cells.without_places": lambda t: cells.without_places(t, _SOURCE),
    "footnote_generation.verification.cells.check": lambda t: cells.check(t, _CELLS),
    "footnote_generation.verification.cells.at": lambda t: cells.at(t, [(18, 35)], _SOURCE, _CELLS),
    "footnote_generation.verification.weighing.unknown_name": lambda t: weighing.unknown_name(t, "en", frozenset()),
    "footnote_generation.verification.judging.judge": lambda t: judging.judge(t, t[:80], _EVIDENCE, None),
    "footnote_generation.verification.layout.of_row": lambda t: list(
        layout.of_row(t, [(0, len(t) // 2), (len(t) // 2, len(t))], ["Item", "Price"], _MARKERS)
    ),
    "footnote_generation.verification.layout.clauses": lambda t: layout.clauses(t, 0, len(t), _MARKERS),
    "footnote_generation.verification.layout.context_begin": lambda t: layout.context_begin(t, len(t), 300),
    "footnote_generation.verification.lead_ins.is_name": lambda t: lead_ins.is_name(t, _SOURCE),
    "footnote_generation.language.phrases.new_number": lambda t: answer_phrases.new_number(t, "How much?"),
    "footnote_generation.language.phrases.says_more": lambda t: answer_phrases.says_more(t, "Why?", strictly=True),
    "footnote_generation.verification.normalised.tokens": lambda t: normalised.tokens.__wrapped__(t, ","),
    "footnote_generation.verification.parts.cut": lambda t: parts.cut(t, "."),
    "footnote_generation.verification.quotations.find": quotations.find,
    "footnote_generation.language.quantities.find": lambda t: [
        quantities.find.__wrapped__(t, language) for language in ("en", "zh", "")
    ],
    "footnote_generation.language.quantities.numeral": lambda t: quantities.numeral(t, writing("de")),
    "footnote_generation.answering.summary.not_found_part": lambda t: (
        summary.not_found_part(t, "Why?"),
        summary.not_found_part(f"I don't know. {t}", "Why?"),
    ),
    "footnote_generation.answering.summary.nearest": lambda t: summary.nearest(t, [_SOURCE], "en"),
    "footnote_generation.answering.addresses.read": lambda t: addresses.read(t, 0, True),
    "footnote_generation.answering.markup.guarded": lambda t: markup.guarded(t, []),
    "footnote_generation.extractive.compose.draft": lambda t: compose.draft(t, [_SOURCE]),
    "footnote_generation.extractive.foreign_passages.find": lambda t: foreign_passages.find(t, [_SOURCE]),
    "footnote_generation.extractive.foreign_passages.of": lambda t: foreign_passages.of(t, _SOURCE),
    "footnote_generation.extractive.provider.cited": lambda t: provider.cited(t, 1),
    "footnote_generation.verification.wording.bare_number": lambda t: stated.bare_number(t, "en"),
    "footnote_generation.verification.wording.outside": lambda t: stated.outside(t, _QUANTITY),
    "footnote_generation.verification.wording.parts": lambda t: stated.parts(t, ","),
    "footnote_generation.verification.wording.words": lambda t: stated.words(t, ","),
    "footnote_generation.verification.claims.segment": lambda t: claims.segment(t, _MARKERS),
    "footnote_generation.answering.policy.instructions_in": lambda t: policy.instructions_in(t, ["Use the sources."]),
    "footnote_generation.verification.explanations.shorten": lambda t: explanations.shorten(t, t),
    "footnote_generation.language.words.analyse": lambda t: analyse(t, "en"),
}  # fmt: skip
# Work on texts that is not a function of one text.
MORE: Mapping[str, Call] = {
    "source: made ready and judged": lambda t: judging.judge(
        "The tracker weighs 12.8 kg.", "", Evidence(Source(number=1, text=t)), None
    ),
    "statement: below an introduction": lambda t: judging.judge(_STEP.split(". ")[0], t, _EVIDENCE, None),
    "statement: lead-ins": lambda t: list(lead_ins.without(normalised.tokens(t), t, frozenset({"manual"}))),
    "source: other forms of German words": lambda t: forms.others(analyse(f"Bringen Sie {t} mit.", "de"), "de"),
    "source: passage in another language": lambda t: foreign_passages.find(
        "Combien pèse cette caisse de bois ?", [Source(number=1, text=t, score=0.5)]
    ),
    "source: extractive answer": lambda t: compose.draft("How heavy is it?", [Source(number=1, text=t, score=0.5)]),
    "reply: markers one by one": lambda t: _streamed(t),
    **{f"chunking: {name}": lambda t, s=value: _chunked(t, s) for name, value in (
        ("fixed window", collection_pb2.CHUNKING_STRATEGY_FIXED_WINDOW),
        ("paragraph", collection_pb2.CHUNKING_STRATEGY_PARAGRAPH),
        ("heading section", collection_pb2.CHUNKING_STRATEGY_HEADING_SECTION),
        ("semantic", collection_pb2.CHUNKING_STRATEGY_SEMANTIC),
        ("table", collection_pb2.CHUNKING_STRATEGY_TABLE),
    )},
    **{f"parsing: {kind}": lambda t, k=kind: _parsed(t, k) for kind in ("txt", "md", "html", "csv", "eml", "rtf")},
    "parsing: order of lines that are read from the right": lambda t: bidi.logical(list(f"א{t}ב"), False),
    "parsing: sniff": lambda t: sniff.sniff(_file(t), "notes.txt"),
}  # fmt: skip
# What takes a name, an address, a code or an id first, never a text; or does no work on it but to send it on.
NOT_TEXTS = frozenset(
    # The first thirteen are not timed yet: they take more than a text, or one that is bounded before them.
    """footnote_ingestion.tables.accounting.discrepancies footnote_ingestion.tables.recomputed.recomputed
    footnote_ingestion.servicer.checked_id footnote_cli.evaluation.golden.matches
    footnote_ingestion.parsers.clean.mend
    footnote_ingestion.tables.forms.alike footnote_ingestion.tables.asked_forms.read
    footnote_ingestion.tables.periods.parts footnote_ingestion.tables.periods.nouns_of
    footnote_conformance.table.written
    footnote_ingestion.tables.jobs.answered footnote_ingestion.tables.table_archive.view_of
    footnote_ingestion.tables.statements.checked footnote_retrieval.query.files.missing_files
    footnote_generation.verification.weighing.weigh footnote_edge.sources.net.client.joined
    footnote_generation.extractive.passages.line_of footnote_edge.sources.kinds.web_pages.known_item
    footnote_edge.sources.kinds.web_pages.file_item footnote_edge.sources.net.addresses.resolve
    footnote_edge.sources.net.addresses.permitted footnote_edge.sources.workflows.synchronise
    footnote_edge.sources.workflows.delete
    footnote_kit.clients.service_config footnote_kit.clients.open_channel footnote_kit.context.bind_request_id
    footnote_kit.context.bind_service footnote_kit.context.detached
    footnote_edge.adapters.origins.row_key
    footnote_kit.logs.get_logger footnote_kit.net.port_is_free footnote_kit.status.make
    footnote_kit.telemetry.resource footnote_kit.telemetry.span footnote_kit.telemetry.record_content
    footnote_kit.telemetry.counter footnote_kit.telemetry.histogram footnote_kit.telemetry.observe
    footnote_database.engine.address footnote_kit.app.replica_addresses
    footnote_text.locators.label footnote_store.requests.search_request footnote_store.requests.query_request
    footnote_store.rows.decode_message footnote_store.rows.chunk_schema footnote_store.rows.message_schema
    footnote_store.store.index_parameters footnote_store.expr.any_of
    footnote_store.fields.check_metadata footnote_store.fields.item_key
    footnote_store.ids.chunk_id footnote_store.rows.revision_key
    footnote_store.rows.decode_chunk footnote_store.scope.search_key
    footnote_providers.endpoints.endpoint footnote_providers.endpoints.settings_of
    footnote_providers.registry.validate footnote_cli.command.connected footnote_cli.launcher.serve
    footnote_cli.render.text.shorten footnote_cli.session.open_channel footnote_cli.values.confirm
    footnote_cli.targets.found footnote_kit.plugins.installed footnote_conformance.stages.library.blocks_of
    footnote_conformance.rules.places_of
    footnote_ingestion.model.values.new_key
    footnote_indexing.model.collection_key
    footnote_retrieval.model.degradation footnote_augmentation.adapters.http.creator
    footnote_cli.targets.how_many footnote_text.locales.known footnote_text.locales.choose
    footnote_edge.asking.fallback.prompt_of footnote_edge.http.dialects.mcp_stdio.serve
    footnote_edge.http.dialects.openai.completion footnote_edge.http.openapi.document.document
    footnote_edge.http.openapi.document.routes footnote_edge.jobs.workflows.process_document
    footnote_edge.jobs.workflows.remember_messages footnote_edge.jobs.workflows.forget_messages
    footnote_edge.jobs.operation_workflows.delete footnote_edge.jobs.operation_workflows.reindex
    footnote_edge.jobs.workflows.enqueue_document footnote_edge.jobs.workflows.begin_document
    footnote_edge.jobs.workflows.begin_again
    footnote_kit.front.proxy.listen
    footnote_kit.validation.checked_name footnote_kit.validation.checked_group
    footnote_kit.testing.stage_channel footnote_edge.gateway.allowances.raising
    footnote_providers.egress.limits.check_provider footnote_providers.onnx_files.find_folder
    footnote_providers.onnx_files.find_files footnote_indexing.collections.rules.ambiguous
    footnote_generation.answering.markup.spaced footnote_augmentation.permitted.embedding_of
    footnote_kit.private.new_socket_path footnote_providers.openai_client.http_client
    footnote_providers.openai_client.transport
    footnote_kit.redact.register footnote_kit.registration.unconfigured footnote_store.rows.own_key
    footnote_edge.http.dialects.wrapper.addition footnote_store.rows.message_key
    footnote_kit.access.system_scope footnote_edge.jobs.workflows.step
    footnote_edge.jobs.operation_workflows.step
    footnote_kit.transient_errors.unavailable footnote_database.integrity.newer footnote_database.storage.database
    footnote_cli.admin.findings.ok footnote_cli.admin.findings.warning footnote_cli.admin.findings.broken
    footnote_cli.admin.findings.refused footnote_cli.admin.findings.older
    footnote_cli.server_or_database.opener
    footnote_kit.renewed_channel.plain_channel""".split()  # noqa: SIM905
)
_CACHES = [
    value
    for module in modules()
    for value in vars(module).values()
    if isinstance(value, _lru_cache_wrapper | Memoised) and value.__module__ == module.__name__
]
_OF_TEXTS = 64
# What is kept of texts is bounded; the others, and the smallest, hold what is made once: stop words, say.
_FORGOTTEN = [
    cache for cache in _CACHES if isinstance(cache, Memoised) or (cache.cache_parameters()["maxsize"] or 0) >= _OF_TEXTS
]


def forget() -> None:
    """Empty the caches of texts, so that a second call works as hard as the first."""
    for cache in _FORGOTTEN:
        cache.cache_clear()


def found() -> Iterator[tuple[str, Call | None]]:
    """Yield the public functions whose first parameter is a text, and how to call each; None when nothing says how."""
    for module in modules():
        for name, value in vars(module).items():
            inner = getattr(value, "__wrapped__", value)
            if name.startswith("_") or not inspect.isfunction(inner) or inner.__module__ != module.__name__:
                continue
            parameters = list(inspect.signature(inner).parameters.values())
            place = f"{module.__name__}.{name}"
            if not parameters or parameters[0].annotation not in ("str", str) or place in NOT_TEXTS:
                continue
            yield place, ARGUMENTS.get(place) or (None if _needs_more(parameters) else value)


def _needs_more(parameters: list[inspect.Parameter]) -> bool:
    free = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return any(p.default is p.empty and p.kind not in free for p in parameters[1:])


def _writer() -> BlockWriter:
    return BlockWriter(lambda block: None, Limits())


def _file(content: str) -> Path:
    path = Path(_FOLDER.name) / "input"
    path.write_text(content, encoding="utf-8", errors="replace")
    return path


def _parsed(content: str, kind: str) -> object:
    head = {"eml": "From: a@b\nTo: c@d\nSubject: x\n\n", "rtf": "{\\rtf1 ", "html": "<html><body>"}.get(kind, "")
    return parser_for(kind).parse(_file(head + content), _writer(), Limits())


def _streamed(content: str) -> object:
    from footnote_generation.answering.markers import MarkerScanner

    scanner = MarkerScanner(("report.pdf",))
    for start in range(0, len(content), 4):
        scanner.feed(content[start : start + 4])
    return scanner.finish()


def _chunked(content: str, strategy: Any) -> object:
    kind = parsing_pb2.BLOCK_KIND_TABLE_ROW if strategy == collection_pb2.CHUNKING_STRATEGY_TABLE else 0
    block = parsing_pb2.Block(kind=kind or parsing_pb2.BLOCK_KIND_PARAGRAPH, text=content)
    settings = resolve(collection_pb2.ChunkingSettings())
    window = TextWindow()
    chunker = make_chunker(strategy, settings, lambda texts: embed(texts, 64))
    cuts = chunker.feed(window.place([block]))
    return [window.passage(cut) for cut in [*cuts, *chunker.finish()]]
