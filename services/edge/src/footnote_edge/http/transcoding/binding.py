"""Routes by the google.api.http annotations: HTTP requests to protobuf messages, and messages to JSON."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from footnote_kit.edge import METHODS
from footnote_kit.errors import InvalidArgument
from footnote_kit.printable import whole_numbers
from google.api import annotations_pb2
from google.protobuf import json_format
from google.protobuf.descriptor import Descriptor, FieldDescriptor, MethodDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

_VERBS = ("get", "post", "put", "patch", "delete")
_VARIABLE = re.compile(r"\{([a-z_]+)(?:=(\*\*))?\}")  # with "=**" it may contain slashes


@dataclass(frozen=True, slots=True)
class Rule:
    """One route: `body` is "*", a field's name, or empty; `variables` are fields of the request."""

    method: MethodDescriptor
    verb: str
    template: str
    body: str
    variables: tuple[str, ...]

    @property
    def path(self) -> str:
        """Return the path template in Starlette's syntax."""
        return _VARIABLE.sub(lambda match: "{" + match[1] + (":path" if match[2] else "") + "}", self.template)

    @property
    def documented_path(self) -> str:
        """Return the path template in OpenAPI's syntax."""
        return _VARIABLE.sub(lambda match: "{" + match[1] + "}", self.template)


def rules() -> list[Rule]:
    """Return every annotated route, custom verbs (":watch") before simpler paths that would match too."""
    found = []
    for method in METHODS:
        options = method.GetOptions()
        if not options.HasExtension(annotations_pb2.http):
            continue
        http = options.Extensions[annotations_pb2.http]
        for rule in (http, *http.additional_bindings):
            verb = rule.WhichOneof("pattern")
            if verb not in _VERBS:
                raise ValueError(f"{method.full_name}: only {', '.join(_VERBS)} are served")
            template = getattr(rule, verb)
            found.append(
                Rule(method, verb.upper(), template, rule.body, tuple(name for name, _ in _VARIABLE.findall(template)))
            )
    return sorted(found, key=lambda rule: (":" not in rule.template.rsplit("/", 1)[-1], rule.template))


M = TypeVar("M", bound=Message)

_INTEGERS = frozenset(
    {
        FieldDescriptor.CPPTYPE_INT32,
        FieldDescriptor.CPPTYPE_INT64,
        FieldDescriptor.CPPTYPE_UINT32,
        FieldDescriptor.CPPTYPE_UINT64,
    }
)
_FLOATS = frozenset({FieldDescriptor.CPPTYPE_FLOAT, FieldDescriptor.CPPTYPE_DOUBLE})
_SHOWN = 200
_MASK = "google.protobuf.FieldMask"
_TEXT_FORM = frozenset({"google.protobuf.Timestamp", "google.protobuf.Duration", _MASK})


def to_json(message: Message) -> dict[str, Any]:
    """Return a message as JSON: with the contract's field names, and fields without presence always included."""
    result: dict[str, Any] = whole_numbers(
        json_format.MessageToDict(message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True)
    )
    return result


def bind(rule: Rule, path: Mapping[str, str], query: Iterable[tuple[str, str]], body: Any) -> Message:
    """Return the request message; raises InvalidArgument for an unknown field or a value of the wrong type."""
    descriptor = rule.method.input_type
    values: dict[str, Any] = {}
    if rule.body == "*":
        if not isinstance(body, dict):
            raise InvalidArgument("The body must be a JSON object")
        values.update(_named(descriptor, body))
    elif rule.body:
        values[rule.body] = body
    for key, text in query:
        _put(descriptor, values, key, text)
    for variable in rule.variables:
        _put(descriptor, values, variable, path[variable], replace=True)
    return fill(values, GetMessageClass(descriptor)())


def fill(values: Any, message: M) -> M:
    """Return `message` filled with JSON values; raises InvalidArgument for invalid ones.

    Besides its own errors, the parser raises others for values of odd types, depth or encoding.
    """
    try:
        return json_format.ParseDict(values, message)
    except (json_format.ParseError, ValueError, TypeError, AttributeError, RecursionError) as error:
        # The parser's sentence names the field; its tail may quote the whole value.
        said = str(error).split("\n", 1)[0].rstrip(".")
        problem = f"The request does not fit the contract: {said[:_SHOWN]}"
        raise InvalidArgument(problem, violations=_violations(said)) from None


def field_of(descriptor: Descriptor, name: str) -> FieldDescriptor | None:
    """Return a field by its name, in the contract's form (page_size) or protobuf's JSON form (pageSize)."""
    found: FieldDescriptor | None = descriptor.fields_by_name.get(name)
    return found if found is not None else descriptor.fields_by_camelcase_name.get(name)


def _named(descriptor: Descriptor, body: dict[str, Any]) -> dict[str, Any]:
    """Return a body with the contract's field names, so that path and query replace the same fields."""
    named: dict[str, Any] = {}
    for key, value in body.items():
        field = field_of(descriptor, key)
        name = key if field is None else field.name
        if name in named:
            raise InvalidArgument.field(key, "is given twice")
        named[name] = value
    return named


def _put(descriptor: Descriptor, values: dict[str, Any], path: str, text: str, replace: bool = False) -> None:
    """Set a query or path value at its dotted path."""
    names = path.split(".")
    target, level = values, descriptor
    for name in names[:-1]:
        field = field_of(level, name)
        if field is None or field.message_type is None or field.is_repeated:
            raise InvalidArgument.field(path, "is not a field of this request")
        nested = target.setdefault(field.name, {})
        if not isinstance(nested, dict):
            raise InvalidArgument.field(name, "must be an object")
        target, level = nested, field.message_type
    field = field_of(level, names[-1])
    if field is None:
        raise InvalidArgument.field(path, "is not a field of this request")
    value = _value(field, path, text)
    if field.is_repeated and not replace:
        held = target.setdefault(field.name, [])
        if not isinstance(held, list):
            raise InvalidArgument.field(path, "must be a list")
        held.append(value)
    else:
        target[field.name] = value


def _value(field: FieldDescriptor, path: str, text: str) -> Any:
    if field.message_type is not None:
        if field.message_type.full_name not in _TEXT_FORM:
            raise InvalidArgument.field(path, "cannot be given in the query")
        # The parser accepts only camelCase masks; ours use the field names of the contract and of our JSON.
        return re.sub("_([a-z])", lambda found: found[1].upper(), text) if _is_mask(field) else text
    if field.cpp_type == FieldDescriptor.CPPTYPE_BOOL:
        if text not in ("true", "false"):
            raise InvalidArgument.field(path, 'must be "true" or "false"')
        return text == "true"
    kind = int if field.cpp_type in _INTEGERS else float if field.cpp_type in _FLOATS else None
    if kind is None:
        return text
    try:
        return kind(text)
    except ValueError:
        raise InvalidArgument.field(path, "must be a number") from None


def _is_mask(field: FieldDescriptor) -> bool:
    return field.message_type is not None and field.message_type.full_name == _MASK


def _violations(said: str) -> list[tuple[str, str]]:
    """Return the field in the parser's sentence: "… Invalid value at SearchRequest.filter.not"."""
    problem, _, place = said.rpartition(" at ")
    unknown = problem.rpartition(' no field named "')[2].strip('"') if " no field named " in problem else ""
    named = place.strip('".').split(".")[1:] or re.findall(r"Failed to parse (\w+) field: ", said)
    path = ".".join(name for name in [*named, unknown] if name)
    described = "is not a field of this request" if unknown else (problem or said).rpartition(" field: ")[2]
    return [(path[:_SHOWN], described[:_SHOWN])] if path else []
