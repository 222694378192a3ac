"""The type of the call context that gRPC passes to a handler beside the request."""

from __future__ import annotations

from typing import Any, TypeAlias

import grpc

Call: TypeAlias = grpc.aio.ServicerContext[Any, Any]
"""The gRPC context. Handlers do not read it: scope, deadline and trace are in `footnote_kit.context`."""
