"""Reads JSON settings into a pydantic model, and explains errors in sentences for people."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ValidationError, ValidationInfo
from pydantic_core import ErrorDetails

from footnote_kit.logs import get_logger

S = TypeVar("S", bound=BaseModel)

_log = get_logger(__name__)

_NOUNS = {
    "string": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "list": "a list",
    "tuple": "a list",
    "set": "a list",
    "dict": "an object",
    "model": "an object",
}


def read(model: type[S], values: Mapping[str, object]) -> S:
    """Return the validated settings; raises pydantic's ValidationError.

    Types are strict, as in JSON: a string is no number, and true is not 1. A number without a fraction counts as an
    integer, because all numbers of a protobuf Struct are doubles. Unknown settings are refused, unless the model
    allows extra fields.
    """
    extra: Literal["allow", "forbid"] = "allow" if model.model_config.get("extra") == "allow" else "forbid"
    return model.model_validate_json(json.dumps(_whole(dict(values))), strict=True, extra=extra)


def at_most(most: int, value: int, info: ValidationInfo) -> int:
    """Return a setting, limited with a warning where an earlier version took more."""
    if value > most:
        _log.warning("setting_limited", setting=info.field_name, given=value, most=most)
    return min(value, most)


def problems_of(model: type[BaseModel], values: Mapping[str, object]) -> list[str]:
    """Return what is wrong with settings: a sentence for each problem, with the field and the allowed values."""
    try:
        read(model, values)
    except ValidationError as error:
        schema = _schema(model)
        return [_sentence(one, schema) for one in error.errors(include_url=False, include_input=False)]
    return []


@lru_cache(maxsize=64)
def _schema(model: type[BaseModel]) -> Mapping[str, Any]:
    return model.model_json_schema()


def _whole(value: object) -> object:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {name: _whole(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_whole(one) for one in value]
    return value


def _sentence(error: ErrorDetails, schema: Mapping[str, Any]) -> str:
    path = error["loc"]
    where = ".".join(map(str, path))
    if error["type"] == "extra_forbidden":
        names = ", ".join(schema.get("properties", {}))
        known = f"; there are {names}" if names else "; it has none"
        return f"{where} is not a setting of this provider{known if len(path) == 1 else ''}."
    allowed = _allowed(error, _rule(schema, path))
    if allowed:
        return f"{where} must {allowed}."
    message = error["msg"].removeprefix("Value error, ").rstrip(".")
    return f"{where}: {message}." if where else f"{message}."


def _allowed(error: ErrorDetails, rule: Mapping[str, Any]) -> str:
    """Return the condition of a valid value, to follow "must"; "" where pydantic's own message is best."""
    kind = error["type"]
    family = kind.partition("_")[0]
    bounds = _range(rule)
    if kind == "missing":
        return "be given"
    if kind in ("literal_error", "enum"):
        return f"be one of {_choices(rule, str(error.get('ctx', {}).get('expected', '')))}"
    if kind in ("greater_than_equal", "greater_than", "less_than_equal", "less_than"):
        return f"be {bounds or error['msg'].removeprefix('Input should be ')}"
    if kind in ("string_too_long", "string_too_short"):
        return f"have {_length(rule)} characters" if _length(rule) else ""
    if kind in _TYPES:
        return f"be {_NOUNS[family]}{' ' if bounds.startswith('from') else ', ' if bounds else ''}{bounds}"
    return "be a finite number" if kind == "finite_number" else ""


_TYPES = frozenset(f"{noun}_{end}" for noun in _NOUNS for end in ("type", "parsing", "from_float"))


def _rule(schema: Mapping[str, Any], path: Sequence[int | str]) -> Mapping[str, Any]:
    """Return the part of a schema that describes a setting; empty for a value nested inside a setting."""
    rule = schema.get("properties", {}).get(path[0], {}) if len(path) == 1 else {}
    reference = rule.get("$ref", "").rpartition("/")[2]
    found: Mapping[str, Any] = schema.get("$defs", {}).get(reference, rule)
    return found


def _choices(rule: Mapping[str, Any], expected: str) -> str:
    choices = rule.get("enum") or ([rule["const"]] if "const" in rule else [])
    return ", ".join(map(str, choices)) or expected.replace("'", "").replace(" or ", ", ")


def _range(rule: Mapping[str, Any]) -> str:
    """Return the range of a number, such as "from 0 to 1"."""
    least, most = rule.get("minimum"), rule.get("maximum")
    if least is not None and most is not None:
        return f"from {least:g} to {most:g}"
    bounds = (
        ("at least", least), ("more than", rule.get("exclusiveMinimum")),
        ("at most", most), ("less than", rule.get("exclusiveMaximum")),
    )  # fmt: skip
    return " and ".join(f"{words} {bound:g}" for words, bound in bounds if bound is not None)


def _length(rule: Mapping[str, Any]) -> str:
    bounds = (("at least", rule.get("minLength")), ("at most", rule.get("maxLength")))
    return " and ".join(f"{words} {bound}" for words, bound in bounds if bound)
