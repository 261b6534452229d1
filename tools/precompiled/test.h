// What most tests include, for GCC to parse once (precompiled_header.bzl). Tests include what they
// use nevertheless: other compilers and clang-tidy do not see this file.

#ifndef MILLSTREAM_TOOLS_PRECOMPILED_TEST_H_
#define MILLSTREAM_TOOLS_PRECOMPILED_TEST_H_

#ifdef __cplusplus  // a target may have sources in C besides

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/notification.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#endif  // __cplusplus

#endif  // MILLSTREAM_TOOLS_PRECOMPILED_TEST_H_
