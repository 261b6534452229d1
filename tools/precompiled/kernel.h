// What most kernels include, most of it by way of the plugin headers, for GCC to parse once
// (precompiled_header.bzl). They include what they use nevertheless: other compilers and clang-tidy
// do not see this file.

#ifndef MILLSTREAM_TOOLS_PRECOMPILED_KERNEL_H_
#define MILLSTREAM_TOOLS_PRECOMPILED_KERNEL_H_

#ifdef __cplusplus  // a target may have sources in C besides

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <iterator>
#include <limits>
#include <list>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#endif  // __cplusplus

#endif  // MILLSTREAM_TOOLS_PRECOMPILED_KERNEL_H_
