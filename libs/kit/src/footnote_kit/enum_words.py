"""Names of the contracts' enum values, for logs and for text shown to people."""

from google.protobuf.descriptor import EnumDescriptor


def enum_word(enum: EnumDescriptor, number: int) -> str:
    """Return a value's name without the enum's prefix, such as "STORE_UNAVAILABLE"; an unknown number as digits."""
    known = enum.values_by_number
    prefix = known[0].name.removesuffix("UNSPECIFIED")
    return known[number].name.removeprefix(prefix) if number in known else str(number)
