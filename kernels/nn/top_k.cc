// TopK, TopKV2, NthElement: places of rows in the order of their elements.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "framework/plugin/plugin.hpp"
#include "kernels/array/indices.h"
#include "kernels/common/parallel.h"
#include "kernels/common/type_table.h"
#include "kernels/nn/order_keys.h"

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
  RowSearch(MakeOrderKeys make_keys, int64_t k) : make_keys_(make_keys), k_(k) {}

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

  // Collects entries that may be among the first k. When twice as many as needed are there, half of
  // them go, so that each costs a constant time on average.
  void Collect(const void* elements, int64_t begin, int64_t n) {
    const auto capacity = static_cast<size_t>(std::min(n, 2 * k_ + kTile));
    entries_.clear();
    entries_.reserve(capacity);
    uint64_t keys[kTile];
    bool is_full = false;  // k entries are known, the last of which has the key `least`
    uint64_t least = 0;
    for (int64_t first = 0; first < n; first += kTile) {
      const int64_t count = std::min(kTile, n - first);
      make_keys_(elements, begin + first, count, keys);
      for (int64_t i = 0; i < count; ++i) {
        // A later entry of an equal key does not come before those that are there.
        if (is_full && keys[i] <= least) continue;
        if (entries_.size() == capacity) {
          Keep();
          is_full = true;
          least = entries_.back().key;
          if (keys[i] <= least) continue;
        }
        entries_.push_back({keys[i], first + i});
      }
    }
  }

  // Drops all entries but the first k; the last of those is put at the end.
  void Keep() {
    const auto last = entries_.begin() + (k_ - 1);
    std::nth_element(entries_.begin(), last, entries_.end(), ComesFirst);
    entries_.erase(last + 1, entries_.end());
  }

  const MakeOrderKeys make_keys_;
  const int64_t k_;
  std::vector<Entry> entries_;
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
    return ParallelRows(frame, input.size() / n, n, kPicoseconds, [&](int64_t begin, int64_t end) {
      RowSearch search(make_keys_, k);
      for (int64_t row = begin; row < end; ++row) {
        Write(search.FirstOf(input.raw(), row * n, n), input, row * n, row * k, values, indices);
      }
    });
  }

 private:
  // Entries of the row whose elements begin at `from`, to elements that begin at `to`.
  static void Write(const std::vector<Entry>& entries, const ms::View& input, int64_t from,
                    int64_t to, const ms::View& values, const ms::View& indices) {
    const auto bytes = static_cast<int64_t>(ms::ElementSize(input.dtype()));
    for (const Entry& entry : entries) {
      if (!values.is_null()) {
        std::memcpy(values.data<char>() + to * bytes,
                    input.data<char>() + (from + entry.index) * bytes, static_cast<size_t>(bytes));
      }
      if (!indices.is_null()) indices.data<int32_t>()[to] = static_cast<int32_t>(entry.index);
      ++to;
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
    make_keys_ = OrderKeysOf(info.input_dtype(0));
    if (make_keys_ == nullptr) return NoLoopFor(info.input_dtype(0));
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
          RowSearch search(make_keys_, k);
          for (int64_t row = begin; row < end; ++row) {
            const int64_t from = row * size + search.LastOf(input.raw(), row * size, size);
            std::memcpy(output.data<char>() + row * bytes, input.data<char>() + from * bytes,
                        static_cast<size_t>(bytes));
          }
        });
  }

 private:
  MakeOrderKeys make_keys_ = nullptr;
  bool from_largest_ = false;
};

ms::KernelOptions OrderedTypes() { return ms::KernelOptions().Types("T", TypesIn(kOrderedTypes)); }

const ms::Registered top_k = ms::Register<TopK>("TopK", OrderedTypes());
const ms::Registered top_k_v2 = ms::Register<TopK>("TopKV2", OrderedTypes().HostArg("k"));
const ms::Registered nth_element =
    ms::Register<NthElement>("NthElement", OrderedTypes().HostArg("n"));

}  // namespace
}  // namespace millstream::kernels
