"""Base class of doubles of edge: serves the public API, with UNIMPLEMENTED for every RPC that a test does not write."""

from typing import Any

import grpc
from footnote_kit.edge import METHODS, additions

_NAMES = frozenset(method.name for method in METHODS)


class PartialEdge:
    """Answers UNIMPLEMENTED to every RPC that a subclass has no method for."""

    def __getattr__(self, name: str) -> Any:
        if name not in _NAMES:
            raise AttributeError(name)

        async def unwritten(request: Any, context: Any) -> Any:
            await context.abort(grpc.StatusCode.UNIMPLEMENTED, f"{name} is not in the script")

        return unwritten


def servicers(edge: PartialEdge) -> list[tuple[Any, PartialEdge, str]]:
    """Return what an App takes to serve it."""
    return [(add, edge, name) for add, name in additions()]
