import io

from footnote.edge.v1.chunks_pb2 import Chunk, ScoredChunk
from footnote_cli.render import tables
from footnote_cli.render.fitted import FittedTable
from rich.console import Console

ID = "4020da9a51044192bdde778ebcbd81ab"


def drawn(width: int) -> list[str]:
    table = FittedTable("File", "Note", "Chunks", "Id", right=("Chunks",), optional=("Note", "Chunks"), whole=("Id",))
    table.add_row("guide.md", "", "4", ID)
    table.add_row("A report whose name is a good deal longer than others.pdf", "", "12", ID)
    console = Console(file=io.StringIO(), width=width)
    console.print(table)
    assert isinstance(console.file, io.StringIO)
    return [line.rstrip() for line in console.file.getvalue().splitlines() if line.strip()]


def test_a_wide_terminal_shows_every_column_that_says_something() -> None:
    lines = drawn(200)
    assert lines[0].split() == ["File", "Chunks", "Id"]
    assert lines[2].split() == ["guide.md", "4", ID]
    assert len(lines) == 4


def test_a_narrow_one_leaves_out_what_matters_least_and_keeps_ids_in_one_piece() -> None:
    lines = drawn(60)
    assert lines[0].split() == ["File", "Id"]
    assert sum(ID in line for line in lines) == 2
    assert "".join(line.removesuffix(ID).strip() for line in lines[3:]).endswith("others.pdf")


def test_nothing_is_cut_where_not_even_ids_have_room() -> None:
    lines = drawn(30)
    assert max(map(len, lines)) <= 30
    assert "".join(line.split()[-1] for line in lines[2:]).startswith(ID)


def test_a_search_result_names_every_place_of_its_text() -> None:
    item = ScoredChunk(chunk=Chunk(filename="Arden.md", text="Kept confidential for five years."), score=0.984)
    for name in ("Birch.md", "Cedar\x1b[31m.md", *(f"{number}.md" for number in range(20))):
        item.repetitions.add(filename=name).locator.lines.first_line = 9
    other = ScoredChunk(chunk=Chunk(filename="Elm.md", text="The lease ends in May."), score=0.5)
    console = Console(file=io.StringIO(), width=120)
    console.print(tables.search_results([item, other]))
    assert isinstance(console.file, io.StringIO)
    shown = console.file.getvalue()
    assert "also Birch.md, line 9" in shown
    assert shown.count("also ") == 20
    assert "and 2 more" in shown
    assert "\x1b[31m" not in shown
