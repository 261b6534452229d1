// Unique, UniqueWithCounts, their forms along an axis, and ListDiff.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "framework/plugin/plugin.hpp"
#include "kernels/array/indices.h"
#include "kernels/array/strings.h"
#include "kernels/common/narrow_float.h"

namespace millstream::kernels {
namespace {

// Equal elements have equal keys: the text of a string, the value of a floating-point number, the
// bits of anything else.
using Texts = std::string_view;
using Values = double;
using Bits = uint64_t;

ms::Status ReadKey(const ms::View& x, int64_t i, std::string_view* key) {
  return x.GetString(i, key);
}
ms::Status ReadKey(const ms::View& x, int64_t i, double* key) {
  switch (x.dtype()) {
    case MS_FLOAT64: *key = x.data<double>()[i]; break;
    case MS_FLOAT16: *key = static_cast<float>(x.data<Float16>()[i]); break;
    case MS_BFLOAT16: *key = static_cast<float>(x.data<BFloat16>()[i]); break;
    default: *key = x.data<float>()[i]; break;
  }
  return ms::Status();
}
ms::Status ReadKey(const ms::View& x, int64_t i, uint64_t* key) {
  switch (ms::ElementSize(x.dtype())) {
    case 1: *key = x.data<uint8_t>()[i]; break;
    case 2: *key = x.data<uint16_t>()[i]; break;
    case 4: *key = x.data<uint32_t>()[i]; break;
    default: *key = x.data<uint64_t>()[i]; break;
  }
  return ms::Status();
}

// Sets element `i` of a tensor of int32 or int64.
void SetIndex(const ms::View& view, int64_t i, int64_t value) {
  if (view.dtype() == MS_INT64) {
    view.data<int64_t>()[i] = value;
  } else {
    view.data<int32_t>()[i] = static_cast<int32_t>(value);
  }
}

ms::Status CheckPlacesFit(const ms::View& x, int64_t count, MS_DType places) {
  if (places == MS_INT64 || count <= std::numeric_limits<int32_t>::max()) return ms::Status();
  return ms::InvalidArgument("x of shape ", x.shape().ToString(), " has ", count,
                             " places, which out_idx cannot hold");
}

// Copies elements [from, from + n) of x to those from `to` on of y.
ms::Status CopyElements(const ms::View& x, int64_t from, const ms::View& y, int64_t to, int64_t n) {
  if (x.dtype() == MS_STRING) return CopyStrings(x, from, y, to, n);
  const auto bytes = static_cast<int64_t>(ms::ElementSize(x.dtype()));
  std::memcpy(y.data<char>() + to * bytes, x.data<char>() + from * bytes,
              static_cast<size_t>(n * bytes));
  return ms::Status();
}

// The slices of x along an axis: `outer` parts of each, `inner` elements apart.
struct Slices {
  uint32_t axis = 0;
  int64_t outer = 1;
  int64_t count = 0;
  int64_t inner = 1;

  int64_t Start(int64_t part, int64_t slice) const { return (part * count + slice) * inner; }
};

ms::Status FindSlices(const ms::Frame& frame, Slices* slices) {
  const ms::Shape shape = frame.input(0).shape();
  const bool has_axis = frame.num_inputs() > 1 && frame.input(1).size() > 0;
  if (has_axis) {
    const ms::View axis = frame.input(1);
    if (axis.size() != 1) {
      return ms::InvalidArgument("axis must have one element or none, but has shape ",
                                 axis.shape().ToString());
    }
    MS_TRY(ResolveAxis(IndexAt(axis, 0), shape.rank(), "axis", &slices->axis));
  } else if (shape.rank() != 1) {
    return ms::InvalidArgument("x must be a vector, but has shape ", shape.ToString());
  }
  slices->outer = DimProduct(shape, 0, slices->axis);
  slices->count = shape[slices->axis];
  slices->inner = DimProduct(shape, slices->axis + 1, shape.rank());
  return ms::Status();
}

// Appends what tells an element from others. A NaN sets *is_unique: it makes its slice differ from
// all others.
void AppendKey(std::string_view key, std::string* text, bool*) {
  const size_t size = key.size();
  text->append(reinterpret_cast<const char*>(&size), sizeof(size)).append(key);
}
void AppendKey(double key, std::string* text, bool* is_unique) {
  *is_unique = *is_unique || key != key;
  key += 0.0;  // makes -0 of 0
  text->append(reinterpret_cast<const char*>(&key), sizeof(key));
}
void AppendKey(uint64_t key, std::string* text, bool*) {
  text->append(reinterpret_cast<const char*>(&key), sizeof(key));
}

// The same number for keys that are equal.
uint64_t HashOf(std::string_view key) { return std::hash<std::string_view>()(key); }
uint64_t HashOf(uint64_t key) { return key; }
uint64_t HashOf(double key) {
  key += 0.0;  // makes -0 of 0
  uint64_t bits = 0;
  std::memcpy(&bits, &key, sizeof(bits));
  return bits;
}

bool EqualsNothing(std::string_view) { return false; }
bool EqualsNothing(uint64_t) { return false; }
bool EqualsNothing(double key) { return key != key; }

// Finds the place of a key among the different keys seen so far. Open addressing with linear probes
// (Knuth, The Art of Computer Programming 3, section 6.4) in one array: a node for each key, as in
// the standard containers, would cost ten times as much as the search.
template <typename Key>
class PlacesOfKeys {
 public:
  // `most_keys` is how many there are at most.
  explicit PlacesOfKeys(int64_t most_keys)
      : most_keys_(most_keys), places_(static_cast<size_t>(slots_), kNone) {}

  // The place of `key`, which is the next free one if the key is new.
  int64_t Find(const Key& key) {
    ++num_searched_;
    if (EqualsNothing(key)) {  // and would be searched for among all of its kind
      keys_.push_back(key);
      return static_cast<int64_t>(keys_.size()) - 1;
    }
    size_t slot = FirstSlot(key);
    for (; places_[slot] != kNone; slot = NextSlot(slot)) {
      if (keys_[static_cast<size_t>(places_[slot])] == key) return places_[slot];
    }
    const auto place = static_cast<int64_t>(keys_.size());
    places_[slot] = place;
    keys_.push_back(key);
    if (2 * (place + 1) > slots_) Grow();
    return place;
  }

 private:
  static constexpr int64_t kNone = -1;

  // The high bits of a product depend on all bits of the key (Knuth, multiplicative hashing).
  size_t FirstSlot(const Key& key) const { return (HashOf(key) * 0x9e3779b97f4a7c15u) >> shift_; }
  size_t NextSlot(size_t slot) const { return (slot + 1) & (static_cast<size_t>(slots_) - 1); }

  // Of few different keys, a table in proportion to them stays in the caches. Where most keys
  // differ, it is made for all of them at once, because each time that it grows all are searched
  // for again.
  void Grow() {
    const bool most_differ = 2 * static_cast<int64_t>(keys_.size()) > num_searched_;
    do {
      slots_ *= 4;
      shift_ -= 2;
    } while (most_differ && slots_ < 2 * most_keys_);
    places_.assign(static_cast<size_t>(slots_), kNone);
    for (size_t place = 0; place < keys_.size(); ++place) {
      if (EqualsNothing(keys_[place])) continue;
      size_t slot = FirstSlot(keys_[place]);
      while (places_[slot] != kNone) slot = NextSlot(slot);
      places_[slot] = static_cast<int64_t>(place);
    }
  }

  const int64_t most_keys_;
  int64_t num_searched_ = 0;
  int64_t slots_ = 256;  // a power of two, 2^(64 - shift_)
  int shift_ = 56;
  std::vector<int64_t> places_;  // by slot
  std::vector<Key> keys_;        // by place
};

// The places of slices among the different ones.
struct Found {
  std::vector<int64_t> first;  // where each different slice comes first
  std::vector<int64_t> count;  // how often it comes
  void Add(const ms::View& places, int64_t slice, int64_t place) {
    if (place == static_cast<int64_t>(first.size())) {
      first.push_back(slice);
      count.push_back(0);
    }
    ++count[static_cast<size_t>(place)];
    SetIndex(places, slice, place);
  }
};

// The integers of x, as unsigned ones in the same order, are in [least, least + width).
struct IntegerRange {
  uint64_t flipped;  // the bit that is inverted for that: the sign's, in signed types
  uint64_t least;
  uint64_t width;
};

template <typename Bits>
IntegerRange RangeOf(const Bits* x, int64_t n, bool is_signed) {
  const Bits flipped = is_signed ? static_cast<Bits>(Bits{1} << (8 * sizeof(Bits) - 1)) : Bits{0};
  Bits least = std::numeric_limits<Bits>::max();
  Bits most = 0;
  for (int64_t i = 0; i < n; ++i) {
    const Bits value = x[i] ^ flipped;
    least = std::min(least, value);
    most = std::max(most, value);
  }
  // All 2^64 numbers have width 0 here, one less than which is more than any limit.
  return {flipped, least, static_cast<uint64_t>(most) - least + 1};
}

// Finds the places of `n` integers of a narrow range: a table has the place of each.
template <typename Bits, typename Place>
void FindInRange(const Bits* x, int64_t n, const IntegerRange& range, Place* places, Found* found) {
  constexpr Place kNone = -1;
  std::vector<Place> known(range.width, kNone);
  for (int64_t i = 0; i < n; ++i) {
    Place& place = known[(x[i] ^ range.flipped) - range.least];
    if (place == kNone) {
      place = static_cast<Place>(found->first.size());
      found->first.push_back(i);
      found->count.push_back(0);
    }
    ++found->count[static_cast<size_t>(place)];
    places[i] = place;
  }
}

// Finds the places of the integers of x, if their range is narrow for their number.
template <typename Bits>
bool FindIntegers(const ms::View& x, const ms::View& places, Found* found) {
  constexpr uint64_t kMostSlotsAnElement = 4;
  const Bits* const bits = x.data<Bits>();
  const MS_DType dtype = x.dtype();
  const bool is_signed =
      dtype == MS_INT8 || dtype == MS_INT16 || dtype == MS_INT32 || dtype == MS_INT64;
  const IntegerRange range = RangeOf(bits, x.size(), is_signed);
  if (range.width - 1 >= kMostSlotsAnElement * static_cast<uint64_t>(x.size())) return false;
  if (places.dtype() == MS_INT64) {
    FindInRange(bits, x.size(), range, places.data<int64_t>(), found);
  } else {
    FindInRange(bits, x.size(), range, places.data<int32_t>(), found);
  }
  return true;
}

bool FindIntegers(const ms::View& x, const ms::View& places, Found* found) {
  if (x.size() == 0) return false;
  switch (ms::ElementSize(x.dtype())) {
    case 1: return FindIntegers<uint8_t>(x, places, found);
    case 2: return FindIntegers<uint16_t>(x, places, found);
    case 4: return FindIntegers<uint32_t>(x, places, found);
    default: return FindIntegers<uint64_t>(x, places, found);
  }
}

// Inputs: x, and an axis in some ops. Outputs: the different slices in the order of their first
// places, for each slice of x its place among them, and how often they come in some ops.
template <typename Key>
class Unique {
 public:
  ms::Status Compute(ms::Frame& frame) const {
    const ms::View x = frame.input(0);
    Slices slices;
    MS_TRY(FindSlices(frame, &slices));
    ms::View places;
    MS_TRY(frame.Output(1, ms::Shape{slices.count}, &places));
    MS_TRY(CheckPlacesFit(x, slices.count, places.dtype()));
    Found found;
    if (slices.outer * slices.inner == 1) {
      MS_TRY(FindElements(x, places, &found));
    } else {
      MS_TRY(FindRows(x, slices, places, &found));
    }
    return SetOutputs(frame, x, slices, found);
  }

 private:
  static ms::Status FindElements(const ms::View& x, const ms::View& places, Found* found) {
    if constexpr (std::is_same_v<Key, Bits>) {
      if (FindIntegers(x, places, found)) return ms::Status();
    }
    PlacesOfKeys<Key> known(x.size());
    for (int64_t i = 0; i < x.size(); ++i) {
      Key key{};
      MS_TRY(ReadKey(x, i, &key));
      found->Add(places, i, known.Find(key));
    }
    return ms::Status();
  }

  static ms::Status FindRows(const ms::View& x, const Slices& slices, const ms::View& places,
                             Found* found) {
    std::unordered_map<std::string, int64_t> known;
    for (int64_t i = 0; i < slices.count; ++i) {
      std::string text;
      bool is_unique = false;
      for (int64_t part = 0; part < slices.outer; ++part) {
        for (int64_t k = 0; k < slices.inner; ++k) {
          Key key{};
          MS_TRY(ReadKey(x, slices.Start(part, i) + k, &key));
          AppendKey(key, &text, &is_unique);
        }
      }
      const auto size = static_cast<int64_t>(found->first.size());
      const int64_t place = is_unique ? size : known.emplace(std::move(text), size).first->second;
      found->Add(places, i, place);
    }
    return ms::Status();
  }

  static ms::Status SetOutputs(ms::Frame& frame, const ms::View& x, const Slices& slices,
                               const Found& found) {
    const auto kept = static_cast<int64_t>(found.first.size());
    ms::Shape shape = x.shape();
    shape[slices.axis] = kept;
    ms::View y;
    MS_TRY(frame.Output(0, shape, &y));
    for (int64_t part = 0; part < slices.outer; ++part) {
      for (int64_t k = 0; k < kept; ++k) {
        const int64_t from = slices.Start(part, found.first[static_cast<size_t>(k)]);
        MS_TRY(CopyElements(x, from, y, (part * kept + k) * slices.inner, slices.inner));
      }
    }
    if (frame.num_outputs() < 3) return ms::Status();
    ms::View counts;
    MS_TRY(frame.Output(2, ms::Shape{kept}, &counts));
    for (int64_t k = 0; k < kept; ++k) SetIndex(counts, k, found.count[static_cast<size_t>(k)]);
    return ms::Status();
  }
};

// Inputs: x, y, vectors. Outputs: the elements of x that y lacks, and their places in x.
template <typename Key>
class ListDiff {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    places_ = info.output_dtype(1);
    return ms::Status();
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View x = frame.input(0);
    const ms::View y = frame.input(1);
    for (uint32_t i = 0; i < 2; ++i) {
      if (frame.input(i).rank() == 1) continue;
      return ms::InvalidArgument(i == 0 ? "x" : "y", " must be a vector, but has shape ",
                                 frame.input(i).shape().ToString());
    }
    MS_TRY(CheckPlacesFit(x, x.size(), places_));
    std::unordered_set<Key> taken;
    taken.reserve(static_cast<size_t>(y.size()));
    Key key{};
    for (int64_t i = 0; i < y.size(); ++i) {
      MS_TRY(ReadKey(y, i, &key));
      taken.insert(key);
    }
    std::vector<int64_t> kept;
    for (int64_t i = 0; i < x.size(); ++i) {
      MS_TRY(ReadKey(x, i, &key));
      if (taken.find(key) == taken.end()) kept.push_back(i);
    }
    const ms::Shape shape{static_cast<int64_t>(kept.size())};
    ms::View out;
    ms::View places;
    MS_TRY(frame.Output(0, shape, &out));
    MS_TRY(frame.Output(1, shape, &places));
    for (int64_t k = 0; k < shape[0]; ++k) {
      MS_TRY(CopyElements(x, kept[static_cast<size_t>(k)], out, k, 1));
      SetIndex(places, k, kept[static_cast<size_t>(k)]);
    }
    return ms::Status();
  }

 private:
  MS_DType places_ = MS_INT32;
};

template <typename Key>
ms::Registered RegisterKeyed(const std::vector<MS_DType>& dtypes) {
  const auto options = [&] {
    return ms::KernelOptions().Types("T", dtypes).Types("out_idx", IndexTypes());
  };
  ms::Register<Unique<Key>>("Unique", options());
  ms::Register<Unique<Key>>("UniqueWithCounts", options());
  ms::Register<Unique<Key>>("UniqueV2", options().HostArg("axis"));
  ms::Register<Unique<Key>>("UniqueWithCountsV2", options().HostArg("axis"));
  return ms::Register<ListDiff<Key>>("ListDiff", options());
}

const ms::Registered texts = RegisterKeyed<Texts>({MS_STRING});
const ms::Registered values =
    RegisterKeyed<Values>({MS_FLOAT32, MS_FLOAT64, MS_FLOAT16, MS_BFLOAT16});
const ms::Registered bits = RegisterKeyed<Bits>(
    {MS_INT8, MS_INT16, MS_INT32, MS_INT64, MS_UINT8, MS_UINT16, MS_UINT32, MS_UINT64, MS_BOOL});

}  // namespace
}  // namespace millstream::kernels
