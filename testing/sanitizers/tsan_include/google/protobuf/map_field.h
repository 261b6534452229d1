// Stands before protobuf's header of this name under --config=tsan. That gives a map two members
// more when it is compiled for ThreadSanitizer, which Debian's library, compiled without, does not
// know of: both would take different places for the rest of the map.
#ifndef MILLSTREAM_TESTING_SANITIZERS_TSAN_INCLUDE_GOOGLE_PROTOBUF_MAP_FIELD_H_
#define MILLSTREAM_TESTING_SANITIZERS_TSAN_INCLUDE_GOOGLE_PROTOBUF_MAP_FIELD_H_

#pragma push_macro("__SANITIZE_THREAD__")
#undef __SANITIZE_THREAD__
#include_next <google/protobuf/map_field.h>
#pragma pop_macro("__SANITIZE_THREAD__")

#endif  // MILLSTREAM_TESTING_SANITIZERS_TSAN_INCLUDE_GOOGLE_PROTOBUF_MAP_FIELD_H_
