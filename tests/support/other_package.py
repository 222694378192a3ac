"""A package of somebody else's, as pip would leave it: a parser, a reranker, a model, a verifier and an embedder.

`install` writes it into a folder with its metadata; on the path of a deployment it is found there by its entry points.
"""

from __future__ import annotations

from pathlib import Path

_CODE = '''
"""Reads .lemon files, likes zest, and answers like a parrot."""

from pydantic import BaseModel
from footnote_augmentation.ports import Descriptor as RerankerDescriptor
from footnote_generation.ports import Descriptor, Finished, ModelRegistration, Opinion, VerifierRegistration, Words
from footnote_ingestion.parsers.base import PARAGRAPH, Format, Properties
from footnote_providers.builtin import BuiltinEmbeddings
from footnote_providers.registration import Registration


class LemonParser:
    def inspect(self, path, limits):
        pass

    def parse(self, path, out, limits):
        for line in path.read_text("utf-8").splitlines()[1:]:
            out.add(PARAGRAPH, line.removeprefix("* "))
        return Properties(title="A lemon")


class Zest:
    async def rerank(self, question, passages, scores):
        return [0.9 if "zest" in passage else 0.1 for passage in passages]

    async def close(self):
        pass


class Parrot:
    id, default_model, base_url = "parrot", "grey", "http://127.0.0.1:9"

    async def stream(self, request):
        yield Words(request.sources[0].text + " [1]")
        yield Finished(model="grey")

    def require(self):
        pass

    async def health(self):
        return {"feathers": "grey"}

    async def close(self):
        pass


class Trusting:
    enough, sees_contradictions, most_passages, timeout = 0.5, False, 8, 5.0

    async def ask(self, statement, passages):
        return [Opinion(1.0) for _ in passages]

    async def close(self):
        pass


class NoSettings(BaseModel):
    pass


lemon = Format("lemon", "application/x-lemon", (".lemon",), LemonParser, starts=b"LEMON")
greedy = Format("greedy", "application/x-greedy", (".pdf",), LemonParser)
nothing = {"type": "object", "properties": {}, "additionalProperties": False}
zest = RerankerDescriptor("zest", "Likes zest", lambda model, settings: Zest(), nothing)
parrot = ModelRegistration(Descriptor("parrot", "Parrot", ("streaming",), "grey"), Parrot)
impostor = ModelRegistration(Descriptor("builtin", "Impostor", ("streaming",), "grey"), Parrot)
trusting = VerifierRegistration("trusting", lambda model, enough, timeout: Trusting())
other_words = Registration(
    id="other-words",
    display_name="Other words",
    settings=NoSettings,
    make=lambda model, dimensions, settings: BuiltinEmbeddings("other-1", 16),
    default_model="other-1",
    local=True,
)
'''
_ENTRY_POINTS = """
[footnote.parsers]
lemon = lemonade:lemon
greedy = lemonade:greedy
[footnote.rerankers]
zest = lemonade:zest
[footnote.models]
impostor = lemonade:impostor
missing = lemonade:nothing_of_this_name
parrot = lemonade:parrot
wrong = lemonade:lemon
[footnote.verifiers]
trusting = lemonade:trusting
[footnote.embedding_providers]
other = lemonade:other_words
"""


def install(folder: Path) -> Path:
    """Write the package into a folder and return the folder, to be put on a path."""
    metadata = folder / "lemonade-1.0.dist-info"
    metadata.mkdir(parents=True)
    (folder / "lemonade.py").write_text(_CODE)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: lemonade\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(_ENTRY_POINTS)
    return folder
