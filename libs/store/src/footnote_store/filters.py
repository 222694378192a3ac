"""The filter language in one import: parser, Milvus compiler, evaluator in plain Python, and search scope."""

from footnote_store.compiler import TRUE, compile_expr, conjunction, quote
from footnote_store.evaluator import evaluate
from footnote_store.expr import ALL, And, Compare, Exists, Expr, In, Not, Or, any_of, both
from footnote_store.scope import RowScope
from footnote_store.typed import parse_filter, parse_where

__all__ = [
    "ALL",
    "TRUE",
    "And",
    "Compare",
    "Exists",
    "Expr",
    "In",
    "Not",
    "Or",
    "RowScope",
    "any_of",
    "both",
    "compile_expr",
    "conjunction",
    "evaluate",
    "parse_filter",
    "parse_where",
    "quote",
]
