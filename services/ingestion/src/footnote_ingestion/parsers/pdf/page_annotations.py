"""Reads a PDF's content besides the text of its pages, with PDFium: values of forms, comments, attached files.

Parts that a reader of the page does not see, such as hidden comments, are left out and counted.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import pypdfium2 as pdfium
import pypdfium2.raw as raw
from footnote.stages.v1.parsing_pb2 import BlockKind
from footnote.types.v1.locator_pb2 import Box, PageLocator

from footnote_ingestion.parsers.base import NOTE, TABLE_ROW, BlockWriter
from footnote_ingestion.parsers.clean import inline
from footnote_ingestion.parsers.failures import CONTENT_LEFT_OUT
from footnote_ingestion.parsers.tables import pair_text

_MOST = 10_000
"""Maximum per file; further ones count as left out."""
_MOST_BYTES = 200_000
_MOST_OF_NAME, _MOST_OPTIONS = 300, 1_000
_ATTACHED = "{count} attached files are not read, but for their names"
_HIDDEN = raw.FPDF_ANNOT_FLAG_HIDDEN | raw.FPDF_ANNOT_FLAG_NOVIEW
_PASSWORD = 1 << 13
_WITHOUT_WORDS = frozenset((raw.FPDF_ANNOT_LINK, raw.FPDF_ANNOT_POPUP))
_EMBEDDED = frozenset(
    (raw.FPDF_ANNOT_SOUND, raw.FPDF_ANNOT_MOVIE, raw.FPDF_ANNOT_SCREEN, raw.FPDF_ANNOT_THREED, raw.FPDF_ANNOT_RICHMEDIA)
)
_CHOSEN = frozenset((raw.FPDF_FORMFIELD_CHECKBOX, raw.FPDF_FORMFIELD_RADIOBUTTON))
_WRITTEN = frozenset((raw.FPDF_FORMFIELD_TEXTFIELD, raw.FPDF_FORMFIELD_COMBOBOX, raw.FPDF_FORMFIELD_LISTBOX))


@dataclass(frozen=True, slots=True)
class Mark:
    """A value of a form, a comment or the name of an attached file; `place` is None if it is on no page."""

    kind: BlockKind.ValueType
    text: str
    place: PageLocator | None


def annotated(page: pdfium.PdfPage) -> bool:
    """Return whether a page has annotations other than links; form fields are annotations."""
    for index in range(min(raw.FPDFPage_GetAnnotCount(page.raw), _MOST)):
        annotation = raw.FPDFPage_GetAnnot(page.raw, index)
        if annotation:
            kind = raw.FPDFAnnot_GetSubtype(annotation)
            raw.FPDFPage_CloseAnnot(annotation)
            if kind not in _WITHOUT_WORDS:
                return True
    return False


def read(document: pdfium.PdfDocument, pages: Sequence[int], out: BlockWriter) -> list[Mark]:
    """Return the annotations of some pages (numbers from 1) and the attached files; warn of those left out."""
    marks: list[Mark] = []
    if pages:
        document.init_forms()
    form = document.formenv.raw if document.formenv is not None else None
    for number in pages:
        try:
            page = document[number - 1]
        except pdfium.PdfiumError:  # its text has that warning already
            continue
        try:
            for mark in _on_page(page, number, form, out):
                if len(marks) >= _MOST:
                    out.warn(CONTENT_LEFT_OUT, f"{{count}} comments and fields beyond {_MOST} are left out")
                else:
                    marks.append(mark)
        finally:
            page.close()
    return [*marks, *_attached(document, out)]


def write(marks: Sequence[Mark], out: BlockWriter) -> None:
    """Write them after the text; the fields of a form are one table."""
    if not marks:
        return
    out.reset_headings()
    table = 0
    for mark in marks:
        if mark.kind == TABLE_ROW:
            table = table or out.new_table()
        out.add(mark.kind, mark.text, mark.place, table=table if mark.kind == TABLE_ROW else 0)


def _on_page(page: pdfium.PdfPage, number: int, form: object, out: BlockWriter) -> Iterator[Mark]:
    for index in range(min(raw.FPDFPage_GetAnnotCount(page.raw), _MOST)):
        annotation = raw.FPDFPage_GetAnnot(page.raw, index)
        if not annotation:
            continue
        try:
            mark = _mark(annotation, _place(annotation, number), form, out)
        finally:
            raw.FPDFPage_CloseAnnot(annotation)
        if mark is not None:
            yield mark


def _mark(annotation: object, place: PageLocator, form: object, out: BlockWriter) -> Mark | None:
    kind = raw.FPDFAnnot_GetSubtype(annotation)
    if kind in _WITHOUT_WORDS:
        return None
    if kind in _EMBEDDED:
        out.warn(CONTENT_LEFT_OUT, "{count} sounds, films and models are not read", 1, [place])
        return None
    hidden = raw.FPDFAnnot_GetFlags(annotation) & _HIDDEN
    text = _field(annotation, form, place, out) if kind == raw.FPDF_ANNOT_WIDGET else _comment(annotation)
    if kind == raw.FPDF_ANNOT_FILEATTACHMENT:
        out.warn(CONTENT_LEFT_OUT, _ATTACHED, 1, [place])
        text = " ".join(filter(None, (_file_name(raw.FPDFAnnot_GetFileAttachment(annotation)), text)))
    if text and hidden:
        out.warn(CONTENT_LEFT_OUT, "{count} hidden comments and fields are left out", 1, [place])
        return None
    return Mark(TABLE_ROW if kind == raw.FPDF_ANNOT_WIDGET else NOTE, text, place) if text else None


def _comment(annotation: object) -> str:
    text = inline(_text(partial(raw.FPDFAnnot_GetStringValue, annotation, b"Contents")))
    author = inline(_text(partial(raw.FPDFAnnot_GetStringValue, annotation, b"T")))
    return f"{author}: {text}" if text and author else text


def _field(annotation: object, form: object, place: PageLocator, out: BlockWriter) -> str:
    """Return a field that is filled in: "Born: 1990"; "" for all others."""
    if form is None:
        return ""
    kind = raw.FPDFAnnot_GetFormFieldType(form, annotation)
    if kind == raw.FPDF_FORMFIELD_SIGNATURE:
        out.warn(CONTENT_LEFT_OUT, "{count} signatures are not read", 1, [place])
        return ""
    if kind == raw.FPDF_FORMFIELD_TEXTFIELD and raw.FPDFAnnot_GetFormFieldFlags(form, annotation) & _PASSWORD:
        out.warn(CONTENT_LEFT_OUT, "{count} fields for passwords are not read", 1, [place])
        return ""
    if kind in _CHOSEN:
        if not raw.FPDFAnnot_IsChecked(form, annotation):
            return ""
        value = _of_form(raw.FPDFAnnot_GetFormFieldExportValue, form, annotation) or "✓"
    elif kind in _WRITTEN:
        # The value of a list is what the form exports, such as a code; a page shows the labels.
        value = _chosen_labels(form, annotation) or _of_form(raw.FPDFAnnot_GetFormFieldValue, form, annotation)
    else:
        return ""
    name = _of_form(raw.FPDFAnnot_GetFormFieldAlternateName, form, annotation)
    name = name or _of_form(raw.FPDFAnnot_GetFormFieldName, form, annotation)
    return pair_text([name, value]) if name and value else value


def _chosen_labels(form: object, annotation: object) -> str:
    """Return the labels of a list's chosen options; "" for a field without options."""
    count = min(raw.FPDFAnnot_GetOptionCount(form, annotation), _MOST_OPTIONS)
    chosen = (at for at in range(count) if raw.FPDFAnnot_IsOptionSelected(form, annotation, at))
    labels = (inline(_text(partial(raw.FPDFAnnot_GetOptionLabel, form, annotation, at))) for at in chosen)
    return ", ".join(filter(None, labels))


def _of_form(ask: Callable[..., int], form: object, annotation: object) -> str:
    return inline(_text(partial(ask, form, annotation)))


def _attached(document: pdfium.PdfDocument, out: BlockWriter) -> Iterator[Mark]:
    """Yield the names of the files attached to the whole document; their content is not read."""
    count = raw.FPDFDoc_GetAttachmentCount(document.raw)
    for index in range(min(max(count, 0), _MOST)):
        name = _file_name(raw.FPDFDoc_GetAttachment(document.raw, index))
        out.warn(CONTENT_LEFT_OUT, _ATTACHED, 1, under=[name] if name else ())
        if name:
            yield Mark(NOTE, name, None)
    if count > _MOST:
        out.warn(CONTENT_LEFT_OUT, _ATTACHED, count - _MOST)


def _file_name(attached: object) -> str:
    """Return the name of an attached file in brackets; empty if it has none."""
    name = inline(_text(partial(raw.FPDFAttachment_GetName, attached))) if attached else ""
    return f"[{name[:_MOST_OF_NAME]}]" if name else ""


def _text(ask: Callable[[object, int], int]) -> str:
    """Return a text that PDFium writes into a buffer; one too long is cut."""
    size = min(ask(None, 0), _MOST_BYTES)
    if size <= 2:
        return ""
    buffer = ctypes.create_string_buffer(size)
    ask(ctypes.cast(buffer, ctypes.POINTER(ctypes.c_ushort)), size)
    return buffer.raw.decode("utf-16-le", errors="replace").partition("\0")[0]


def _place(annotation: object, page: int) -> PageLocator:
    place = PageLocator(page=page, last_page=page)
    edges = raw.FS_RECTF()
    if raw.FPDFAnnot_GetRect(annotation, edges):
        place.box.CopyFrom(Box(left=edges.left, bottom=edges.bottom, right=edges.right, top=edges.top))
    return place
