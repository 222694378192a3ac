"""Tables of six kinds of files with questions about single cells: what the cell holds, its row and its column."""

from __future__ import annotations

import io
from dataclasses import dataclass

import docx
import openpyxl
from fpdf import FPDF


@dataclass(frozen=True, slots=True)
class Asked:
    """A question about one cell; `value` is its text, "" where the tables do not answer.

    `row` and `column` are a header of its row and the innermost one of its column; `place` is its name in a sheet.
    """

    question: str
    value: str
    row: str = ""
    column: str = ""
    place: str = ""


def word() -> bytes:
    """A report with a table of four columns, and one whose months stand under quarters."""
    document = docx.Document()
    document.add_heading("Wards of the hospital", 1)
    document.add_paragraph("The table below lists the wards as they are staffed since May.")
    _grid(document, [
        ["Ward", "Beds", "Nurses by day", "Nurses at night", "Head"],
        ["Cardiology", "28", "9", "4", "Dr. Ines Aubry"],
        ["Neurology", "22", "8", "3", "Dr. Tom Brandt"],
        ["Maternity", "16", "7", "5", "Dr. Lea Corso"],
        ["Dialysis", "12", "5", "1", "Dr. Jan Dreyer"],
    ])  # fmt: skip
    document.add_heading("Meals served", 1)
    table = _grid(document, [
        ["Kitchen", "Spring", "", "Autumn", ""],
        ["", "Lunches", "Dinners", "Lunches", "Dinners"],
        ["North wing", "4,210", "3,870", "4,455", "3,990"],
        ["South wing", "2,105", "1,930", "2,240", "2,015"],
    ])  # fmt: skip
    for row, first, last in ((0, 1, 2), (0, 3, 4)):
        table.cell(row, first).merge(table.cell(row, last))
    table.cell(0, 0).merge(table.cell(1, 0))
    return _saved(document)


WORD = (
    Asked("How many beds does the Neurology ward have?", "22", "Neurology", "Beds"),
    Asked("How many nurses work at night in Dialysis?", "1", "Dialysis", "Nurses at night"),
    Asked("Who is the head of Maternity?", "Dr. Lea Corso", "Maternity", "Head"),
    Asked("How many dinners were served in the South wing in autumn?", "2,015", "South wing", "Dinners"),
    Asked("How many lunches did the North wing serve in spring?", "4,210", "North wing", "Lunches"),
    Asked("How many beds does the Oncology ward have?", ""),
)


def web() -> bytes:
    """A page with a table of ferries, and one of consumption with sections."""
    return b"""<!doctype html><html><head><title>Ferries of the bay</title></head><body>
<h1>Ferries of the bay</h1><p>All ferries run daily from April to October.</p>
<h2>Lines</h2><table><thead><tr><th>Line</th><th>Crossing (min)</th><th>Departures per day</th>
<th>Fare</th><th>Bicycles</th></tr></thead>
<tbody><tr><td>Ardmore</td><td>35</td><td>14</td><td>&euro;6.50</td><td>allowed</td></tr>
<tr><td>Bellan</td><td>50</td><td>8</td><td>&euro;9.20</td><td>on request</td></tr>
<tr><td>Corvin</td><td>20</td><td>22</td><td>&euro;4.10</td><td>not allowed</td></tr></tbody></table>
<h2>Fuel</h2><table><tr><th rowspan="2">Ship</th><th colspan="2">Diesel (litres)</th>
<th colspan="2">Electricity (kWh)</th></tr>
<tr><th>2022</th><th>2023</th><th>2022</th><th>2023</th></tr>
<tr><td>Marigold</td><td>61,200</td><td>58,400</td><td>1,100</td><td>9,750</td></tr>
<tr><td>Petrel</td><td>47,900</td><td>49,300</td><td>800</td><td>6,420</td></tr></table></body></html>"""


WEB = (
    Asked("How long is the crossing of the Corvin line?", "20", "Corvin", "Crossing (min)"),
    Asked("How many departures per day does Bellan have?", "8", "Bellan", "Departures per day"),
    Asked("What is the fare of the Ardmore line?", "€6.50", "Ardmore", "Fare"),
    Asked("How much diesel did the Petrel use in 2023?", "49,300", "Petrel", "2023"),
    Asked("How much electricity did the Marigold use in 2022?", "1,100", "Marigold", "2022"),
    Asked("How many passengers does the Bellan line carry?", ""),
)


def pages() -> bytes:
    """A PDF with a ruled table of harvests and one of accounts without rules."""
    pdf = FPDF(unit="pt", format=(600, 800))
    pdf.set_auto_page_break(False)
    pdf.add_page()
    pdf.set_font("Helvetica", size=16)
    pdf.text(50, 60, "Harvest report")
    pdf.set_font("Helvetica", size=10)
    pdf.text(50, 85, "Yields were recorded on all fields of the cooperative.")
    lines = [
        ["Field", "Area (ha)", "Wheat (t)", "Barley (t)", "Soil"],
        ["Upper meadow", "14.5", "88", "31", "loam"],
        ["River bend", "9.0", "52", "47", "clay"],
        ["Old quarry", "21.3", "130", "12", "sand"],
    ]
    for number, line in enumerate(lines):
        for at, text in enumerate(line):
            pdf.rect(50 + 100 * at, 110 + 20 * number, 100, 20)
            pdf.text(55 + 100 * at, 124 + 20 * number, text)
    pdf.set_font("Helvetica", size=12)
    pdf.text(50, 260, "Accounts of the cooperative")
    pdf.set_font("Helvetica", size=10)
    pdf.text(50, 285, "In thousands of dollars.")
    accounts = [
        ["", "2021", "2022", "2023"],
        ["Sales of grain", "$ 812", "$ 774", "$ 901"],
        ["Subsidies", "140", "155", "163"],
        ["Net interest", "(21)", "(18)", "(35)"],
        ["Surplus", "$ 312", "$ 268", "$ 377"],
    ]
    for number, (name, *values) in enumerate(accounts):
        top = 310 + 16 * number
        pdf.text(50, top, name)
        for value, end in zip(values, (350, 450, 550), strict=True):
            if value.startswith("$ "):
                pdf.text(end - 45, top, "$")
            shown = value.removeprefix("$ ")
            pdf.text(end - pdf.get_string_width(shown), top, shown)
    return bytes(pdf.output())


PAGES = (
    Asked("How much wheat did the Old quarry field yield?", "130", "Old quarry", "Wheat (t)"),
    Asked("What is the area of River bend?", "9.0", "River bend", "Area (ha)"),
    Asked("What soil does the Upper meadow have?", "loam", "Upper meadow", "Soil"),
    Asked("How much were the subsidies in 2022?", "155", "Subsidies", "2022"),
    Asked("What was the net interest in 2023?", "(35)", "Net interest", "2023"),
    Asked("How much wheat did the Mill pond field yield?", ""),
)


def workbook() -> bytes:
    """A sheet of vehicles below a title, and one of sales under quarters."""
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Fleet"
    sheet.append(["Fleet of the city, as of June"])
    sheet.append([])
    for row in (
        ["Vehicle", "Depot", "Kilometres", "Repairs", "Driver"],
        ["Bus 14", "Harbour", 48210, 3, "A. Lindqvist"],
        ["Bus 17", "Harbour", 51760, 6, "M. Okafor"],
        ["Tram 3", "Central", 33905, 2, "J. Weiss"],
        ["Van 8", "Airport", 12440, 1, "S. Rao"],
    ):
        sheet.append(row)
    sales = book.create_sheet("Tickets")
    for row in (
        ["Shop", "Singles", None, "Passes", None],
        [None, "Sold", "Refunded", "Sold", "Refunded"],
        ["Station kiosk", 9120, 88, 1410, 17],
        ["Market hall", 6035, 61, 972, 9],
    ):
        sales.append(row)
    sales.merge_cells("B1:C1")
    sales.merge_cells("D1:E1")
    data = io.BytesIO()
    book.save(data)
    return data.getvalue()


WORKBOOK = (
    Asked("How many kilometres did Bus 17 drive?", "51760", "Bus 17", "Kilometres", "C5"),
    Asked("How many repairs did Tram 3 need?", "2", "Tram 3", "Repairs", "D6"),
    Asked("Who is the driver of Van 8?", "S. Rao", "Van 8", "Driver", "E7"),
    Asked("How many passes did the Market hall refund?", "9", "Market hall", "Refunded", "E4"),
    Asked("How many singles were sold at the Station kiosk?", "9120", "Station kiosk", "Sold", "B3"),
    Asked("How many repairs did Tram 5 need?", ""),
)


def lines() -> bytes:
    """Rates of a depository by class, with a loss in brackets."""
    return (
        b"Archive,Shelf metres,Visitors,Result 2023,Curator\n"
        b'Maps,410,1290,"(1,250)",Hanna Koch\n'
        b'Letters,655,2140,"3,480",Piet Vos\n'
        b'Photographs,230,3875,"1,905",Rosa Gil\n'
        b"Newspapers,1120,960,(640),Emil Lund\n"
    )


LINES = (
    Asked("How many shelf metres do the Letters take?", "655", "Letters", "Shelf metres", "B3"),
    Asked("How many visitors came to the Photographs?", "3875", "Photographs", "Visitors", "C4"),
    Asked("What was the result 2023 of Maps?", "(1,250)", "Maps", "Result 2023", "D2"),
    Asked("Who is the curator of Newspapers?", "Emil Lund", "Newspapers", "Curator", "E5"),
    Asked("What was the result 2023 of Newspapers?", "(640)", "Newspapers", "Result 2023", "D5"),
    Asked("How many visitors came to the Films?", ""),
)


def markdown() -> bytes:
    """A manual with two pipe tables."""
    return b"""# Ovens of the bakery

Each oven is checked on Mondays.

## Settings

| Bread | Temperature | Minutes | Loaves per tray | Steam |
|---|---:|---:|---:|---|
| Rye | 240 \xc2\xb0C | 55 | 12 | yes |
| Spelt | 220 \xc2\xb0C | 42 | 15 | no |
| Brioche | 180 \xc2\xb0C | 28 | 20 | no |

## Staff

| Baker | Shift | Oven | Started |
|---|---|---|---|
| Olga Petrova | early | Oven 2 | 2017 |
| Ben Adeyemi | late | Oven 1 | 2020 |
"""


MARKDOWN = (
    Asked("What is the temperature for Spelt?", "220 °C", "Spelt", "Temperature"),
    Asked("How many minutes does the Brioche bake?", "28", "Brioche", "Minutes"),
    Asked("How many loaves per tray are there of Rye?", "12", "Rye", "Loaves per tray"),
    Asked("Which shift does Ben Adeyemi work?", "late", "Ben Adeyemi", "Shift"),
    Asked("Which oven does Olga Petrova use?", "Oven 2", "Olga Petrova", "Oven"),
    Asked("How many minutes does the Ciabatta bake?", ""),
)

FILES = {
    "wards.docx": (word, WORD),
    "ferries.html": (web, WEB),
    "harvest.pdf": (pages, PAGES),
    "fleet.xlsx": (workbook, WORKBOOK),
    "archives.csv": (lines, LINES),
    "ovens.md": (markdown, MARKDOWN),
}
"""Makers of the files by name, with the questions about each."""


def _grid(document: docx.document.Document, rows: list[list[str]]) -> docx.table.Table:
    table = document.add_table(rows=len(rows), cols=len(rows[0]))
    for row, texts in zip(table.rows, rows, strict=True):
        for cell, text in zip(row.cells, texts, strict=True):
            cell.text = text
    document.add_paragraph("")
    return table


def _saved(document: docx.document.Document) -> bytes:
    data = io.BytesIO()
    document.save(data)
    return data.getvalue()
