#include "kernels/matmul/kept_strips.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <tuple>
#include <utility>

namespace millstream::kernels {
namespace {

using WeakStrips = std::weak_ptr<const std::vector<StripRow>>;

// What equal weights have in common; others may have it too.
using Key = std::tuple<uint64_t, int64_t, int64_t, bool>;  // hash, depth, columns, is_transposed

// Mixes the bits of the floats two at a time, by the multiplier of the 64-bit hash of Fowler, Noll
// and Vo.
uint64_t HashOf(const float* values, int64_t count) {
  constexpr uint64_t kPrime = 0x100000001B3;
  uint64_t hash = 0xCBF29CE484222325;
  for (int64_t i = 0; i < count; i += 2) {
    uint64_t word = 0;
    std::memcpy(&word, values + i, (i + 1 < count ? 2 : 1) * sizeof(float));
    hash = (hash ^ word) * kPrime;
    hash ^= hash >> 29;
  }
  return hash;
}

StridedMatrix MatrixOf(const Weights& weights) {
  if (weights.is_transposed) return {weights.data, 1, weights.depth};
  return {weights.data, weights.columns, 1};
}

// Whether these are the strips of a row-major matrix, whose rows lie in them in pieces.
bool HaveRowsOf(const std::vector<StripRow>& strips, const Weights& weights) {
  for (int64_t first = 0; first < weights.columns; first += kStripColumns) {
    const StripRow* const strip = strips.data() + first / kStripColumns * weights.depth;
    const auto count = static_cast<size_t>(std::min(weights.columns - first, kStripColumns));
    for (int64_t k = 0; k < weights.depth; ++k) {
      const float* const piece = weights.data + k * weights.columns + first;
      if (std::memcmp(strip[k].values, piece, count * sizeof(float)) != 0) return false;
    }
  }
  return true;
}

bool HaveBitsOf(const std::vector<StripRow>& strips, const Weights& weights) {
  if (!weights.is_transposed) return HaveRowsOf(strips, weights);
  const StridedMatrix matrix = MatrixOf(weights);
  for (int64_t j = 0; j < weights.columns; ++j) {
    const StripRow* const strip = strips.data() + j / kStripColumns * weights.depth;
    for (int64_t k = 0; k < weights.depth; ++k) {
      const float* const element = matrix.data + k * matrix.row_step + j * matrix.column_step;
      if (std::memcmp(&strip[k].values[j % kStripColumns], element, sizeof(float)) != 0) {
        return false;
      }
    }
  }
  return true;
}

bool HaveEqualBits(const std::vector<StripRow>& a, const std::vector<StripRow>& b) {
  if (a.size() != b.size() || a.empty()) return a.size() == b.size();
  return std::memcmp(a.data(), b.data(), a.size() * sizeof(StripRow)) == 0;
}

class Registry {
 public:
  // Strips with this key that `are_wanted` says yes to; null if nobody keeps such.
  template <typename Predicate>
  KeptStrips Find(const Key& key, const Predicate& are_wanted) {
    std::vector<KeptStrips> alike;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      const auto range = strips_.equal_range(key);
      for (auto one = range.first; one != range.second; ++one) {
        if (KeptStrips kept = one->second.lock()) alike.push_back(std::move(kept));
      }
    }
    for (const KeptStrips& kept : alike) {
      if (are_wanted(*kept)) return kept;
    }
    return nullptr;
  }
  void Add(const Key& key, const KeptStrips& kept) {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (auto one = strips_.begin(); one != strips_.end();) {
      one = one->second.expired() ? strips_.erase(one) : std::next(one);
    }
    strips_.emplace(key, kept);
  }

 private:
  std::mutex mutex_;
  std::multimap<Key, WeakStrips> strips_;  // guarded by mutex_
};

}  // namespace

KeptStrips KeepStrips(const Weights& weights) {
  static Registry* const registry = new Registry;
  const Key key(HashOf(weights.data, weights.depth * weights.columns), weights.depth,
                weights.columns, weights.is_transposed);
  const auto are_equal = [&](const std::vector<StripRow>& kept) {
    return HaveBitsOf(kept, weights);
  };
  if (KeptStrips kept = registry->Find(key, are_equal)) return kept;
  auto strips = std::make_shared<std::vector<StripRow>>(
      static_cast<size_t>(StripsOf(weights.columns) * weights.depth));
  ArrangeStrips(MatrixOf(weights), weights.depth, weights.columns, 0, StripsOf(weights.columns),
                strips->data()->values);
  registry->Add(key, strips);
  return strips;
}

KeptStrips KeepComputedStrips(std::vector<StripRow> strips) {
  static Registry* const registry = new Registry;
  const auto rows = static_cast<int64_t>(strips.size());
  const float* const values = strips.empty() ? nullptr : strips.data()->values;
  const Key key(HashOf(values, rows * kStripColumns), rows, kStripColumns, false);
  const auto are_equal = [&](const std::vector<StripRow>& kept) {
    return HaveEqualBits(kept, strips);
  };
  if (KeptStrips kept = registry->Find(key, are_equal)) return kept;
  auto added = std::make_shared<const std::vector<StripRow>>(std::move(strips));
  registry->Add(key, added);
  return added;
}

}  // namespace millstream::kernels
