// TopK, TopKV2, NthElement: places of rows in the order of their elements.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "framework/plugin/plugin.hpp"
#include "kernels/array/indices.h"
#include "kernels/common/parallel.h"
#include "kernels/common/type_table.h"
#include "kernels/nn/order_keys.h"
#include "kernels/nn/radix_sort.h"

namespace millstream::kernels {
namespace {

struct Entry {
  uint64_t key;
  int64_t index;
};

// Larger elements first, and of equal ones that of the lower index: no two entries are equal.
bool ComesFirst(const Entry& a, const Entry& b) {
  return a.key != b.key ? a.key > b.key : a.index < b.index;
}

// Finds the first k entries of rows. Its memory serves one row after the other.
class RowSearch {
 public:
  RowSearch(MS_DType dtype, int64_t k)
      : make_keys_(OrderKeysOf(dtype)), largest_keys_(LargestOrderKeysOf(dtype)), k_(k) {}

  // The first k entries of elements [begin, begin + n), sorted. REQUIRES: 0 < k <= n. Valid until
  // the next call.
  const std::vector<Entry>& FirstOf(const void* elements, int64_t begin, int64_t n) {
    Collect(elements, begin, n);
    Keep();
    std::sort(entries_.begin(), entries_.end(), ComesFirst);
    return entries_;
  }

  // The index of the k-th entry, counted from 1. REQUIRES: 0 < k <= n.
  int64_t LastOf(const void* elements, int64_t begin, int64_t n) {
    Collect(elements, begin, n);
    Keep();
    return entries_[static_cast<size_t>(k_ - 1)].index;
  }

 private:
  static constexpr int64_t kTile = 256;
  static constexpr int64_t kGroups = 64;
  // More entries are not put in order one by one: each would move too many others.
  static constexpr int64_t kMostInserted = 16;

  // Collects entries that may be among the first k: few are put in order one by one. When there are
  // more, half of them go whenever twice as many as needed are there, so that each costs a constant
  // time on average.
  void Collect(const void* elements, int64_t begin, int64_t n) {
    capacity_ = static_cast<size_t>(k_ <= kMostInserted ? k_ : std::min(n, 2 * k_ + kTile));
    entries_.clear();
    entries_.reserve(capacity_);
    is_full_ = false;
    least_ = 0;
    int64_t first = 0;
    if (k_ <= kMostInserted) first = CollectLargestFirst(elements, begin, n);
    for (; first < n; first += kTile) {
      const int64_t count = std::min(kTile, n - first);
      // Nearer to the begin of a row, most groups have one of the first k so far.
      const bool are_few = first >= k_ * kOrderGroup;
      if (is_full_ && are_few && count == kTile && largest_keys_ != nullptr) {
        CollectFromGroups(elements, begin, first);
      } else {
        CollectFrom(elements, begin, first, count);
      }
    }
  }

  // Of long rows. Of 64 groups at a time, looks at the k with the largest elements, these in order,
  // as long as they exceed what is known: where the elements rise, that is the last group alone.
  // Returns the first element that was not looked at.
  int64_t CollectLargestFirst(const void* elements, int64_t begin, int64_t n) {
    // In shorter rows, most groups have one of the first k.
    if (largest_keys_ == nullptr || n < k_ * kOrderGroup) return 0;
    int64_t first = 0;
    while (n - first >= kOrderGroup) {
      const int64_t groups = std::min(kGroups, (n - first) / kOrderGroup);
      uint64_t largest[kGroups];
      largest_keys_(elements, begin + first, groups, largest);
      CollectLargestOf(elements, begin, first, groups, largest);
      first += groups * kOrderGroup;
    }
    return first;
  }

  // From `groups` groups from element `first` on, whose largest keys are given.
  void CollectLargestOf(const void* elements, int64_t begin, int64_t first, int64_t groups,
                        const uint64_t* largest) {
    groups_.clear();
    for (int64_t group = 0; group < groups; ++group) {
      const Entry entry = {largest[group], first + group * kOrderGroup};
      if (!MayBeAmongFirst(entry)) continue;
      if (!IsFull(groups_) || ComesFirst(entry, groups_.back())) Insert(entry, &groups_);
    }
    if (!is_full_ && IsFull(groups_)) least_ = std::max(least_, groups_.back().key);
    for (const Entry& group : groups_) {
      if (MayBeAmongFirst(group)) CollectFrom(elements, begin, group.index, kOrderGroup);
    }
    // That leaves no others, unless some of the k have NaNs alone.
    if (!IsFull(groups_)) return;
    const Entry last = groups_.back();
    if (!MayBeAmongFirst({last.key, last.index + kOrderGroup})) return;
    for (int64_t group = 0; group < groups; ++group) {
      const Entry entry = {largest[group], first + group * kOrderGroup};
      if (ComesFirst(last, entry) && MayBeAmongFirst(entry)) {
        CollectFrom(elements, begin, entry.index, kOrderGroup);
      }
    }
  }

  // From a tile whose first element is `first`, but only where one exceeds what is known: of long
  // rows that are few groups.
  void CollectFromGroups(const void* elements, int64_t begin, int64_t first) {
    constexpr int64_t kTileGroups = kTile / kOrderGroup;
    uint64_t largest[kTileGroups];
    largest_keys_(elements, begin + first, kTileGroups, largest);
    for (int64_t group = 0; group < kTileGroups; ++group) {
      const int64_t place = first + group * kOrderGroup;
      if (MayBeAmongFirst({largest[group], place})) {
        CollectFrom(elements, begin, place, kOrderGroup);
      }
    }
  }

  bool IsFull(const std::vector<Entry>& entries) const {
    return entries.size() == static_cast<size_t>(k_);
  }

  bool MayBeAmongFirst(Entry entry) const {
    if (entry.key > least_) return true;
    if (entry.key < least_) return !is_full_ && entry.key == 0;
    return !is_full_ || entry.index < last_index_;
  }

  // Once k entries are known.
  void SetLast(Entry entry) {
    is_full_ = true;
    least_ = entry.key;
    last_index_ = entry.index;
  }

  void CollectFrom(const void* elements, int64_t begin, int64_t first, int64_t count) {
    uint64_t keys[kTile];
    make_keys_(elements, begin + first, count, keys);
    if (k_ <= kMostInserted) {
      for (int64_t i = 0; i < count; ++i) {
        const Entry entry = {keys[i], first + i};
        if (!MayBeAmongFirst(entry)) continue;
        Insert(entry, &entries_);
        if (IsFull(entries_)) SetLast(entries_.back());
      }
      return;
    }
    for (int64_t i = 0; i < count; ++i) {
      const Entry entry = {keys[i], first + i};
      if (!MayBeAmongFirst(entry)) continue;
      if (entries_.size() == capacity_) {
        Keep();
        SetLast(entries_.back());
        if (!MayBeAmongFirst(entry)) continue;
      }
      entries_.push_back(entry);
    }
  }

  // Before all entries that come after it; the last of k goes.
  void Insert(Entry entry, std::vector<Entry>* entries) const {
    if (!IsFull(*entries)) entries->push_back(entry);
    Entry* const sorted = entries->data();
    size_t at = entries->size() - 1;
    for (; at > 0 && ComesFirst(entry, sorted[at - 1]); --at) sorted[at] = sorted[at - 1];
    sorted[at] = entry;
  }

  // Drops all entries but the first k; the last of those is put at the end.
  void Keep() {
    const auto last = entries_.begin() + (k_ - 1);
    std::nth_element(entries_.begin(), last, entries_.end(), ComesFirst);
    entries_.erase(last + 1, entries_.end());
  }

  const MakeOrderKeys make_keys_;
  const LargestOrderKeys largest_keys_;
  const int64_t k_;
  std::vector<Entry> entries_;
  size_t capacity_ = 0;
  bool is_full_ = false;    // k entries are known
  uint64_t least_ = 0;      // none of the first k has a smaller key, but a NaN while not is_full_
  int64_t last_index_ = 0;  // if is_full_, of the last entry, whose key is least_
  std::vector<Entry> groups_;  // those with the largest elements, which `key` says
};

// What an element costs (see ParallelElements).
constexpr int64_t kPicoseconds = 2000;

// What the kernels below read first.
ms::Status CheckInput(const ms::View& input) {
  if (input.rank() == 0) return ms::InvalidArgument("input must be >= 1-D, got a scalar");
  const int64_t last = input.dim(input.rank() - 1);
  if (last <= std::numeric_limits<int32_t>::max()) return ms::Status();
  return ms::InvalidArgument("input has ", last, " elements in a row, which int32 cannot count");
}

// Inputs: input and, for TopKV2, k. Outputs: values, indices.
class TopK {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    make_keys_ = OrderKeysOf(info.input_dtype(0));
    if (make_keys_ == nullptr) return NoLoopFor(info.input_dtype(0));
    k_is_input_ = info.num_inputs() == 2;
    return k_is_input_ ? ms::Status() : info.Attr("k", &k_);
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View input = frame.input(0);
    MS_TRY(CheckInput(input));
    int64_t k = k_;
    if (k_is_input_) MS_TRY(ReadIndexScalar(frame.input(1), "k", &k));
    if (k < 0) return ms::InvalidArgument("Need k >= 0, got ", k);
    ms::Shape shape = input.shape();
    int64_t& last = shape[shape.rank() - 1];
    const int64_t n = last;
    if (n < k) {
      return ms::InvalidArgument("input must have at least k columns. Had ", n, ", needed k = ", k,
                                 ": its shape is ", shape.ToString());
    }
    last = k;
    ms::View values;
    ms::View indices;
    if (frame.output_used(0)) MS_TRY(frame.Output(0, shape, &values));
    if (frame.output_used(1)) MS_TRY(frame.Output(1, shape, &indices));
    if (shape.num_elements() == 0) return ms::Status();
    const int64_t rows = input.size() / n;
    if (IsSorted(input.dtype(), n, k)) return SortRows(frame, input, rows, k, values, indices);
    return ParallelRows(frame, rows, n, kPicoseconds, [&](int64_t begin, int64_t end) {
      RowSearch search(input.dtype(), k);
      std::vector<int32_t> places(static_cast<size_t>(k));
      for (int64_t row = begin; row < end; ++row) {
        const std::vector<Entry>& entries = search.FirstOf(input.raw(), row * n, n);
        std::transform(entries.begin(), entries.end(), places.begin(),
                       [](const Entry& entry) { return static_cast<int32_t>(entry.index); });
        Write(places.data(), k, input, row * n, row * k, values, indices);
      }
    });
  }

 private:
  static int KeyBytes(MS_DType dtype) { return ms::ElementSize(dtype) <= 4 ? 4 : 8; }

  // Whether rows are sorted by the digits of their keys. In short rows, and where few elements are
  // asked for, a search takes less time.
  static bool IsSorted(MS_DType dtype, int64_t n, int64_t k) {
    constexpr int64_t kLeastRow = 1024;  // of 4-byte keys
    constexpr int64_t kMostDropped = 4;
    return n >= kLeastRow * KeyBytes(dtype) / 4 && n <= k * kMostDropped;
  }

  ms::Status SortRows(ms::Frame& frame, const ms::View& input, int64_t rows, int64_t k,
                      const ms::View& values, const ms::View& indices) const {
    const int64_t n = input.size() / rows;
    const int key_bytes = KeyBytes(input.dtype());
    const uint64_t bytes = SortMemoryBytes(n, key_bytes);
    const auto sort = [&](int64_t row, void* memory) {
      const int32_t* const places =
          SortPlacesByKeys(make_keys_, input.raw(), row * n, n, k, key_bytes, memory);
      Write(places, k, input, row * n, row * k, values, indices);
    };
    if (rows == 1) {
      // The host keeps its memory: new pages would cost a long row more than the sort.
      ms::View memory;
      MS_TRY(frame.Temp(bytes, &memory));
      sort(0, memory.data<char>());
      return ms::Status();
    }
    return ParallelRows(frame, rows, n, kPicoseconds, [&](int64_t begin, int64_t end) {
      const std::unique_ptr<char[]> memory(new char[bytes]);
      for (int64_t row = begin; row < end; ++row) sort(row, memory.get());
    });
  }

  // The elements at `k` places of the row that begins at `from`, to elements from `to` on.
  static void Write(const int32_t* places, int64_t k, const ms::View& input, int64_t from,
                    int64_t to, const ms::View& values, const ms::View& indices) {
    if (!indices.is_null()) std::copy_n(places, k, indices.data<int32_t>() + to);
    if (values.is_null()) return;
    switch (ms::ElementSize(input.dtype())) {
      case 1: return CopyPlaces<uint8_t>(places, k, input, from, to, values);
      case 2: return CopyPlaces<uint16_t>(places, k, input, from, to, values);
      case 4: return CopyPlaces<uint32_t>(places, k, input, from, to, values);
      default: return CopyPlaces<uint64_t>(places, k, input, from, to, values);
    }
  }

  // Element stands for any type of its size.
  template <typename Element>
  static void CopyPlaces(const int32_t* places, int64_t k, const ms::View& input, int64_t from,
                         int64_t to, const ms::View& values) {
    const char* const row = input.data<char>() + from * static_cast<int64_t>(sizeof(Element));
    char* const target = values.data<char>() + to * static_cast<int64_t>(sizeof(Element));
    for (int64_t i = 0; i < k; ++i) {
      std::memcpy(target + i * static_cast<int64_t>(sizeof(Element)),
                  row + places[i] * static_cast<int64_t>(sizeof(Element)), sizeof(Element));
    }
  }

  MakeOrderKeys make_keys_ = nullptr;
  bool k_is_input_ = false;
  int64_t k_ = 0;
};

// Inputs: input, n.
class NthElement {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    if (OrderKeysOf(info.input_dtype(0)) == nullptr) return NoLoopFor(info.input_dtype(0));
    return info.Attr("reverse", &from_largest_);
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View input = frame.input(0);
    MS_TRY(CheckInput(input));
    int64_t n = 0;
    MS_TRY(ReadIndexScalar(frame.input(1), "n", &n));
    if (n < 0) return ms::InvalidArgument("Need n >= 0, got ", n);
    const ms::Shape shape = input.shape();
    const int64_t size = shape[shape.rank() - 1];
    if (size <= n) {
      return ms::InvalidArgument("input must have last dimension > n = ", n, " but is ", size,
                                 ": its shape is ", shape.ToString());
    }
    ms::View output;
    MS_TRY(frame.Output(0, ms::Shape(shape.begin(), shape.rank() - 1), &output));
    if (output.size() == 0) return ms::Status();
    const auto bytes = static_cast<int64_t>(ms::ElementSize(input.dtype()));
    const int64_t k = from_largest_ ? n + 1 : size - n;
    return ParallelRows(
        frame, output.size(), size, 2 * kPicoseconds, [&](int64_t begin, int64_t end) {
          RowSearch search(input.dtype(), k);
          for (int64_t row = begin; row < end; ++row) {
            const int64_t from = row * size + search.LastOf(input.raw(), row * size, size);
            std::memcpy(output.data<char>() + row * bytes, input.data<char>() + from * bytes,
                        static_cast<size_t>(bytes));
          }
        });
  }

 private:
  bool from_largest_ = false;
};

ms::KernelOptions OrderedTypes() { return ms::KernelOptions().Types("T", TypesIn(kOrderedTypes)); }

const ms::Registered top_k = ms::Register<TopK>("TopK", OrderedTypes());
const ms::Registered top_k_v2 = ms::Register<TopK>("TopKV2", OrderedTypes().HostArg("k"));
const ms::Registered nth_element =
    ms::Register<NthElement>("NthElement", OrderedTypes().HostArg("n"));

}  // namespace
}  // namespace millstream::kernels
