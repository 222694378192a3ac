"""Settings of buckets of S3, Google Cloud Storage and Azure."""

import json
import re
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from footnote_edge.sources.patterns import Selecting

_BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,100}")
_PLAIN = r"^[a-z0-9-]{1,40}$"
_KEY_PARTS = ("type", "client_email", "private_key", "private_key_id")
"""What a GCS key's JSON is read for; the rest is not used, or says where the key is sent."""
_KEY_REDIRECTIONS = ("gcs_base_url", "disable_oauth")


class BucketSettings(Selecting):
    """Settings of a bucket source. `include` and `exclude` match keys."""

    provider: Literal["s3", "gcs", "azure"] = Field(description="Whose bucket it is.")
    bucket: str = Field(min_length=2, max_length=101, description="Name of the bucket, or of Azure's container.")
    prefix: str = Field(default="", max_length=1000, description="Only keys that begin with this folder.")
    region: str = Field(default="us-east-1", pattern=_PLAIN, description="Region, of S3.")
    account: str = Field(default="", pattern=r"^[a-z0-9]{0,24}$", description="Storage account, of Azure.")
    endpoint: str = Field(
        default="", max_length=300, description="Address of another server that speaks S3; the operator must allow it."
    )
    base_address: str = Field(
        default="", max_length=1000, description="Address under which people find the objects, for footnotes."
    )

    @model_validator(mode="after")
    def _fitting(self) -> "BucketSettings":
        if not _BUCKET.fullmatch(self.bucket):
            raise ValueError("bucket must be letters, digits, '.', '_' and '-'")
        if self.endpoint and self.provider != "s3":
            raise ValueError("endpoint is for s3 only")
        if (self.provider == "azure") != bool(self.account):
            raise ValueError("account must be given for azure, and for azure only")
        return self


class BucketSecrets(BaseModel):
    """Credentials of a bucket; without them the bucket must be public."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    access_key_id: str = Field(default="", max_length=200, description="Access key id, of S3.")
    secret_access_key: str = Field(default="", max_length=500, description="Secret access key, of S3.")
    service_account_key: str = Field(default="", max_length=10_000, description="JSON key of an account, of GCS.")
    account_key: str = Field(default="", max_length=500, description="Account key, of Azure.")

    @field_validator("service_account_key")
    @classmethod
    def _credentials_alone(cls, key: str) -> str:
        """Reduce a key to its credentials: obstore would take the server's address from it, past the policy."""
        if not key:
            return key
        try:
            parts = json.loads(key)
        except (ValueError, RecursionError):
            parts = None
        if not isinstance(parts, dict):
            raise ValueError("must be the JSON of a service account's key")
        if found := [name for name in _KEY_REDIRECTIONS if name in parts]:
            raise ValueError(f"must not have {' or '.join(found)}: sources read Google's own service alone")
        return json.dumps({name: parts[name] for name in _KEY_PARTS if name in parts})
