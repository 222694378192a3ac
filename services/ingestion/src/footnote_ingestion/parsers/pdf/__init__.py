"""PDF: text, headings, layout and scanned pages."""
