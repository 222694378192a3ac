"""The components that all answers share."""

from __future__ import annotations

from dataclasses import dataclass

from footnote_providers.egress.egress import Egress

from footnote_edge.asking.entitled import Entitled
from footnote_edge.asking.keeping import Keeper
from footnote_edge.asking.recall import Recall
from footnote_edge.asking.windows import Windows
from footnote_edge.collections.bounds import Bounds
from footnote_edge.conversations.conversations import Conversations
from footnote_edge.gateway.limiting import Limiting
from footnote_edge.ports import Stages
from footnote_edge.settings import Settings
from footnote_edge.system.activity import Counted


@dataclass(frozen=True, slots=True)
class Tools:
    """Components shared by all questions."""

    stages: Stages
    bounds: Bounds
    windows: Windows
    conversations: Conversations
    recall: Recall
    keeper: Keeper
    limiting: Limiting
    settings: Settings
    egress: Egress
    activity: Counted
    entitled: Entitled
