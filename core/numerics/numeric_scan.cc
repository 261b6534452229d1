#include "core/numerics/numeric_scan.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "framework/half.h"

namespace millstream {
namespace {

// A bad value near the front of a large tensor is found after this many words.
constexpr int64_t kBlock = 4096;
constexpr int64_t kVectorBytes = 32;

// Of less, another thread would wake up when there is nothing left to do.
constexpr int64_t kBytesToShare = 1 << 20;
// What a core reads of a cache that others share.
constexpr uint64_t kBytesPerNanosecond = 10;

// Whether a scan is for the largest number alone, which takes two thirds of the time, or for all of
// Extremes.
enum class Wanted { kMost, kAll };

// What is found of words: as integers without the sign, so shifted by one bit, and all their bits
// in one word.
struct Extremes {
  uint64_t most = 0;
  uint64_t least = ~uint64_t{0};
  uint64_t bits = 0;

  void Take(const Extremes& other) {
    most = std::max(most, other.most);
    least = std::min(least, other.least);
    bits |= other.bits;
  }
};

// The same of each lane of vectors.
template <typename Word>
struct LaneExtremes {
  typedef Word Vector __attribute__((vector_size(kVectorBytes)));
  Vector most = {};
  Vector least = ~Vector{};
  Vector bits = {};
};

template <Wanted kWanted, typename Word>
inline __attribute__((always_inline)) void TakeVector(const Word* words,
                                                      LaneExtremes<Word>* extremes) {
  typename LaneExtremes<Word>::Vector vector;
  std::memcpy(&vector, words, sizeof(vector));
  if constexpr (kWanted == Wanted::kAll) extremes->bits |= vector;
  vector += vector;
  extremes->most = extremes->most > vector ? extremes->most : vector;
  if constexpr (kWanted == Wanted::kMost) return;
  extremes->least = extremes->least < vector ? extremes->least : vector;
}

template <typename Word>
inline __attribute__((always_inline)) void TakeLanes(const LaneExtremes<Word>& other,
                                                     LaneExtremes<Word>* extremes) {
  extremes->most = extremes->most > other.most ? extremes->most : other.most;
  extremes->least = extremes->least < other.least ? extremes->least : other.least;
  extremes->bits |= other.bits;
}

template <typename Word>
inline __attribute__((always_inline)) void TakeWord(Word word, Extremes* extremes) {
  const Word shifted = static_cast<Word>(word << 1);
  extremes->Take({shifted, shifted, word});
}

// Vectors are read one after the other, which is how memory is read fastest, but not compared so:
// one maximum after the other would wait for itself. Written out, so that they are in registers.
// Returns how many words there were in whole rows of vectors.
template <Wanted kWanted, typename Word>
inline __attribute__((always_inline)) int64_t TakeRows(const Word* words, int64_t count,
                                                       Extremes* extremes) {
  constexpr int64_t kLanes = kVectorBytes / static_cast<int64_t>(sizeof(Word));
  LaneExtremes<Word> first;
  LaneExtremes<Word> second;
  LaneExtremes<Word> third;
  LaneExtremes<Word> fourth;
  int64_t i = 0;
  for (; i + 4 * kLanes <= count; i += 4 * kLanes) {
    TakeVector<kWanted>(words + i, &first);
    TakeVector<kWanted>(words + i + kLanes, &second);
    TakeVector<kWanted>(words + i + 2 * kLanes, &third);
    TakeVector<kWanted>(words + i + 3 * kLanes, &fourth);
  }
  if (i == 0) return 0;
  TakeLanes(second, &first);
  TakeLanes(fourth, &third);
  TakeLanes(third, &first);
  for (int64_t lane = 0; lane < kLanes; ++lane) {
    extremes->Take({first.most[lane], first.least[lane], first.bits[lane]});
  }
  return i;
}

// A floating-point number is not finite if all bits of its exponent are set. Then its bits without
// the sign, as an integer, are at least those of infinity. The scan ends after the first block with
// one.
template <Wanted kWanted, typename Word, Word kInfinity>
inline __attribute__((always_inline)) Extremes ExtremesOf(const Word* words, int64_t count) {
  Extremes extremes;
  int64_t i = 0;
  int64_t taken = kBlock;
  while (taken == kBlock) {
    taken = TakeRows<kWanted>(words + i, std::min(count - i, kBlock), &extremes);
    i += taken;
    if (extremes.most >= static_cast<Word>(kInfinity << 1)) return extremes;
  }
  for (; i < count; ++i) TakeWord(words[i], &extremes);
  return extremes;
}

template <Wanted kWanted, typename Word, Word kInfinity>
__attribute__((target("avx2"))) Extremes ExtremesOfAvx2(const Word* words, int64_t count) {
  return ExtremesOf<kWanted, Word, kInfinity>(words, count);
}

// Of the words [begin, end).
template <Wanted kWanted, typename Word, Word kInfinity>
Extremes Scan(const void* data, int64_t begin, int64_t end) {
  static const bool has_avx2 = __builtin_cpu_supports("avx2");
  const Word* const words = static_cast<const Word*>(data) + begin;
  return has_avx2 ? ExtremesOfAvx2<kWanted, Word, kInfinity>(words, end - begin)
                  : ExtremesOf<kWanted, Word, kInfinity>(words, end - begin);
}

// How a type is looked at.
struct ScanType {
  using Function = Extremes (*)(const void* data, int64_t begin, int64_t end);
  Function most;
  Function all;
  uint64_t infinity;
  int64_t word_bytes;

  // Whether a number of which `extremes` are is not finite.
  bool HasNonFinite(const Extremes& extremes) const { return extremes.most >= infinity << 1; }
};

template <typename Word, Word kInfinity>
constexpr ScanType kScanType = {&Scan<Wanted::kMost, Word, kInfinity>,
                                &Scan<Wanted::kAll, Word, kInfinity>, kInfinity, sizeof(Word)};

const ScanType& ScanTypeOf(MS_DType dtype) {
  switch (dtype) {
    case MS_FLOAT16: return kScanType<uint16_t, 0x7c00>;
    case MS_BFLOAT16: return kScanType<uint16_t, 0x7f80>;
    case MS_FLOAT64:
    case MS_COMPLEX128: return kScanType<uint64_t, 0x7ff0000000000000>;
    default: return kScanType<uint32_t, 0x7f800000>;
  }
}

// A scan in parts, which are counted in blocks.
struct SharedScan {
  const ScanType& type;
  ScanType::Function scan;
  const void* data;
  int64_t count;
  std::atomic<bool> found{false};
  absl::Mutex mutex;
  Extremes extremes ABSL_GUARDED_BY(mutex);

  static void Part(void* user, uint64_t begin, uint64_t end) {
    auto* const shared = static_cast<SharedScan*>(user);
    if (shared->found.load(std::memory_order_relaxed)) return;
    const int64_t first = static_cast<int64_t>(begin) * kBlock;
    const int64_t last = std::min(static_cast<int64_t>(end) * kBlock, shared->count);
    const Extremes extremes = shared->scan(shared->data, first, last);
    if (shared->type.HasNonFinite(extremes)) shared->found.store(true, std::memory_order_relaxed);
    absl::MutexLock lock(&shared->mutex);
    shared->extremes.Take(extremes);
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

double NumberAt(MS_DType dtype, const void* data, int64_t i) {
  switch (dtype) {
    case MS_FLOAT16: return HalfToFloat(static_cast<const uint16_t*>(data)[i]);
    case MS_BFLOAT16: return BFloat16ToFloat(static_cast<const uint16_t*>(data)[i]);
    case MS_FLOAT64:
    case MS_COMPLEX128: return static_cast<const double*>(data)[i];
    default: return static_cast<double>(static_cast<const float*>(data)[i]);
  }
}

// The number that has the low bits of `word`.
double NumberOf(MS_DType dtype, uint64_t word) {
  alignas(uint64_t) char bytes[sizeof(word)];
  const int64_t word_bytes = ScanTypeOf(dtype).word_bytes;
  if (word_bytes == 8) {
    std::memcpy(bytes, &word, sizeof(word));
  } else if (word_bytes == 4) {
    const auto bits = static_cast<uint32_t>(word);
    std::memcpy(bytes, &bits, sizeof(bits));
  } else {
    const auto bits = static_cast<uint16_t>(word);
    std::memcpy(bytes, &bits, sizeof(bits));
  }
  return NumberAt(dtype, bytes, 0);
}

Extremes ExtremesOf(Wanted wanted, const MS_TensorView& view, MS_Frame* frame,
                    const MS_ThreadsApi* threads) {
  const ScanType& type = ScanTypeOf(view.dtype);
  const ScanType::Function scan = wanted == Wanted::kAll ? type.all : type.most;
  const int64_t count = CountOf(view);
  if (threads == nullptr || count * type.word_bytes < kBytesToShare) {
    return scan(DataOf(view), 0, count);
  }
  SharedScan shared{type, scan, DataOf(view), count, {}, {}, {}};
  const int64_t blocks = (count + kBlock - 1) / kBlock;
  const auto block_bytes = static_cast<uint64_t>(kBlock * type.word_bytes);
  threads->parallel_for(frame, static_cast<uint64_t>(blocks), block_bytes / kBytesPerNanosecond,
                        &SharedScan::Part, &shared);
  absl::MutexLock lock(&shared.mutex);
  return shared.extremes;
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

bool HoldsNonFinite(const MS_TensorView& view, MS_Frame* frame, const MS_ThreadsApi* threads) {
  if (!CanScan(view)) return false;
  return ScanTypeOf(view.dtype).HasNonFinite(ExtremesOf(Wanted::kMost, view, frame, threads));
}

std::optional<NumericBounds> BoundsOf(const MS_TensorView& view, MS_Frame* frame,
                                      const MS_ThreadsApi* threads) {
  const ScanType& type = ScanTypeOf(view.dtype);
  const Extremes extremes = ExtremesOf(Wanted::kAll, view, frame, threads);
  if (type.HasNonFinite(extremes)) return std::nullopt;
  if (CountOf(view) == 0) return NumericBounds{};
  const double most = NumberOf(view.dtype, extremes.most >> 1);
  const bool may_be_negative = (extremes.bits >> (8 * type.word_bytes - 1)) != 0;
  return NumericBounds{may_be_negative ? -most : NumberOf(view.dtype, extremes.least >> 1), most};
}

NumericRange RangeOf(const MS_TensorView& view) {
  NumericRange range;
  range.count = CountOf(view);
  const void* const data = DataOf(view);
  bool any = false;
  for (int64_t i = 0; i < range.count; ++i) {
    const double number = NumberAt(view.dtype, data, i);
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
