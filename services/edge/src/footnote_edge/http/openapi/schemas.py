"""JSON Schemas of the contract's messages, by protobuf's JSON mapping."""

from collections.abc import Collection
from typing import Any

from footnote_kit.field_behavior import is_output_only, is_required
from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor

Schema = dict[str, Any]

_WELL_KNOWN: dict[str, Schema] = {
    "google.protobuf.Timestamp": {"type": "string", "format": "date-time"},
    "google.protobuf.Duration": {"type": "string", "pattern": r"^-?\d+(\.\d{1,9})?s$", "examples": ["86400s"]},
    "google.protobuf.FieldMask": {"type": "string", "examples": ["description,settings.retrieval"]},
    "google.protobuf.Struct": {"type": "object", "additionalProperties": True},
    "google.protobuf.Value": {},
    "google.protobuf.ListValue": {"type": "array"},
}

_INT32 = {"type": "integer", "format": "int32", "minimum": -(2**31), "maximum": 2**31 - 1}
# 64 bits do not fit a JavaScript number, so protobuf writes them as text; it reads both.
_INT64 = {"type": ["string", "integer"], "format": "int64", "pattern": r"^-?\d{1,18}$"}
_NUMBER = {"anyOf": [{"type": "number"}, {"enum": ["NaN", "Infinity", "-Infinity"]}]}

_SCALARS: dict[int, Schema] = {
    FieldDescriptor.TYPE_INT32: _INT32,
    FieldDescriptor.TYPE_INT64: _INT64,
    FieldDescriptor.TYPE_UINT32: {"type": "integer", "minimum": 0, "maximum": 2**32 - 1},
    FieldDescriptor.TYPE_UINT64: _INT64,
    FieldDescriptor.TYPE_FLOAT: _NUMBER,
    FieldDescriptor.TYPE_DOUBLE: _NUMBER,
    FieldDescriptor.TYPE_BOOL: {"type": "boolean"},
    FieldDescriptor.TYPE_STRING: {"type": "string"},
    FieldDescriptor.TYPE_BYTES: {"type": "string", "contentEncoding": "base64"},
}


# Accepted values of fields with the same meaning in every message.
_BOUNDS: dict[str, Schema] = {
    "page_size": {"minimum": 0},
    "offset": {"minimum": 0},
}
_NOT_EMPTY: dict[str, Schema] = {"string": {"minLength": 1}, "array": {"minItems": 1}}


class Schemas:
    """Collects the schemas of referenced messages and enums."""

    def __init__(self) -> None:
        self.components: dict[str, Schema] = {}

    def of(self, descriptor: Descriptor, without: Collection[str] = ()) -> Schema:
        """Return a reference to a message's schema; adds the schema and all that it refers to.

        `without` leaves out request fields that are given outside the body.
        """
        known = _WELL_KNOWN.get(descriptor.full_name)
        if known is not None:
            return known
        name = _name(descriptor.full_name)
        if name not in self.components:
            self.components[name] = {}  # present before its fields, as messages may be recursive
            fields = [field for field in descriptor.fields if field.name not in without]
            schema: Schema = {"type": "object", "properties": {field.name: self.field(field) for field in fields}}
            if required := [field for field in fields if is_required(field)]:
                schema["required"] = [field.name for field in required]
                for field in required:
                    schema["properties"][field.name] |= _NOT_EMPTY.get(schema["properties"][field.name].get("type"), {})
            if name.endswith("Request"):
                schema["additionalProperties"] = False  # a misspelt field is refused; responses may get new fields
            self.components[name] = schema
        return {"$ref": f"#/components/schemas/{name}"}

    def field(self, field: FieldDescriptor) -> Schema:
        """Return the schema of a field."""
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            return {"type": "object", "additionalProperties": self.field(field.message_type.fields_by_name["value"])}
        schema = {**self._single(field), **_BOUNDS.get(field.name, {})}
        made: Schema = {"type": "array", "items": schema} if field.is_repeated else schema
        return {**made, "readOnly": True} if is_output_only(field) else made

    def _single(self, field: FieldDescriptor) -> Schema:
        if field.message_type is not None:
            return self.of(field.message_type)
        if field.enum_type is not None:
            return self._enum(field.enum_type)
        return _SCALARS[field.type]

    def _enum(self, descriptor: EnumDescriptor) -> Schema:
        name = _name(descriptor.full_name)
        self.components[name] = {"type": "string", "enum": [value.name for value in descriptor.values]}
        return {"$ref": f"#/components/schemas/{name}"}


def _name(full_name: str) -> str:
    """Return a short name, without the contract's prefix and version."""
    return full_name.removeprefix("footnote.").replace(".v1.", ".")
