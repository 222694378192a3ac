"""The HTTP side of the public API: JSON routes, events, files, the wrapper's paths, OpenAI's, problems."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import openai
import pytest
from footnote.stages.v1 import passage_pb2
from footnote_edge.app import build
from footnote_kit.errors import InvalidArgument, Unavailable
from footnote_kit.testing import serve_app
from support.doubles.stages import World, serve_doubles


@pytest.fixture
async def base(world: World) -> AsyncIterator[str]:
    """The address of edge's HTTP door."""
    async with serve_doubles(world) as addresses, serve_app(build, addresses=addresses) as served:
        yield f"http://{served.runtime.announced['http']}"


@pytest.fixture
async def http(base: str) -> AsyncIterator[httpx2.AsyncClient]:
    """An HTTP client of edge."""
    async with httpx2.AsyncClient(base_url=base, timeout=20) as client:
        yield client


async def put(http: httpx2.AsyncClient, text: bytes, **fields: str) -> dict[str, Any]:
    """Upload a text as a form and wait for its end."""
    answer = await http.post("/v1/documents", data=fields, files={"file": ("tea.txt", text)})
    assert answer.status_code in (200, 201), answer.text
    document = answer.json()["document"]
    async for _, event in events(http, "GET", f"/v1/documents/{document['id']}:watch"):
        document = event["document"]
    return document


async def events(http: httpx2.AsyncClient, verb: str, url: str, **more: Any) -> AsyncIterator[tuple[str, Any]]:
    """Yield name and data of every server-sent event."""
    async with http.stream(verb, url, **more) as answer:
        assert answer.status_code == 200, await answer.aread()
        assert answer.headers["content-type"].startswith("text/event-stream")
        name = ""
        async for line in answer.aiter_lines():
            if line.startswith("event: "):
                name = line[7:]
            elif line.startswith("data: "):
                yield name, json.loads(line[6:])
                name = ""


async def test_a_document_goes_in_and_out_as_a_form(http: httpx2.AsyncClient) -> None:
    document = await put(http, b"Tea is brewed.", tags="drinks, hot", metadata='{"shelf": 3}', ttl="60s")
    assert document["state"] == "DOCUMENT_STATE_INDEXED"
    assert document["tags"] == ["drinks", "hot"]
    assert document["expire_time"]
    again = await http.post("/v1/documents", files={"file": ("tea.txt", b"Tea is brewed.")})
    assert (again.status_code, again.json()["duplicate"]) == (200, True)
    content = await http.get(f"/v1/documents/{document['id']}:download")
    assert content.content == b"Tea is brewed."
    assert "attachment" in content.headers["content-disposition"]
    listed = (await http.get("/v1/documents", params={"collection": "default"})).json()
    assert [one["id"] for one in listed["documents"]] == [document["id"]]
    gone = await http.delete(f"/v1/documents/{document['id']}")
    assert gone.json() == {"chunks_deleted": 1}
    assert (await http.get(f"/v1/documents/{document['id']}")).status_code == 404


async def test_bare_bytes_are_a_file_too(http: httpx2.AsyncClient, world: World) -> None:
    answer = await http.post("/v1/documents", params={"filename": "a.txt"}, content=b"x" * 700_000)
    assert answer.status_code == 201
    assert len(world.blobs[answer.json()["document"]["id"]]) == 700_000


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"--b\r\nnothing like a form", "multipart/form-data; boundary=b"),
        (b"", "multipart/form-data; boundary=b"),
        (b"x", "multipart/form-data"),
        (
            b'--b\r\nContent-Disposition: form-data; name="tags"\r\n\r\nx\r\n--b--\r\n',
            "multipart/form-data; boundary=b",
        ),
        (
            b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\nhalf a file',
            "multipart/form-data; boundary=b",
        ),
        (
            b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\nx\r\n'
            b'--b\r\nContent-Disposition: form-data; name="tags"\r\n\r\nlate\r\n--b--\r\n',
            "multipart/form-data; boundary=b",
        ),
        (
            b'--b\r\nContent-Disposition: form-data; name="colour"\r\n\r\nred\r\n'
            b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\nx\r\n--b--\r\n',
            "multipart/form-data; boundary=b",
        ),
    ],
)
async def test_a_broken_form_is_refused_and_stores_nothing(
    http: httpx2.AsyncClient, world: World, content: bytes, kind: str
) -> None:
    answer = await http.post("/v1/documents", content=content, headers={"content-type": kind})
    assert answer.status_code == 400, answer.text
    assert not world.documents


async def test_ask_streams_events_with_their_names(http: httpx2.AsyncClient) -> None:
    await put(http, b"Tea is brewed at 80 degrees.")
    every = {"question": "tea ?", "include": ["ANSWER_PART_STAGES", "ANSWER_PART_SOURCES", "ANSWER_PART_CITATIONS"]}
    seen = [pair async for pair in events(http, "POST", "/v1/ask", json=every)]
    names = [name for name, _ in seen]
    assert names[0] == "stage"
    assert names[-1] == "completed"
    assert names.index("sources") < names.index("text_delta") < names.index("citation")
    plain = [pair async for pair in events(http, "POST", "/v1/ask", json={"question": "tea ?"})]
    assert {name for name, _ in plain} == {"text_delta", "completed"}
    completed = plain[-1][1]["completed"]
    assert not completed["sources"]
    assert "manifest" not in completed
    assert completed["answer"]["text"] == "Tea is brewed at 80 degrees. [1]"
    whole = await http.post("/v1/ask", json={"question": "tea ?"}, headers={"accept": "application/json"})
    assert whole.json()["answer"] | {"id": ""} == completed["answer"] | {"id": ""}


async def test_failures_are_problem_details(http: httpx2.AsyncClient, world: World) -> None:
    empty = await http.post("/v1/ask", json={"question": ""})
    assert empty.status_code == 400
    assert empty.headers["content-type"] == "application/problem+json"
    assert empty.json()["errors"] == [{"field": "question", "description": "is required"}]
    assert empty.json()["request_id"] == empty.headers["x-request-id"]
    unknown = await http.get("/v1/collections/none")
    assert (unknown.status_code, unknown.json()["reason"]) == (404, "COLLECTION_NOT_FOUND")
    for body, kind in (
        ("{", "application/json"), ("[]", "application/json"), ('{"question": 1}', "application/json"),
        ('{"nothing": 1}', "application/json"), ('{"question": "x"}', "text/plain"),
    ):  # fmt: skip
        answer = await http.post("/v1/ask", content=body, headers={"content-type": kind})
        assert answer.status_code == 400, body
    assert (await http.get("/v1/documents", params={"page_size": "many"})).status_code == 400
    assert (await http.get("/v1/documents", params={"colour": "red"})).status_code == 400
    assert (await http.get("/nowhere")).status_code == 404
    assert (await http.put("/v1/search", json={})).status_code == 405
    world.failures["Retrieve"] = Unavailable("down", reason="STORE_UNAVAILABLE", retry_after=2.5)
    down = await http.post("/v1/search", json={"query": "x"})
    assert (down.status_code, down.headers["retry-after"]) == (503, "3")


async def test_a_failure_in_mid_stream_is_an_event(http: httpx2.AsyncClient, world: World) -> None:
    await put(http, b"Tea is brewed.")
    world.failures["Generate"] = Unavailable("the model died", reason="PROVIDER_FAILED")
    seen = [pair async for pair in events(http, "POST", "/v1/ask", json={"question": "tea ?"})]
    assert seen[-1][0] == "error"
    assert seen[-1][1]["reason"] == "PROVIDER_FAILED"


async def test_a_reader_who_leaves_ends_the_model_call(http: httpx2.AsyncClient, world: World) -> None:
    await put(http, b"Tea is brewed.")
    world.gates["Generate"] = asyncio.Event()
    async for name, _ in events(http, "POST", "/v1/ask", json={"question": "tea ?"}):
        if name == "text_delta":
            break
    await world.until(lambda: bool(world.cancelled))


async def test_pages_of_other_origins_and_names_are_kept_out(http: httpx2.AsyncClient) -> None:
    assert (await http.get("/v1/health", headers={"origin": "https://evil.example"})).status_code == 403
    assert (await http.get("/v1/health", headers={"host": "evil.example"})).status_code == 403
    own = str(http.base_url).rstrip("/")
    assert (await http.get("/v1/health", headers={"origin": own})).status_code == 200


async def test_conversations_over_json(http: httpx2.AsyncClient) -> None:
    made = (await http.post("/v1/conversations", json={"title": "Tea"})).json()["conversation"]
    renamed = await http.patch(f"/v1/conversations/{made['id']}", json={"title": "Coffee"})
    assert renamed.json()["conversation"]["title"] == "Coffee"
    headers = {"x-footnote-user": "other"}
    assert (await http.get(f"/v1/conversations/{made['id']}", headers=headers)).status_code == 404
    assert (await http.delete(f"/v1/conversations/{made['id']}")).json() == {}


async def test_feedback_is_exported_line_by_line(http: httpx2.AsyncClient) -> None:
    await put(http, b"Tea is brewed.")
    made = (await http.post("/v1/conversations", json={})).json()["conversation"]
    asked = {"question": "tea ?", "conversation_id": made["id"]}
    done = (await http.post("/v1/ask", json=asked, headers={"accept": "application/json"})).json()
    for citation in (0, 1):
        body = {"answer_id": done["answer"]["id"], "rating": "RATING_DOWN", "citation": citation, "comment": "é"}
        assert (await http.post("/v1/feedback", json=body)).status_code == 200
    lines = (await http.get("/v1/feedback.jsonl")).text.splitlines()
    assert [json.loads(line)["citation"] for line in lines] == [1, 0]
    replayed = await http.post(f"/v1/answers/{done['answer']['id']}:replay", json={})
    assert replayed.json()["identical"] is True


async def test_the_wrapper_keeps_collections_with_their_metadata(http: httpx2.AsyncClient) -> None:
    body = {"name": "kb", "embedding_provider": "acme", "metadata": {"team": "docs", "n": 1}}
    made = await http.post("/collections", json=body)
    assert made.status_code == 201
    expected = {"team": "docs", "n": 1.0, "embedding_provider": "acme"}
    assert (await http.get("/collections/kb")).json()["metadata"] == expected
    assert [one["name"] for one in (await http.get("/collections")).json()["collections"]] == ["kb"]
    assert (await http.post("/collections", json=body)).status_code == 409
    changed = await http.put("/collections/kb/metadata", json={"metadata": {"team": "new"}})
    assert changed.json()["success"] is True
    assert (await http.get("/collections/none")).json()["detail"] == "Collection 'none' not found"
    assert (await http.delete("/collections/kb")).status_code == 200


async def test_the_wrapper_takes_documents_with_embeddings(http: httpx2.AsyncClient, world: World) -> None:
    for body in ({"documents": []}, {}, {"documents": "x"}):
        refused = await http.post("/collections/kb/documents", json=body)
        assert (refused.status_code, refused.json()["detail"]) == (400, "Documents array is required")
    assert (await http.post("/collections", json={"name": "kb"})).status_code == 201
    documents = [{"id": "a", "text": "x", "embedding": [1, 2]}, {"text": "y", "embedding": [0.5, -1e-3]}]
    added = await http.post("/collections/kb/documents", json={"documents": documents})
    assert added.json()["count"] == 2
    sent = world.requests("AddVectors")[0].rows
    assert [one.id for one in sent] == ["a", ""]
    assert list(sent[0].vector) == [1, 2]


@pytest.mark.parametrize(
    ("embedding", "problem"),
    [
        ("no", "got a string"), (7, "got a number"), ({"0": 1}, "got an object"), ([], "got an empty list"),
        ([1, "x"], "it holds a string"), ([1, None], "it holds null"), ([True], "it holds a boolean"),
        ([[1]], "it holds a list"),
    ],
)  # fmt: skip
async def test_the_wrapper_says_what_came_in_place_of_an_embedding(
    http: httpx2.AsyncClient, world: World, embedding: object, problem: str
) -> None:
    documents = [{"text": "x", "embedding": [1, 2]}, {"text": "y", "embedding": embedding}]
    refused = await http.post("/collections/kb/documents", json={"documents": documents})
    said = f"Invalid embedding format in document 1: must be an array of numbers, but {problem}"
    assert (refused.status_code, refused.json()["detail"]) == (400, said)
    for absent in ({"text": "y"}, {"text": "y", "embedding": None}):
        refused = await http.post("/collections/kb/documents", json={"documents": [documents[0], absent]})
        said = "All documents must include pre-computed embeddings"
        assert (refused.status_code, refused.json()["detail"]) == (400, said)
    assert not world.requests("AddVectors")


async def test_the_wrapper_refuses_an_embedding_beyond_all_numbers(http: httpx2.AsyncClient, world: World) -> None:
    documents = [{"text": "x", "embedding": [10**400]}]
    refused = await http.post("/collections/kb/documents", json={"documents": documents})
    said = "The body must hold no number beyond what a double can be, about 1.8e308"
    assert (refused.status_code, refused.json()["detail"]) == (400, said)
    assert not world.requests("AddVectors")


async def test_the_wrapper_queries_by_metadata(http: httpx2.AsyncClient, world: World) -> None:
    chunk = passage_pb2.Chunk(id="c1", text="the text")
    chunk.metadata.update({"section_id": "intro"})
    world.chunks["d"] = [chunk]
    found = await http.get("/collections/kb/documents", params={"where": '{"section_id":"intro"}', "limit": 5000})
    assert found.json() == {
        "documents": [{"id": "c1", "text": "the text", "metadata": {"section_id": "intro"}}], "count": 1, "total": 1
    }  # fmt: skip
    assert world.requests("QueryChunks")[0].page_size == 1000
    await http.get("/collections/kb/documents")
    assert world.requests("QueryChunks")[1].page_size == 100
    assert (await http.get("/collections/kb/documents", params={"limit": "-1"})).status_code == 400
    message = "Invalid 'where' filter: must be valid JSON"
    world.failures["QueryChunks"] = InvalidArgument(message, reason="INVALID_FILTER")
    refused = await http.get("/collections/kb/documents", params={"where": "invalid-json-string"})
    assert (refused.status_code, refused.json()["detail"]) == (400, message)


async def test_the_wrapper_gives_a_files_chunks_what_where_knows_them_by(
    http: httpx2.AsyncClient, world: World
) -> None:
    chunk = passage_pb2.Chunk(id="c1", text="the text", document_id="d", filename="guide.pdf", tags=["new"])
    chunk.locator.heading_path.extend(["Leave", "Parents"])
    chunk.locator.page.page = 3
    chunk.metadata.update({"section_id": "intro", "title": "the uploader's"})
    world.chunks["d"] = [chunk]
    (found,) = (await http.get("/collections/kb/documents")).json()["documents"]
    assert found["metadata"] == {
        "document_id": "d", "filename": "guide.pdf", "tags": ["new"], "heading": "Parents",
        "heading_path": "Leave › Parents", "page": 3, "section_id": "intro", "title": "the uploader's",
    }  # fmt: skip


async def test_the_openai_sdk_asks_whole_and_as_a_stream(http: httpx2.AsyncClient, base: str, world: World) -> None:
    await put(http, b"Tea is brewed at 80 degrees.")
    client = openai.AsyncOpenAI(base_url=f"{base}/v1", api_key="none", max_retries=0)
    try:
        models = [model.id async for model in client.models.list()]
        assert models == ["footnote", "default"]
        assert (await client.models.retrieve("default")).owned_by == "footnote"
        messages: list[Any] = [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "hello"},
            {"role": "assistant", "content": "Hello."},
            {"role": "user", "content": [{"type": "text", "text": "tea ?"}]},
        ]
        whole = await client.chat.completions.create(model="default", messages=messages, temperature=0.5, max_tokens=7)
        choice = whole.choices[0]
        assert choice.message.content == "Tea is brewed at 80 degrees. [1]"
        assert choice.finish_reason == "stop"
        assert choice.message.annotations is not None
        assert choice.message.annotations[0].url_citation.title
        sent = world.requests("BuildPrompt")[0]
        assert sent.instructions == "Be brief."
        assert [message.text for message in sent.history] == ["hello", "Hello."]
        settings = world.requests("Generate")[0].settings
        assert (settings.temperature, settings.max_tokens) == (0.5, 7)
        text, reasons, used = "", [], None
        stream = await client.chat.completions.create(
            model="footnote", messages=messages, stream=True, stream_options={"include_usage": True}
        )
        async for chunk in stream:
            used = chunk.usage or used
            for one in chunk.choices:
                text += one.delta.content or ""
                reasons.append(one.finish_reason)
        assert text.strip() == choice.message.content
        assert reasons[-1] == "stop"
        assert used is not None
        with pytest.raises(openai.NotFoundError):
            await client.chat.completions.create(model="nowhere", messages=messages)
        with pytest.raises(openai.BadRequestError):
            await client.chat.completions.create(model="default", messages=messages[:3])
    finally:
        await client.close()


@pytest.mark.parametrize(
    ("path", "methods"),
    [
        ("/v1/documents", "GET, HEAD, POST"),
        ("/v1/documents/x", "DELETE, GET, HEAD, PATCH"),
        ("/v1/documents/x:download", "GET, HEAD"),
        ("/collections/x/documents", "GET, HEAD, POST"),
    ],
)
async def test_a_method_that_is_not_served_is_told_which_are(http: httpx2.AsyncClient, path: str, methods: str) -> None:
    answer = await http.request("PUT", path)
    assert answer.status_code == 405
    assert answer.headers["allow"] == methods


async def test_the_openapi_document_says_what_a_request_must_have(http: httpx2.AsyncClient) -> None:
    document = (await http.get("/openapi.json")).json()
    operation = document["paths"]["/v1/messages/{message_id}:edit"]["post"]
    assert operation["requestBody"]["required"]
    schema = document["components"]["schemas"]["edge.EditMessageRequest"]
    assert schema["required"] == ["text"]  # the id is in the path
    assert "message_id" not in schema["properties"]
    assert not schema["additionalProperties"]
    places = {re.sub(r"{[^}]*}", "{}", path) for path in document["paths"]}
    assert len(places) == len(document["paths"])  # no two paths differ in a variable's name only


async def test_the_openapi_document_describes_every_route(http: httpx2.AsyncClient) -> None:
    document = (await http.get("/openapi.json")).json()
    assert document["openapi"] == "3.1.0"
    assert "post" in document["paths"]["/v1/ask"]
    assert "put" in document["paths"]["/collections/{name}/metadata"]
    referred = set()

    def collect(value: Any) -> None:
        if isinstance(value, dict):
            if "$ref" in value:
                referred.add(value["$ref"].rsplit("/", 1)[-1])
            for inner in value.values():
                collect(inner)
        elif isinstance(value, list):
            for inner in value:
                collect(inner)

    collect(document)
    assert referred <= document["components"]["schemas"].keys()
    page = (await http.get("/docs")).text
    assert "/v1/ask" in page
    assert not re.search(r'(src|href)="(https?:)?//', page)  # readable without any network


async def test_a_conversation_is_changed_and_answered_anew(http: httpx2.AsyncClient) -> None:
    made = (await http.post("/v1/conversations", json={"title": "t"})).json()["conversation"]
    path = f"/v1/conversations/{made['id']}"
    renamed = await http.patch(path, params={"update_mask": "title"}, json={"title": "u", "etag": made["etag"]})
    assert renamed.json()["conversation"]["title"] == "u"
    assert (await http.patch(path, json={"title": "v", "etag": made["etag"]})).status_code == 409
    asked = await http.post("/v1/ask", json={"question": "hello", "conversation_id": made["id"]})
    assert asked.status_code == 200
    question, answer = (await http.get(f"{path}/messages")).json()["messages"]
    assert (await http.post(f"/v1/messages/{answer['id']}:regenerate", json={})).status_code == 200
    assert (await http.post(f"/v1/messages/{question['id']}:edit", json={"text": "hello you"})).status_code == 200
    texts = [one["text"] for one in (await http.get(f"{path}/messages")).json()["messages"]]
    assert texts[0] == "hello you"
    assert len(texts) == 2
    found = (await http.get("/v1/conversations", params={"query": "HELLO Y"})).json()
    assert [one["id"] for one in found["conversations"]] == [made["id"]]
    missing = await http.post("/v1/messages/none:edit", json={"text": "x"})
    assert missing.status_code == 404
    assert "MESSAGE_NOT_FOUND" in missing.text
    assert (await http.delete(f"/v1/answers/{answer['id']}", params={"allow_missing": "true"})).status_code == 200
