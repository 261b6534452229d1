// Sorts from the last digit to the first, each time keeping the order of equal digits (Knuth, The
// Art of Computer Programming 3, section 5.2.5, algorithm R, with counted buckets in place of
// lists).
#include "kernels/nn/radix_sort.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace millstream::kernels {
namespace {

// The counts of a digit take 8 KiB: those of three digits fit the first cache.
constexpr int kDigitBits = 11;
constexpr int64_t kDigitValues = int64_t{1} << kDigitBits;

// Keys are stored inverted, so that the largest comes first.
struct NarrowEntry {
  static constexpr int kKeyBits = 32;
  static NarrowEntry Of(uint64_t key, int64_t place) {
    return {(~key << 32) | static_cast<uint64_t>(place)};
  }
  uint64_t key() const { return key_and_place >> 32; }
  int32_t place() const { return static_cast<int32_t>(key_and_place & 0xffffffffu); }

  uint64_t key_and_place;
};

struct WideEntry {
  static constexpr int kKeyBits = 64;
  static WideEntry Of(uint64_t key, int64_t place) { return {~key, place}; }
  uint64_t key() const { return inverted; }
  int32_t place() const { return static_cast<int32_t>(at); }

  uint64_t inverted;
  int64_t at;
};

template <typename Entry>
class Sorter {
 public:
  // `memory` has place for 2 * n entries.
  Sorter(int64_t n, void* memory)
      : n_(n), entries_(static_cast<Entry*>(memory)), others_(entries_ + n) {}

  // Entries of all elements, and how often each value of each digit comes.
  void Collect(MakeOrderKeys make_keys, const void* elements, int64_t begin) {
    constexpr int64_t kTile = 256;
    uint64_t keys[kTile];
    for (int64_t first = 0; first < n_; first += kTile) {
      const int64_t count = std::min(kTile, n_ - first);
      make_keys(elements, begin + first, count, keys);
      for (int64_t i = 0; i < count; ++i) {
        const Entry entry = Entry::Of(keys[i], first + i);
        entries_[first + i] = entry;
        for (int digit = 0; digit < kDigits; ++digit) ++counts_[digit][ValueOf(entry, digit)];
      }
    }
  }

  // Puts the entries in their order.
  void Sort() {
    for (int digit = 0; digit < kDigits; ++digit) {
      std::array<uint32_t, kDigitValues>& next = counts_[digit];
      // Nothing moves where all have the same value, as in the high digits of small integers.
      if (next[ValueOf(entries_[0], digit)] == n_) continue;
      uint32_t before = 0;
      for (uint32_t& at : next) before += std::exchange(at, before);
      for (int64_t i = 0; i < n_; ++i) {
        const Entry entry = entries_[i];
        others_[next[ValueOf(entry, digit)]++] = entry;
      }
      std::swap(entries_, others_);
    }
  }

  // The places of the first k entries, over the memory that a sort no longer needs.
  const int32_t* Places(int64_t k) {
    auto* const places = reinterpret_cast<int32_t*>(others_);
    for (int64_t i = 0; i < k; ++i) places[i] = entries_[i].place();
    return places;
  }

 private:
  static constexpr int kDigits = (Entry::kKeyBits + kDigitBits - 1) / kDigitBits;

  static size_t ValueOf(const Entry& entry, int digit) {
    return (entry.key() >> (digit * kDigitBits)) & (kDigitValues - 1);
  }

  const int64_t n_;
  Entry* entries_;
  Entry* others_;  // of the same length
  // How often each value comes; then, where the next entry of that value goes.
  std::array<std::array<uint32_t, kDigitValues>, kDigits> counts_{};
};

template <typename Entry>
const int32_t* SortPlaces(MakeOrderKeys make_keys, const void* elements, int64_t begin, int64_t n,
                          int64_t k, void* memory) {
  Sorter<Entry> sorter(n, memory);
  sorter.Collect(make_keys, elements, begin);
  sorter.Sort();
  return sorter.Places(k);
}

}  // namespace

uint64_t SortMemoryBytes(int64_t n, int key_bytes) {
  return 2 * static_cast<uint64_t>(n) * (key_bytes == 4 ? sizeof(NarrowEntry) : sizeof(WideEntry));
}

const int32_t* SortPlacesByKeys(MakeOrderKeys make_keys, const void* elements, int64_t begin,
                                int64_t n, int64_t k, int key_bytes, void* memory) {
  return key_bytes == 4 ? SortPlaces<NarrowEntry>(make_keys, elements, begin, n, k, memory)
                        : SortPlaces<WideEntry>(make_keys, elements, begin, n, k, memory);
}

}  // namespace millstream::kernels
