"""Message classes: ``GraphDef``, ``ConfigProto``, ``Summary``, ..."""

from millstream._impl.protos import EnumType, enum_values, message_class, message_names

__all__ = ["EnumType", "enum_values", "message_class", "message_names"]
