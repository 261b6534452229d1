#include "core/numeric_scan.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "framework/half.h"

namespace millstream {
namespace {

// A bad value near the front of a large tensor is found after this many words.
constexpr int64_t kBlock = 4096;
constexpr int64_t kVectorBytes = 32;

// Of less, another thread would wake up when there is nothing left to do.
constexpr int64_t kBytesToShare = 1 << 20;
// What a core reads of a cache that others share.
constexpr int64_t kBytesPerNanosecond = 10;

// A floating-point number is not finite when all bits of its exponent are set: without its sign it
// is then no smaller than the infinity, as an integer.
template <typename Word>
inline __attribute__((always_inline)) Word WithoutSign(Word word) {
  return static_cast<Word>(word << 1);
}

// The larger one of each lane, of `largest` and the words at `words` without sign.
template <typename Vector, typename Word>
inline __attribute__((always_inline)) void TakeLarger(const Word* words, Vector* largest) {
  Vector vector;
  std::memcpy(&vector, words, sizeof(vector));
  vector += vector;
  *largest = *largest > vector ? *largest : vector;
}

// Vectors are read one after the other, which is how memory is read fastest, but not compared so:
// one maximum after the other would wait for itself. Written out, so that they are in registers.
template <typename Word>
inline __attribute__((always_inline)) Word LargestOfBlock(const Word* words) {
  typedef Word Vector __attribute__((vector_size(kVectorBytes)));
  constexpr int64_t kLanes = kVectorBytes / static_cast<int64_t>(sizeof(Word));
  Vector first = {};
  Vector second = {};
  Vector third = {};
  Vector fourth = {};
  for (int64_t i = 0; i < kBlock; i += 4 * kLanes) {
    TakeLarger(words + i, &first);
    TakeLarger(words + i + kLanes, &second);
    TakeLarger(words + i + 2 * kLanes, &third);
    TakeLarger(words + i + 3 * kLanes, &fourth);
  }
  first = first > second ? first : second;
  third = third > fourth ? third : fourth;
  first = first > third ? first : third;
  Word result = 0;
  for (int64_t lane = 0; lane < kLanes; ++lane) result = std::max<Word>(result, first[lane]);
  return result;
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
bool Scan(const void* data, int64_t begin, int64_t end) {
  static const bool has_avx2 = __builtin_cpu_supports("avx2");
  const Word* const words = static_cast<const Word*>(data) + begin;
  return has_avx2 ? AnyNonFiniteAvx2<Word, kInfinity>(words, end - begin)
                  : AnyNonFinite<Word, kInfinity>(words, end - begin);
}

// Looks at the words [begin, end).
using ScanFunction = bool (*)(const void* data, int64_t begin, int64_t end);

ScanFunction ScanOf(MS_DType dtype) {
  switch (dtype) {
    case MS_FLOAT16: return &Scan<uint16_t, 0x7c00>;
    case MS_BFLOAT16: return &Scan<uint16_t, 0x7f80>;
    case MS_FLOAT64:
    case MS_COMPLEX128: return &Scan<uint64_t, 0x7ff0000000000000>;
    default: return &Scan<uint32_t, 0x7f800000>;
  }
}

int64_t WordBytes(MS_DType dtype) {
  switch (dtype) {
    case MS_FLOAT16:
    case MS_BFLOAT16: return 2;
    case MS_FLOAT64:
    case MS_COMPLEX128: return 8;
    default: return 4;
  }
}

// A scan in parts, which are counted in blocks.
struct SharedScan {
  ScanFunction scan;
  const void* data;
  int64_t count;
  std::atomic<bool> found{false};

  static void Part(void* user, uint64_t begin, uint64_t end) {
    auto* const shared = static_cast<SharedScan*>(user);
    if (shared->found.load(std::memory_order_relaxed)) return;
    const int64_t first = static_cast<int64_t>(begin) * kBlock;
    const int64_t last = std::min(static_cast<int64_t>(end) * kBlock, shared->count);
    if (shared->scan(shared->data, first, last)) {
      shared->found.store(true, std::memory_order_relaxed);
    }
  }
};

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

bool HasNonFinite(MS_DType dtype) {
  switch (dtype) {
    case MS_FLOAT16:
    case MS_BFLOAT16:
    case MS_FLOAT32:
    case MS_FLOAT64:
    case MS_COMPLEX64:
    case MS_COMPLEX128: return true;
    default: return false;
  }
}

bool CanScan(const MS_TensorView& view) {
  return HasNonFinite(view.dtype) && view.mem.base != nullptr && view.rank != MS_UNKNOWN_RANK &&
         (view.mem.space == MS_SPACE_HOST || view.mem.space == MS_SPACE_HOST_PINNED);
}

bool HoldsNonFinite(const MS_TensorView& view) {
  return CanScan(view) && ScanOf(view.dtype)(DataOf(view), 0, CountOf(view));
}

bool HoldsNonFinite(const MS_TensorView& view, MS_Frame* frame, const MS_ThreadsApi& threads) {
  if (!CanScan(view)) return false;
  const int64_t word = WordBytes(view.dtype);
  SharedScan shared{ScanOf(view.dtype), DataOf(view), CountOf(view)};
  if (shared.count * word < kBytesToShare) return shared.scan(shared.data, 0, shared.count);
  const int64_t blocks = (shared.count + kBlock - 1) / kBlock;
  threads.parallel_for(frame, static_cast<uint64_t>(blocks),
                       static_cast<uint64_t>(kBlock * word / kBytesPerNanosecond),
                       &SharedScan::Part, &shared);
  return shared.found.load(std::memory_order_relaxed);
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
