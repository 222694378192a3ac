"""Files that are small and within every limit, and cost their reader as much time as it is allowed."""

import io
import zipfile

_DEPTH, _FAN = 9, 10
"""Forms within forms, and how often each draws the next: a billion drawings of one word."""
_PARAGRAPHS = 60_000
_SPACE, _OFFICE = "http://schemas.openxmlformats.org", "application/vnd.openxmlformats-officedocument"
_RELATIONSHIPS = f"{_SPACE}/officeDocument/2006/relationships"


def nested_forms(salt: str) -> bytes:
    """Return a PDF of 3 kB whose page takes all the time that reading it may take; `salt` makes the bytes differ."""
    first = 6
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R/Resources<</XObject<</N 6 0 R>>>>>>",
        _stream(b"", b"/N Do"),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    form = b"/Type/XObject/Subtype/Form/BBox[0 0 612 792]/Resources"
    for number in range(first, first + _DEPTH - 1):
        objects.append(_stream(form + b"<</XObject<</N %d 0 R>>>>" % (number + 1), b"/N Do " * _FAN))
    word = f"BT /T 9 Tf 10 10 Td (word {salt}) Tj ET".encode()
    objects.append(_stream(form + b"<</Font<</T 5 0 R>>>>", word))
    out, places = bytearray(b"%PDF-1.7\n"), []
    for number, content in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    out += b"trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, start)
    return bytes(out)


def heavy_package(salt: str) -> bytes:
    """Return a .docx that unpacks to many times its size, so that its check before storing takes long, too."""
    rows = "".join(f"<w:p><w:r><w:t>{number:x}{salt}</w:t></w:r></w:p>" for number in range(_PARAGRAPHS)) * 8
    main = f"{_OFFICE}.wordprocessingml.document.main+xml"
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{_SPACE}/package/2006/content-types"><Default Extension="rels" '
        f'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/word/document.xml" ContentType="{main}"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{_SPACE}/package/2006/relationships"><Relationship Id="r1" '
        f'Type="{_RELATIONSHIPS}/officeDocument" Target="word/document.xml"/></Relationships>',
        "word/document.xml": f'<w:document xmlns:w="{_SPACE}/wordprocessingml/2006/main"><w:body>{rows}</w:body>'
        "</w:document>",
    }
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as package:
        for name, text in parts.items():
            package.writestr(name, text)
    return out.getvalue()


def _stream(entries: bytes, content: bytes) -> bytes:
    return b"<<%s/Length %d>>stream\n%s\nendstream" % (entries, len(content), content)
