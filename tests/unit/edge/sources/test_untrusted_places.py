"""What a source's secrets, links and objects may try: to lead out of what the operator allows, or to harm edge."""

import json
from pathlib import Path
from typing import Any

import pytest
from footnote_edge.sources.kinds import BUCKET
from footnote_edge.sources.policy import Policy
from footnote_edge.sources.ports import Opening
from footnote_edge.sources.registry import check, parsed
from footnote_kit.errors import InvalidArgument

GCS = {"provider": "gcs", "bucket": "docs"}
KEY = {
    "type": "service_account", "project_id": "p", "private_key_id": "1", "private_key": "x", "client_email": "a@b",
    "token_uri": "https://10.1.2.3/token", "universe_domain": "inside.corp",
}  # fmt: skip


def opening(kind: Any, folder: Path, settings: dict[str, Any], secrets: dict[str, Any] | None = None) -> Opening:
    policy = Policy.of((), (), (str(folder / "allowed"),), timeout=2.0, item_bytes=1024 * 1024, items=1000)
    values = parsed(kind.settings, settings), parsed(kind.secrets, secrets or {})
    return Opening(*values, "acme", folder / "cache", policy, False)


@pytest.mark.parametrize("more", [{"gcs_base_url": "https://10.1.2.3"}, {"disable_oauth": True}])
def test_a_buckets_key_does_not_choose_where_it_is_sent(more: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument, match=next(iter(more))):
        check(BUCKET, GCS, {"service_account_key": json.dumps(KEY | more)})


@pytest.mark.parametrize("key", ["not json", "[1]", "[" * 9000])
def test_a_buckets_key_is_json(key: str) -> None:
    with pytest.raises(InvalidArgument, match="service_account_key: must be the JSON"):
        check(BUCKET, GCS, {"service_account_key": key})


def test_a_buckets_usual_key_is_taken_without_its_addresses(tmp_path: Path) -> None:
    check(BUCKET, GCS, {"service_account_key": json.dumps(KEY)})
    secrets = opening(BUCKET, tmp_path, GCS, {"service_account_key": json.dumps(KEY)}).secrets
    assert json.loads(secrets.service_account_key).keys() == {"type", "private_key_id", "private_key", "client_email"}
