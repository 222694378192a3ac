"""Whole numbers of free metadata come back as they were given."""

import json

from footnote.types.v1.collection_pb2 import Collection
from footnote_edge.http.transcoding.binding import to_json
from footnote_kit.printable import whole_numbers


def test_whole_numbers_are_integers_again_and_others_stay() -> None:
    given = {"year": 5.0, "share": 0.5, "deep": [{"n": -2.0}, True, "5.0", None], "far": 1e300}
    shown = json.dumps(whole_numbers(given))
    assert shown == '{"year": 5, "share": 0.5, "deep": [{"n": -2}, true, "5.0", null], "far": 1e+300}'


def test_metadata_goes_over_http_as_it_was_given() -> None:
    collection = Collection()
    collection.metadata.update({"year": 5})
    assert json.dumps(to_json(collection)["metadata"]) == '{"year": 5}'
