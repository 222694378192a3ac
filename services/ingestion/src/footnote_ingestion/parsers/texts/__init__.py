"""Text, Markdown, HTML and RTF, and the encodings they come in."""
