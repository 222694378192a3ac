"""The deployment's defaults for collection settings, read from the variables in the settings table."""

from collections.abc import Sequence
from functools import cache
from typing import Annotated, Any, Literal, cast

from footnote.types.v1 import bounds_pb2
from footnote.types.v1 import collection_pb2 as pb
from google.protobuf.descriptor import EnumDescriptor, FieldDescriptor
from pydantic import BeforeValidator, Field, create_model
from pydantic_settings import BaseSettings, SettingsConfigDict

from footnote_kit.collection_settings import GROUPS, SETTINGS, Setting, put


class _Variables(BaseSettings):
    """Settings read from the environment; an empty variable counts as unset."""

    model_config = SettingsConfigDict(env_ignore_empty=True, extra="ignore")


def deployment(*groups: str) -> pb.CollectionSettings:
    """Return the settings that the environment sets in these groups; without arguments, in all groups.

    The group "" holds the settings of the collection itself. Raises pydantic's ValidationError, which names the
    variable, for a value outside the contract's range.
    """
    read = variables(groups)()
    settings = pb.CollectionSettings()
    for one in _chosen(groups):
        value = getattr(read, _field(one))
        if value is None or (one.zero_is_unset and not value):
            continue
        group = getattr(settings, one.group) if one.group else settings
        field = group.DESCRIPTOR.fields_by_name[one.name]
        if field.enum_type is not None:
            value = _words(field.enum_type)[value]
        put(group, one.name, value * one.unit if one.unit != 1 else value)
    return settings


@cache
def variables(groups: tuple[str, ...] = ()) -> type[BaseSettings]:
    """Return the settings class that reads the variables of these groups."""
    fields: dict[str, Any] = {_field(one): _declaration(one) for one in _chosen(groups)}
    return create_model("DeploymentSettings", __base__=_Variables, __module__=__name__, **fields)


def _chosen(groups: Sequence[str]) -> list[Setting]:
    return [one for one in SETTINGS if one.variable and (not groups or one.group in groups)]


def _field(setting: Setting) -> str:
    return setting.path.replace(".", "_")


def _declaration(setting: Setting) -> tuple[Any, Any]:
    field = field_of(setting.path)
    return (
        _type(field) | None,
        Field(
            default=None,
            validation_alias=setting.variable,
            description=f"{setting.path} of collections that do not say otherwise.",
            **_range(field, setting),
        ),
    )


def _range(field: FieldDescriptor, setting: Setting) -> dict[str, Any]:
    """Return the contract's bounds as pydantic constraints."""
    bounds = field.GetOptions().Extensions[bounds_pb2.bounds]
    found: dict[str, Any] = {}
    if bounds.HasField("min") and not setting.zero_is_unset:
        found["ge"] = bounds.min / setting.unit
    if bounds.HasField("max"):
        found["le"] = bounds.max / setting.unit
    if bounds.HasField("max_length") and field.type == FieldDescriptor.TYPE_STRING:
        found["max_length"] = bounds.max_length
    if bounds.HasField("max_items"):
        found["max_length"] = bounds.max_items
    return found


def _type(field: FieldDescriptor) -> Any:
    if field.enum_type is not None:
        words = tuple(_words(field.enum_type))
        return Annotated[Literal[words], BeforeValidator(lambda value: str(value).lower())]
    if field.message_type is not None:
        return {"Duration": float, "StringList": list[str], "Struct": dict[str, Any]}[field.message_type.name]
    return {
        FieldDescriptor.CPPTYPE_DOUBLE: float,
        FieldDescriptor.CPPTYPE_BOOL: bool,
        FieldDescriptor.CPPTYPE_STRING: str,
    }.get(field.cpp_type, int)


def _words(enum: EnumDescriptor) -> dict[str, int]:
    """Return an enum's numbers by lower-case name: "hybrid" for SEARCH_STRATEGY_HYBRID; UNSPECIFIED is left out."""
    prefix = enum.values_by_number[0].name.removesuffix("UNSPECIFIED")
    return {value.name.removeprefix(prefix).lower(): value.number for value in enum.values if value.number}


def field_of(path: str) -> FieldDescriptor:
    """Return the contract's field of a setting."""
    group, _, name = path.rpartition(".")
    settings = GROUPS[group].DESCRIPTOR if group else pb.CollectionSettings.DESCRIPTOR
    return cast(FieldDescriptor, settings.fields_by_name[name])
