// Estimates the memory of a message before it is parsed. Some messages take hundreds of times the
// size of their encoding, so a small file could allocate gigabytes.
#ifndef MILLSTREAM_FRAMEWORK_MESSAGE_SIZE_H_
#define MILLSTREAM_FRAMEWORK_MESSAGE_SIZE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/descriptor.h"

namespace millstream {

// RESOURCE_EXHAUSTED if the parsed message would take more than a few megabytes and many times the
// size of the input, which valid messages do not. Malformed input returns OK; the parser reports
// it. `*has_incomplete_entries` is set to whether an entry of a map lacks its key or its value.
absl::Status CheckBinarySize(const google::protobuf::Descriptor* message, absl::string_view bytes,
                             bool* has_incomplete_entries);
// About what the parsed message would take in memory; any number above `limit` if it is more.
int64_t ParsedBytes(const google::protobuf::Descriptor* message, absl::string_view bytes,
                    int64_t limit);
absl::Status CheckTextSize(const google::protobuf::Descriptor* message, absl::string_view text);

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_MESSAGE_SIZE_H_
