#include "kernels/nn/largest_elements.h"

#include "kernels/common/narrow_float.h"
#include "kernels/common/type_table.h"

namespace millstream::kernels {
namespace {

template <typename T>
void FindLargestIn(const void* input, int64_t corner, const WindowWalk& window, int64_t count,
                   int64_t* places) {
  const T* const x = static_cast<const T*>(input);
  std::fill_n(places, count, -1);
  const int64_t* const offsets = window.offsets();
  for (int64_t pixel = 0; pixel < window.num_pixels(); ++pixel) {
    const int64_t first = corner + offsets[pixel];
    for (int64_t c = 0; c < count; ++c) {
      const int64_t at = first + c;
      int64_t& place = places[c];
      // A NaN is larger than nothing, and so never found.
      const bool larger = place < 0 ? x[at] == x[at] : x[at] > x[place];
      if (larger) place = at;
    }
  }
}

template <typename Bits>
void Gather(const void* from, const int64_t* places, int64_t count, void* to, int64_t begin) {
  const Bits* const source = static_cast<const Bits*>(from);
  Bits* const target = static_cast<Bits*>(to) + begin;
  for (int64_t i = 0; i < count; ++i) target[i] = places[i] < 0 ? Bits(0) : source[places[i]];
}

template <typename T>
void Add(const void* from, int64_t begin, const int64_t* places, int64_t count, void* to) {
  const T* const source = static_cast<const T*>(from) + begin;
  T* const target = static_cast<T*>(to);
  for (int64_t i = 0; i < count; ++i) {
    if (places[i] >= 0) target[places[i]] = static_cast<T>(target[places[i]] + source[i]);
  }
}

struct AddLoop {
  MS_DType dtype;
  AddElements add;
};
constexpr AddLoop kAddLoops[] = {{MS_FLOAT32, &Add<float>},   {MS_FLOAT64, &Add<double>},
                                 {MS_UINT8, &Add<uint8_t>},   {MS_UINT16, &Add<uint16_t>},
                                 {MS_UINT32, &Add<uint32_t>}, {MS_UINT64, &Add<uint64_t>}};

}  // namespace

FindLargest FindLargestOf(MS_DType dtype) {
  switch (dtype) {
    case MS_FLOAT32: return &FindLargestIn<float>;
    case MS_FLOAT64: return &FindLargestIn<double>;
    case MS_FLOAT16: return &FindLargestIn<Float16>;
    case MS_BFLOAT16: return &FindLargestIn<BFloat16>;
    case MS_INT8: return &FindLargestIn<int8_t>;
    case MS_INT16: return &FindLargestIn<int16_t>;
    case MS_INT32: return &FindLargestIn<int32_t>;
    case MS_INT64: return &FindLargestIn<int64_t>;
    case MS_UINT8: return &FindLargestIn<uint8_t>;
    case MS_UINT16: return &FindLargestIn<uint16_t>;
    case MS_UINT32: return &FindLargestIn<uint32_t>;
    case MS_UINT64: return &FindLargestIn<uint64_t>;
    default: return nullptr;
  }
}

GatherElements GatherElementsOf(uint64_t element_size) {
  switch (element_size) {
    case 1: return &Gather<uint8_t>;
    case 2: return &Gather<uint16_t>;
    case 4: return &Gather<uint32_t>;
    default: return &Gather<uint64_t>;
  }
}

AddElements AddElementsOf(MS_DType dtype) {
  const TypeTable<AddLoop> table = {kAddLoops, std::size(kAddLoops)};
  if (NarrowFormatOf(dtype) != nullptr) return nullptr;
  const AddLoop* const loop = table.Find(dtype);
  return loop == nullptr ? nullptr : loop->add;
}

}  // namespace millstream::kernels
