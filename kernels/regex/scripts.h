// The scripts of characters, by the ranges that RE2 knows.
#ifndef MILLSTREAM_KERNELS_REGEX_SCRIPTS_H_
#define MILLSTREAM_KERNELS_REGEX_SCRIPTS_H_

#include <cstdint>

namespace millstream::regex {

// See millstream_regex_table.script_of. Thread-safe.
int32_t ScriptOf(int32_t character);

}  // namespace millstream::regex

#endif  // MILLSTREAM_KERNELS_REGEX_SCRIPTS_H_
