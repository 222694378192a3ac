"""Every text, JSON object and list that a caller of the public API may send has a bound, in one table."""

import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from footnote.edge.v1 import answers_pb2 as pb
from footnote.edge.v1 import evaluations_pb2
from footnote_edge.gateway import sizes
from footnote_kit.edge import METHODS
from footnote_kit.errors import InvalidArgument
from footnote_kit.field_behavior import is_output_only
from google.protobuf import message_factory
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message


def test_every_field_has_a_bound() -> None:
    unbounded = {field.full_name for field in _fields() if _bound(field) is None}
    streams = ("UploadDocument", "UploadDocuments", "ReplaceDocument")
    assert unbounded == {f"footnote.edge.v1.{name}Request.data" for name in streams}


def _fields() -> Iterator[FieldDescriptor]:
    """Yield every text and JSON field that a caller may set, including nested messages."""
    waiting = [method.input_type for method in METHODS]
    seen = set()
    while waiting:
        message = waiting.pop()
        if message.full_name in seen:
            continue
        seen.add(message.full_name)
        for field in message.fields:
            if is_output_only(field):
                continue
            if field.type in (FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_BYTES):
                yield field
            elif field.message_type is not None:
                if field.message_type.full_name == sizes._JSON:
                    yield field
                elif not field.message_type.full_name.startswith("google."):
                    waiting.append(field.message_type)


def _bound(field: FieldDescriptor) -> int | None:
    if field.name == "data" and field.type == FieldDescriptor.TYPE_BYTES:
        return None  # parts of a file, whose total has its own limit
    try:
        return (sizes.BYTES if field.message_type is not None else sizes.CHARACTERS)[field.name]
    except KeyError:
        pytest.fail(f"{field.full_name} has no bound: add it to footnote_edge/gateway/sizes.py")


def _places(descriptor: Descriptor, path: tuple[FieldDescriptor, ...] = ()) -> Iterator[tuple[FieldDescriptor, ...]]:
    """Yield the way to every text and list of texts or messages of a message."""
    for field in descriptor.fields:
        if field in path or is_output_only(field):
            continue
        here = (*path, field)
        if field.type == FieldDescriptor.TYPE_STRING or (field.is_repeated and field.message_type is not None):
            yield here
        if field.message_type is not None and not field.message_type.full_name.startswith("google."):
            yield from _places(field.message_type, here)


def _filled(method: Any, path: tuple[FieldDescriptor, ...], last: Any) -> Message:
    """Return a request that holds `last(message, field)` at the end of a way."""
    request = message_factory.GetMessageClass(method.input_type)()
    inside: Any = request
    for field in path[:-1]:
        held = getattr(inside, field.name)
        inside = held.add() if field.is_repeated else held
        inside.SetInParent()
    last(inside, path[-1])
    return request


@pytest.mark.parametrize("method", METHODS, ids=lambda method: str(method.name))
def test_what_is_longer_is_refused_by_name_and_what_fits_is_not(method: Any) -> None:
    for path in _places(method.input_type):
        _check_bounds(method, path)


def _check_bounds(method: Any, path: tuple[FieldDescriptor, ...]) -> None:
    field = path[-1]

    def texts(length: int, count: int) -> Any:
        def put(message: Any, field: FieldDescriptor) -> None:
            if field.message_type is not None:
                for _ in range(count):
                    getattr(message, field.name).add()
            elif field.is_repeated:
                getattr(message, field.name).extend(["x" * length] * count)
            else:
                setattr(message, field.name, "x" * length)

        return put

    if field.type == FieldDescriptor.TYPE_STRING:
        most = sizes.CHARACTERS[field.name]
        sizes.check(_filled(method, path, texts(most, 1)))
        with pytest.raises(InvalidArgument, match=f"at most {most}") as refused:
            sizes.check(_filled(method, path, texts(most + 1, 1)))
        assert field.name in refused.value.violations[0].field
    if field.is_repeated:
        items = sizes.ITEMS.get(field.name, sizes.LIST)
        sizes.check(_filled(method, path, texts(1, items)))
        with pytest.raises(InvalidArgument, match=f"at most {items} items"):
            sizes.check(_filled(method, path, texts(1, items + 1)))


def test_a_history_is_bounded_as_a_whole_and_json_by_its_bytes() -> None:
    request = pb.AskRequest(question="tea?")
    for _ in range(11):
        request.history.add(text="x" * 100_000)
    with pytest.raises(InvalidArgument, match="together"):
        sizes.check(request)
    request = pb.AskRequest(question="tea?")
    request.generation.settings.update({"key": "x" * 70_000})
    with pytest.raises(InvalidArgument, match="at most 65536 bytes"):
        sizes.check(request)


async def test_every_call_is_checked_before_its_handler() -> None:
    called: list[str] = []

    class Handlers:
        pass

    for method in METHODS:
        if method.server_streaming and not method.client_streaming:

            async def stream(self: Any, request: Any, context: Any, name: str = method.name) -> AsyncIterator[Any]:
                called.append(name)
                yield None

            setattr(Handlers, method.name, stream)
        else:

            async def unary(self: Any, request: Any, context: Any, name: str = method.name) -> Any:
                if hasattr(request, "__aiter__"):
                    async for _ in request:
                        pass
                called.append(name)

            setattr(Handlers, method.name, unary)
    handlers: Any = sizes.bounded(Handlers)()
    for method in METHODS:
        if method.name in sizes.CHECKED_BY_HANDLER:
            continue
        paths = [path for path in _places(method.input_type) if path[-1].type == FieldDescriptor.TYPE_STRING]
        for path in paths[:1]:
            bad = _filled(method, path, lambda message, field: _long(message, field))
            with pytest.raises(InvalidArgument):
                await _call(handlers, method, bad)
    assert not called
    await _call(handlers, METHODS[0], message_factory.GetMessageClass(METHODS[0].input_type)())
    assert called == [METHODS[0].name]


async def test_lists_of_a_nested_message_are_checked_off_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[threading.Thread] = []
    monkeypatch.setattr(sizes, "check", lambda request: threads.append(threading.current_thread()))

    async def handler(self: Any, request: Any, context: Any) -> None:
        pass

    run = evaluations_pb2.EvaluationRun(questions=[evaluations_pb2.EvaluatedQuestion(id="a")] * 1000)
    for request in (evaluations_pb2.CreateEvaluationRunRequest(run=run), evaluations_pb2.CreateEvaluationRunRequest()):
        await sizes._unary(handler)(None, request, None)
    assert [one is threading.main_thread() for one in threads] == [False, True]


def _long(message: Any, field: FieldDescriptor) -> None:
    text = "x" * (sizes.CHARACTERS[field.name] + 1)
    if field.is_repeated:
        getattr(message, field.name).append(text)
    else:
        setattr(message, field.name, text)


async def _call(handlers: Any, method: Any, request: Message) -> None:
    async def once() -> AsyncIterator[Message]:
        yield request

    made = getattr(handlers, method.name)(once() if method.client_streaming else request, None)
    if method.server_streaming:
        async for _ in made:
            pass
    else:
        await made
