"""Messages as text, by the functions that protobuf's ``text_format`` has."""

from millstream._impl.protos.text_format import Merge, MessageToString, Parse

__all__ = ["Merge", "MessageToString", "Parse"]
