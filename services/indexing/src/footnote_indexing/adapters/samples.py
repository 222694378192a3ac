"""Samples of the messages that the database stores as bytes, for checks that they can still be decoded."""

from collections.abc import Callable

from footnote.types.v1.collection_pb2 import Collection, EmbeddingSettings
from footnote_database.keeping import Sample
from google.protobuf.message import DecodeError, Message


def _readable(kind: type[Message]) -> Callable[[bytes], None]:
    def read(data: bytes) -> None:
        try:
            kind.FromString(data)
        except DecodeError as error:
            raise ValueError(kind.__name__) from error

    return read


SAMPLES = (
    Sample(
        database="indexing",
        name="collections",
        query="SELECT data FROM indexing_collections ORDER BY rowid DESC",
        read=_readable(Collection),
        effect="Calls for these collections fail.",
    ),
    Sample(
        database="indexing",
        name="embedders of collections",
        query="SELECT embedding FROM indexing_generations ORDER BY rowid DESC",
        read=_readable(EmbeddingSettings),
        effect="Searches of these collections fail.",
    ),
)
