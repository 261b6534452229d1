#include "core/numeric_scan.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "framework/half.h"

namespace millstream {
namespace {

// Of constant length, so that compilers make vectors of it; 8 kB or less, so that a bad value near
// the front of a large tensor is found soon. Its quarters are read side by side: one maximum after
// the other would wait for itself.
constexpr int64_t kQuarter = 256;
constexpr int64_t kBlock = 4 * kQuarter;

// A floating-point number is not finite when all bits of its exponent are set: without its sign it
// is then no smaller than the infinity, as an integer.
template <typename Word>
inline __attribute__((always_inline)) Word WithoutSign(Word word) {
  return static_cast<Word>(word << 1);
}

template <typename Word>
inline __attribute__((always_inline)) Word LargestOfBlock(const Word* words) {
  Word largest[4] = {0, 0, 0, 0};
  for (int64_t k = 0; k < kQuarter; ++k) {
    largest[0] = std::max(largest[0], WithoutSign(words[k]));
    largest[1] = std::max(largest[1], WithoutSign(words[kQuarter + k]));
    largest[2] = std::max(largest[2], WithoutSign(words[2 * kQuarter + k]));
    largest[3] = std::max(largest[3], WithoutSign(words[3 * kQuarter + k]));
  }
  return std::max(std::max(largest[0], largest[1]), std::max(largest[2], largest[3]));
}

template <typename Word, Word kInfinity>
inline __attribute__((always_inline)) bool AnyNonFinite(const Word* words, int64_t count) {
  constexpr Word kLimit = static_cast<Word>(kInfinity << 1);
  int64_t i = 0;
  for (; i + kBlock <= count; i += kBlock) {
    if (LargestOfBlock(words + i) >= kLimit) return true;
  }
  Word largest = 0;
  for (; i < count; ++i) largest = std::max(largest, WithoutSign(words[i]));
  return largest >= kLimit;
}

template <typename Word, Word kInfinity>
__attribute__((target("avx2"))) bool AnyNonFiniteAvx2(const Word* words, int64_t count) {
  return AnyNonFinite<Word, kInfinity>(words, count);
}

template <typename Word, Word kInfinity>
bool Scan(const void* data, int64_t count) {
  static const bool has_avx2 = __builtin_cpu_supports("avx2");
  const Word* const words = static_cast<const Word*>(data);
  return has_avx2 ? AnyNonFiniteAvx2<Word, kInfinity>(words, count)
                  : AnyNonFinite<Word, kInfinity>(words, count);
}

const void* DataOf(const MS_TensorView& view) {
  return static_cast<const char*>(view.mem.base) + view.mem.offset;
}

bool IsComplex(const MS_TensorView& view) {
  return view.dtype == MS_COMPLEX64 || view.dtype == MS_COMPLEX128;
}

// Numbers, of which a complex one has two.
int64_t CountOf(const MS_TensorView& view) {
  int64_t count = IsComplex(view) ? 2 : 1;
  for (uint32_t i = 0; i < view.rank; ++i) count *= view.dims[i];
  return count;
}

double NumberAt(const MS_TensorView& view, int64_t i) {
  const void* const data = DataOf(view);
  switch (view.dtype) {
    case MS_FLOAT16: return HalfToFloat(static_cast<const uint16_t*>(data)[i]);
    case MS_BFLOAT16: return BFloat16ToFloat(static_cast<const uint16_t*>(data)[i]);
    case MS_FLOAT64:
    case MS_COMPLEX128: return static_cast<const double*>(data)[i];
    default: return static_cast<double>(static_cast<const float*>(data)[i]);
  }
}

}  // namespace

bool CanScan(const MS_TensorView& view) {
  switch (view.dtype) {
    case MS_FLOAT16:
    case MS_BFLOAT16:
    case MS_FLOAT32:
    case MS_FLOAT64:
    case MS_COMPLEX64:
    case MS_COMPLEX128: break;
    default: return false;
  }
  return view.mem.base != nullptr && view.rank != MS_UNKNOWN_RANK &&
         view.mem.space == MS_SPACE_HOST;
}

bool HoldsNonFinite(const MS_TensorView& view) {
  if (!CanScan(view)) return false;
  const int64_t count = CountOf(view);
  switch (view.dtype) {
    case MS_FLOAT16: return Scan<uint16_t, 0x7c00>(DataOf(view), count);
    case MS_BFLOAT16: return Scan<uint16_t, 0x7f80>(DataOf(view), count);
    case MS_FLOAT64:
    case MS_COMPLEX128: return Scan<uint64_t, 0x7ff0000000000000>(DataOf(view), count);
    default: return Scan<uint32_t, 0x7f800000>(DataOf(view), count);
  }
}

NumericRange RangeOf(const MS_TensorView& view) {
  NumericRange range;
  range.count = CountOf(view);
  bool any = false;
  for (int64_t i = 0; i < range.count; ++i) {
    const double number = NumberAt(view, i);
    if (std::isnan(number)) {
      ++range.nans;
    } else if (std::isinf(number)) {
      ++range.infinities;
    } else {
      range.min = any && range.min < number ? range.min : number;
      range.max = any && range.max > number ? range.max : number;
      any = true;
    }
  }
  return range;
}

std::string NumericRange::ToString() const {
  if (count == 0) return "no numbers";
  std::string text;
  if (nans + infinities < count) absl::StrAppend(&text, min, " to ", max);
  const auto append = [&](int64_t number, const char* what) {
    if (number == 0) return;
    absl::StrAppend(&text, text.empty() ? "" : ", ", number, " ", what);
  };
  append(nans, "NaN");
  append(infinities, infinities == 1 ? "infinity" : "infinities");
  return nans + infinities == 0 ? text : absl::StrCat(text, " of ", count);
}

}  // namespace millstream
