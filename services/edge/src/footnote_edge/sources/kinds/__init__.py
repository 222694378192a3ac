"""Footnote's own kinds of sources, behind `ports.Connection`.

The libraries that read repositories and buckets are loaded when such a source is opened first: they take 10 MB.
"""

from footnote_edge.sources.kinds.bucket import BucketSecrets, BucketSettings
from footnote_edge.sources.kinds.feed import FEED
from footnote_edge.sources.kinds.folder import FOLDER
from footnote_edge.sources.kinds.git import GitSecrets, GitSettings
from footnote_edge.sources.kinds.imap import IMAP
from footnote_edge.sources.kinds.mailbox import MAILBOX
from footnote_edge.sources.kinds.web import WEB
from footnote_edge.sources.ports import Connection, Opening, SourceKind


def _open_git(opening: Opening) -> Connection:
    from footnote_edge.sources.kinds.git_repository import GitConnection

    return GitConnection(opening)


def _open_bucket(opening: Opening) -> Connection:
    from footnote_edge.sources.kinds.bucket_objects import BucketConnection

    return BucketConnection(opening)


GIT = SourceKind("git", "Git repository", GitSettings, _open_git, secrets=GitSecrets, content_versions=True)
BUCKET = SourceKind("bucket", "Bucket of S3, GCS or Azure", BucketSettings, _open_bucket, secrets=BucketSecrets)
BUILT_IN = (WEB, GIT, BUCKET, FOLDER, MAILBOX, IMAP, FEED)
