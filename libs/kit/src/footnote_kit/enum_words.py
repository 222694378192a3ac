"""Values of the contracts' enums by their names, for logs and for words shown to people."""

from google.protobuf.descriptor import EnumDescriptor


def enum_word(enum: EnumDescriptor, number: int) -> str:
    """Return a value's name without the enum's prefix, "STORE_UNAVAILABLE"; an unknown number as it is."""
    known = enum.values_by_number
    prefix = known[0].name.removesuffix("UNSPECIFIED")
    return known[number].name.removeprefix(prefix) if number in known else str(number)
