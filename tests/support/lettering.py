"""Pictures of words."""

from __future__ import annotations

import io

import fpdf
import pypdfium2 as pdfium
from PIL import Image


def lettering(text: str, points: int = 11) -> bytes:
    """A picture of a line of text, as a screen shows it."""
    typed = fpdf.FPDF(unit="pt", format=(320, 60))
    typed.set_margin(0)
    typed.add_page()
    typed.set_font("Helvetica", size=points)
    typed.text(20, 35, text)
    return png(pdfium.PdfDocument(bytes(typed.output()))[0].render(scale=1.5).to_pil())


def png(picture: Image.Image) -> bytes:
    made = io.BytesIO()
    picture.save(made, "PNG")
    return made.getvalue()
