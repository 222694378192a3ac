"""What a handler is given beside its request."""

from __future__ import annotations

from typing import Any, TypeAlias

import grpc

Call: TypeAlias = grpc.aio.ServicerContext[Any, Any]
"""The call itself, of which handlers read nothing: scope, deadline and trace are in `footnote_kit.context`."""
