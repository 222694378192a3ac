"""Verdicts of computed answers: an ambiguous statement is reported, and never SUPPORTED."""

from footnote.stages.v1.passage_pb2 import Chunk, ScoredChunk
from footnote.types.v1.answer_pb2 import BASIS_COMPUTED, VERDICT_NOT_CONFIRMED, VERDICT_SUPPORTED
from footnote.types.v1.locator_pb2 import Anchor
from footnote.types.v1.table_pb2 import Cell, ComputedCells, Table, TableColumn, TableComputation
from footnote_edge.asking.table_answer import answer_of, is_placed
from footnote_kit.origins import with_origin

CHUNKS = [ScoredChunk(chunk=Chunk(id="c", document_id="d", filename="a.csv", document_type="csv"))]


def computed(**more: object) -> TableComputation:
    cells = ComputedCells(document_id="d", filename="a.csv", table=1, column="Units", ranges=["B2:B9"], count=8)
    query = 'SELECT SUM("Units") FROM t_d_1'
    return TableComputation(
        text="Sum of Units: 4", query=query, document_ids=["d"], cells=[cells], confirmed=True, **more
    )  # type: ignore[arg-type]


def test_doubts_are_said_and_not_confirmed() -> None:
    answer, _ = answer_of(computed(doubts=["Left out: margin."], model="m"), [], CHUNKS, "en")
    assert (answer.claims[0].support, answer.claims[0].basis) == (VERDICT_NOT_CONFIRMED, BASIS_COMPUTED)
    assert all(one.support == VERDICT_NOT_CONFIRMED for one in answer.citations)
    assert "Left out: margin." in answer.text
    assert (answer.reliability.claims_supported, answer.reliability.claims_computed) == (0.0, 0)
    assert answer.model == "m"


def test_without_doubts_it_is_supported_and_says_how_it_was_computed() -> None:
    answer, _ = answer_of(computed(), [], CHUNKS, "en")
    assert (answer.claims[0].support, answer.claims[0].basis) == (VERDICT_SUPPORTED, BASIS_COMPUTED)
    assert (answer.computation.query, list(answer.computation.document_ids)) == (
        'SELECT SUM("Units") FROM t_d_1',
        ["d"],
    )


def test_footnotes_lead_to_the_item_of_a_source() -> None:
    """Also where its document is not among the prompt's sources."""
    item = {"id": "s", "kind": "web", "item": "i", "version": "1", "address": "https://x.example/t.csv"}
    found = ScoredChunk(chunk=CHUNKS[0].chunk)
    found.chunk.metadata.CopyFrom(with_origin(None, {**item, "time": "2026-01-01T00:00:00+00:00"}))
    found.chunk.create_time.FromSeconds(1)
    _, (added,) = answer_of(computed(), [], [found], "en")
    assert added.origin.address == item["address"]
    assert added.create_time.seconds == 1


def test_a_document_that_is_only_joined_is_a_source() -> None:
    """Its names may stand in the answer, which must go with it."""
    computation = computed()
    computation.document_ids.append("joined")
    assert not is_placed(computation, CHUNKS)
    both = [*CHUNKS, ScoredChunk(chunk=Chunk(id="j", document_id="joined", collection_id="hr", revision=3))]
    assert is_placed(computation, both)
    answer, added = answer_of(computation, [], both, "en")
    assert {(one.document_id, one.collection_id, one.revision) for one in added} == {("d", "", 0), ("joined", "hr", 3)}
    assert [one.document_id for one in answer.citations] == ["d"]


def chunk(kind: str, *places: tuple[int, int, str, str]) -> ScoredChunk:
    """A passage with one row of table 1; each cell has row, column, its place in a sheet and its text."""
    table = Table(number=1, columns=[TableColumn(headers=["Ward"], names_rows=True), TableColumn(headers=["Beds"])])
    found = Chunk(id="c", document_id="d", filename=f"a.{kind}", document_type=kind, tables=[table])
    for row, column, place, text in places:
        anchor = Anchor(cell=Cell(row=row, column=column))
        anchor.span.start, anchor.span.end = len(found.text), len(found.text) + len(text)
        if place:
            anchor.locator.sheet.sheet, anchor.locator.sheet.range = "S", place
        found.anchors.append(anchor)
        found.text += text + " "
    return ScoredChunk(chunk=found)


def one_cell(place: str, **more: object) -> TableComputation:
    cells = ComputedCells(document_id="d", table=1, name="S", column="Beds", ranges=[place], count=1)
    return TableComputation(text="Sum of Beds: 22", query="SELECT 1", cells=[cells], confirmed=True, **more)  # type: ignore[arg-type]


def test_a_table_right_of_the_first_column_has_the_cells_of_its_sheet() -> None:
    found = chunk("xlsx", (5, 1, "D5", "Neurology"), (5, 2, "E5", "22"))
    (citation,) = answer_of(one_cell("E5"), [], [found], "en")[0].citations
    assert (citation.locator.sheet.range, citation.label) == ("E5", "a.xlsx, sheet 'S', cell E5")
    assert (citation.quote, citation.cell.text) == ("E5 (Beds, 1)", "22")
    moved = one_cell("E5")
    moved.cells[0].ranges[:], moved.cells[0].count = ["E5:E7", "E9"], 4
    (citation,) = answer_of(moved, [], [found], "en")[0].citations
    assert (citation.locator.sheet.range, citation.quote) == ("E5:E9", "E5:E7, E9 (Beds, 4)")


def test_a_result_of_one_cell_names_it_outside_of_sheets() -> None:
    found = chunk("docx", (5, 1, "", "Neurology"), (5, 2, "", "22"))
    (citation,) = answer_of(one_cell("B5"), [], [found], "en")[0].citations
    assert citation.label == "a.docx, S, row 'Neurology', column 'Beds'"
    assert (citation.cell.text, list(citation.cell.row_headers)) == ("22", ["Neurology"])


def test_what_names_no_cells_in_the_passages_documents_is_no_answer() -> None:
    assert is_placed(computed(), CHUNKS)
    assert not is_placed(TableComputation(text="Number of rows: 3", query="SELECT 1", confirmed=True), CHUNKS)
    for change in ({"document_id": "other"}, {"ranges": []}, {"ranges": ["everywhere"]}):
        found = computed()
        found.cells[0].MergeFrom(ComputedCells(**change))  # type: ignore[arg-type]
        if "ranges" in change:
            found.cells[0].ranges[:] = change["ranges"]
        assert not is_placed(found, CHUNKS), change
