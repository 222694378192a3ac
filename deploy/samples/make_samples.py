"""Makes the sample documents in deploy/samples/handbook (or the folder given) from the words in texts.py.

Run it with the project's development environment: python deploy/samples/make_samples.py [FOLDER]
"""

import csv
import sys
from datetime import UTC, datetime
from pathlib import Path

import texts
from docx import Document
from fpdf import FPDF
from openpyxl import Workbook
from openpyxl.styles import Font

# A fixed date, so that making them again changes as little as the formats allow.
WRITTEN = datetime(2026, 1, 12, 9, 0, tzinfo=UTC)
AUTHOR = "People team"


def handbook_pdf(path: Path) -> None:
    """Write the handbook, one topic a page."""
    pdf = FPDF(format="A4")
    pdf.set_title("Aurora Instruments: Employee Handbook")
    pdf.set_author(AUTHOR)
    pdf.set_creation_date(WRITTEN)
    pdf.set_margin(22)
    pdf.set_auto_page_break(False)
    for heading, sections in texts.HANDBOOK:
        pdf.add_page()
        pdf.start_section(heading)
        pdf.set_font("Helvetica", "B", 20)
        pdf.multi_cell(0, 10, heading, new_x="LMARGIN", new_y="NEXT")
        for section, paragraphs in sections:
            pdf.ln(4)
            pdf.set_font("Helvetica", "B", 14)
            pdf.multi_cell(0, 8, section, new_x="LMARGIN", new_y="NEXT")
            pdf.set_font("Helvetica", "", 11)
            for paragraph in paragraphs:
                pdf.multi_cell(0, 6, paragraph, align="L", new_x="LMARGIN", new_y="NEXT")
                pdf.ln(2)
        pdf.set_y(-20)
        pdf.set_font("Helvetica", "", 9)
        pdf.cell(0, 6, f"Page {pdf.page_no()}", align="C")
    pdf.output(str(path))


def warranty_docx(path: Path) -> None:
    """Write the warranty policy."""
    document = Document()
    document.core_properties.title = "Warranty and returns"
    document.core_properties.author = AUTHOR
    document.core_properties.created = document.core_properties.modified = WRITTEN
    for heading, level, paragraphs in texts.WARRANTY:
        document.add_heading(heading, level)
        for paragraph in paragraphs:
            document.add_paragraph(paragraph)
    document.save(str(path))


def products_xlsx(path: Path) -> None:
    """Write the products and the stock, a sheet each; the warranty of the Polaris is cell C5 of Products."""
    workbook = Workbook()
    workbook.properties.creator = AUTHOR
    workbook.properties.created = workbook.properties.modified = WRITTEN.replace(tzinfo=None)
    workbook.remove(workbook.worksheets[0])
    for title, rows in (("Products", texts.PRODUCTS), ("Stock", texts.STOCK)):
        sheet = workbook.create_sheet(title)
        for row in rows:
            sheet.append(row)
        for cell in sheet[1]:
            cell.font = Font(bold=True)
        for column in sheet.columns:
            letter = column[0].column_letter
            sheet.column_dimensions[letter].width = 2 + max(len(str(cell.value)) for cell in column)
    workbook.save(path)


def offices_csv(path: Path) -> None:
    """Write the offices."""
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(texts.OFFICES)


def main(folder: Path) -> None:
    """Write every sample document into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    handbook_pdf(folder / "handbook.pdf")
    warranty_docx(folder / "warranty.docx")
    products_xlsx(folder / "products.xlsx")
    offices_csv(folder / "offices.csv")
    plain = {
        "security.md": texts.SECURITY_MD,
        "guide-lyon.md": texts.FRENCH_MD,
        "releases.html": texts.RELEASES_HTML,
        "emergency.txt": texts.EMERGENCY_TXT,
    }
    for name, text in plain.items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent / "handbook")
