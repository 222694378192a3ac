"""Footnote's own kinds of sources, one module each, behind `ports.Connection`."""

from footnote_edge.sources.kinds.bucket import BUCKET
from footnote_edge.sources.kinds.feed import FEED
from footnote_edge.sources.kinds.folder import FOLDER
from footnote_edge.sources.kinds.git import GIT
from footnote_edge.sources.kinds.imap import IMAP
from footnote_edge.sources.kinds.mailbox import MAILBOX
from footnote_edge.sources.kinds.web import WEB

BUILT_IN = (WEB, GIT, BUCKET, FOLDER, MAILBOX, IMAP, FEED)
