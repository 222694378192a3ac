"""Operations of the public API, followed to their end."""

from typing import Any

from footnote.edge.v1.operations_pb2 import Operation, WatchOperationRequest


async def watched(stub: Any, operation: Operation, metadata: Any = None, timeout: float = 120) -> list[Operation]:
    """Return every state that a watch reports; in the last one the operation has ended."""
    request = WatchOperationRequest(operation_id=operation.id)
    states = [one.operation async for one in stub.WatchOperation(request, metadata=metadata, timeout=timeout)]
    assert states[-1].HasField("end_time"), states[-1]
    return states


async def ended(stub: Any, operation: Operation, metadata: Any = None, timeout: float = 120) -> Operation:
    """Return an operation when it has ended."""
    return (await watched(stub, operation, metadata, timeout))[-1]
