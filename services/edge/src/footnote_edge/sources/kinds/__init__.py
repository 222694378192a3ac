"""The kinds of sources that Footnote brings, a module each, behind `ports.Connection`."""
