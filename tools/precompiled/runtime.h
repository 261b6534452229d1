// What most files of the runtime include, for GCC to parse once (precompiled_header.bzl). They
// include what they use nevertheless: other compilers and clang-tidy do not see this file.

#ifndef MILLSTREAM_TOOLS_PRECOMPILED_RUNTIME_H_
#define MILLSTREAM_TOOLS_PRECOMPILED_RUNTIME_H_

#ifdef __cplusplus  // a target may have sources in C besides

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/span.h"

#endif  // __cplusplus

#endif  // MILLSTREAM_TOOLS_PRECOMPILED_RUNTIME_H_
