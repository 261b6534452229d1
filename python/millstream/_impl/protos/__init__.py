"""Message classes: ``GraphDef``, ``ConfigProto``, ``Summary``, ...

They are made, when first asked for, from what the runtime says of its own messages, so no other
library's protobuf takes part: `message_class` gives any of them by name. The functions that read
and write their text are those of `millstream.protos.text_format`.
"""

from millstream._impl.protos.pool import enum_values, message_class, message_names
from millstream._impl.protos.registry import EnumType

__all__ = ["EnumType", "enum_values", "message_class", "message_names"]
