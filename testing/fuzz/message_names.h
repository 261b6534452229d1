// Which message an input is about.
#ifndef MILLSTREAM_TESTING_FUZZ_MESSAGE_NAMES_H_
#define MILLSTREAM_TESTING_FUZZ_MESSAGE_NAMES_H_

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "framework/message.h"
#include "testing/fuzz/input.h"

namespace millstream::fuzz {

// The message of this name, or any one.
inline std::string MessageCalled(absl::string_view name) {
  if (FindMessage(name).ok()) return std::string(name);
  static const auto* const names = new std::vector<std::string>(MessageNames());
  return (*names)[AnyOf(name, names->size())];
}

// Aborts unless the message can be written and read again.
inline void WriteAndRead(const std::string& name, const google::protobuf::Message& message) {
  const absl::StatusOr<std::string> bytes = ToBinary(message);
  if (!bytes.ok()) return;
  const absl::StatusOr<MessagePtr> again = ParseBinary(name, *bytes);
  if (absl::IsResourceExhausted(again.status())) return;
  if (again.ok() && ToBinary(**again).value_or("") == *bytes) return;
  std::fprintf(stderr, "%s is not read as it was written: %s\n", name.c_str(),
               again.status().ToString().c_str());
  std::abort();
}

}  // namespace millstream::fuzz

#endif  // MILLSTREAM_TESTING_FUZZ_MESSAGE_NAMES_H_
