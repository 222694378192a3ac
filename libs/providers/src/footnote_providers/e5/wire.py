"""The protocol between the embedding process and its parent, over two pipes.

A request is a header and its texts as JSON. A response is a header and the vectors as float32 rows, or for `FAILED`
the reason as UTF-8. Both headers hold the request's number, its kind or state, and the number of bytes that follow.
"""

from __future__ import annotations

import struct

HEADER = struct.Struct("<IBI")
QUERIES, PASSAGES = 0, 1
DONE, FAILED = 0, 1
READY = 0
"""The number of the first response, which needs no request: the model is loaded."""
