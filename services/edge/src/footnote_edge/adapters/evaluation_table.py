"""The table of runs of golden questions."""

from datetime import datetime

from sqlalchemy import DateTime, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from footnote_edge.adapters.tables import Base


class EvaluationRow(Base):
    """A run of golden questions: `head` and `questions` are JSON, without anything made of documents."""

    __tablename__ = "evaluations"

    sequence: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    id: Mapped[str] = mapped_column(String(40), unique=True)
    tenant_id: Mapped[str] = mapped_column(String(256))
    collection_id: Mapped[str] = mapped_column(String(256), index=True)
    user_id: Mapped[str] = mapped_column(String(256))
    create_time: Mapped[datetime] = mapped_column(DateTime(timezone=True), index=True)
    head: Mapped[str] = mapped_column(Text)
    questions: Mapped[str] = mapped_column(Text)
