"""JSON Schemas of the contract's messages, by protobuf's rules for JSON."""

from typing import Any

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
# 64 bits do not fit a JavaScript number, so that protobuf writes them as text; it reads both.
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


class Schemas:
    """Collects the schemas of messages and enums as they are referred to."""

    def __init__(self) -> None:
        self.components: dict[str, Schema] = {}

    def of(self, descriptor: Descriptor) -> Schema:
        """Return a reference to a message's schema, adding it and what it refers to."""
        known = _WELL_KNOWN.get(descriptor.full_name)
        if known is not None:
            return known
        name = _name(descriptor.full_name)
        if name not in self.components:
            self.components[name] = {}  # in place before its fields: messages may hold themselves
            self.components[name] = {
                "type": "object",
                "properties": {field.name: self.field(field) for field in descriptor.fields},
            }
        return {"$ref": f"#/components/schemas/{name}"}

    def field(self, field: FieldDescriptor) -> Schema:
        """Return the schema of a field."""
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            return {"type": "object", "additionalProperties": self.field(field.message_type.fields_by_name["value"])}
        schema = self._single(field)
        return {"type": "array", "items": schema} if field.is_repeated else schema

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
    """Return a short name: the contract's own prefix and version left out."""
    return full_name.removeprefix("footnote.").replace(".v1.", ".")
