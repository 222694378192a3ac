"""Settings of sources on the command line have the types that their kind asks for."""

from typing import Any

import pytest
from footnote.edge.v1 import sources_pb2 as pb
from footnote_cli.main import app
from footnote_edge.sources.kinds import BUILT_IN
from google.protobuf.json_format import MessageToDict, ParseDict
from support.doubles.scripted_edge import ScriptedEdge, served
from typer.testing import CliRunner


class Edge(ScriptedEdge):
    async def ListSourceKinds(self, request: Any, context: Any) -> pb.ListSourceKindsResponse:
        response = pb.ListSourceKindsResponse()
        for kind in BUILT_IN:
            ParseDict(kind.settings.model_json_schema(), response.kinds.add(id=kind.id).settings_schema)
        return response

    async def GetSource(self, request: Any, context: Any) -> pb.GetSourceResponse:
        source = pb.Source(id="s1", kind="git")
        source.settings.update({"url": "https://git.example/a", "branch": "main"})
        return pb.GetSourceResponse(source=source)

    async def CreateSource(self, request: Any, context: Any) -> pb.CreateSourceResponse:
        self._note(request, context)
        return pb.CreateSourceResponse(source=request.source)

    async def UpdateSource(self, request: Any, context: Any) -> pb.UpdateSourceResponse:
        self._note(request, context)
        return pb.UpdateSourceResponse(source=request.resource)


@pytest.mark.parametrize(
    ("kind", "given", "sent"),
    [
        ("git", ["include=docs/*"], {"include": ["docs/*"]}),
        ("git", ["include=docs/*", "include=*.md"], {"include": ["docs/*", "*.md"]}),
        ("git", ['include=["docs/*", "a,b"]'], {"include": ["docs/*", "a,b"]}),
        ("git", ["exclude=2024"], {"exclude": ["2024"]}),
        ("git", ["branch=2026"], {"branch": "2026"}),
        ("git", ["branch=1.10"], {"branch": "1.10"}),
        ("git", ['branch="2026"'], {"branch": "2026"}),
        ("git", ["branch=a=b"], {"branch": "a=b"}),
        ("bucket", ["prefix=null"], {"prefix": "null"}),
        ("imap", ["username=12345", "port=1993"], {"username": "12345", "port": 1993}),
        ("folder", ["hidden=true"], {"hidden": True}),
        ("web", ["languages=en", "delay=1.5"], {"languages": ["en"], "delay": 1.5}),
        ("another", ["depth=3", "include=a"], {"depth": 3, "include": "a"}),
    ],
)
def test_a_new_source_gets_them_as_its_kind_wants_them(kind: str, given: list[str], sent: dict[str, Any]) -> None:
    edge = Edge()
    with served(edge) as address:
        options = [word for pair in given for word in ("--set", pair)]
        made = CliRunner().invoke(app, ["sources", "add", kind, "somewhere", *options, "--address", address])
    assert made.exit_code == 0, made.output
    settings = MessageToDict(edge.requests[-1].source.settings)
    assert {name: value for name, value in settings.items() if value != "somewhere"} == sent


def test_a_changed_source_keeps_the_settings_that_are_not_given() -> None:
    edge = Edge()
    with served(edge) as address:
        arguments = ["sources", "update", "s1", "--set", "branch=2026", "--set", "include=docs/*", "--address", address]
        changed = CliRunner().invoke(app, arguments)
    assert changed.exit_code == 0, changed.output
    settings = MessageToDict(edge.requests[-1].resource.settings)
    assert settings == {"url": "https://git.example/a", "branch": "2026", "include": ["docs/*"]}
