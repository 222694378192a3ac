"""What the embedding process and its parent say to each other over two pipes.

A request is a header and its texts as JSON; an answer is a header and the vectors as float32 rows, or for `FAILED` the
reason as UTF-8. Both headers: number of the request, kind or state, bytes that follow.
"""

from __future__ import annotations

import struct

HEADER = struct.Struct("<IBI")
QUERIES, PASSAGES = 0, 1
DONE, FAILED = 0, 1
READY = 0
"""Number of the first answer, which no request asked for: the model is loaded."""
