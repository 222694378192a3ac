"""Word, PowerPoint, OpenDocument and EPUB."""
