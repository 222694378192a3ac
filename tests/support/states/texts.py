"""What `fill.py` uploads and asks."""

import json

TEXTS = {
    "heron.txt": "The heron eats frogs and small fish. Its nest stands in the old alder by the weir.\n",
    "weir.txt": "The weir keeper is paid 21 euros a day. The key of the weir hangs in the mill.\n",
    "mill.md": "# The mill\n\nThe mill grinds rye on Tuesdays.\n\n## Miller\n\nThe miller is called Orla Quist.\n",
}
QUESTIONS = (
    ("What does the heron eat?", {}),
    ("How much is the weir keeper paid a day?", {"where": json.dumps({"filename": "weir.txt"})}),
    ("Who is the miller?", {}),
)
ADDED = "\nIt was built in 1871.\n"
"""What the replacement of mill.md has more."""
