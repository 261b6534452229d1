// Takes numbers and ranges from the front of a fuzzer's input.
#ifndef MILLSTREAM_TESTING_FUZZ_INPUT_H_
#define MILLSTREAM_TESTING_FUZZ_INPUT_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "absl/strings/string_view.h"

namespace millstream::fuzz {

// Which of `count` things a name stands for that is none of theirs: some one, always the same.
inline size_t AnyOf(absl::string_view name, size_t count) {
  uint64_t hash = 14695981039346656037u;  // FNV-1a
  for (const char c : name) hash = (hash ^ static_cast<uint8_t>(c)) * 1099511628211u;
  return hash % count;
}

class Input {
 public:
  Input(const uint8_t* data, size_t size) : bytes_(reinterpret_cast<const char*>(data), size) {}

  // Zeros where the input is at its end.
  template <typename T>
  T Take() {
    T value{};
    const size_t size = bytes_.size() < sizeof(T) ? bytes_.size() : sizeof(T);
    if (size > 0) std::memcpy(&value, bytes_.data(), size);
    bytes_.remove_prefix(size);
    return value;
  }
  // Up to a line's end, or to the input's.
  absl::string_view Line() {
    const absl::string_view line = bytes_.substr(0, bytes_.find('\n'));
    bytes_.remove_prefix(line.size());
    if (!bytes_.empty()) bytes_.remove_prefix(1);
    return line;
  }
  // REQUIRES: there are so many bytes.
  void Skip(size_t size) { bytes_.remove_prefix(size); }
  absl::string_view rest() const { return bytes_; }

 private:
  absl::string_view bytes_;
};

}  // namespace millstream::fuzz

#endif  // MILLSTREAM_TESTING_FUZZ_INPUT_H_
