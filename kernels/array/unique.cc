// Unique.
#include <cstdint>
#include <cstring>
#include <limits>
#include <string_view>
#include <type_traits>
#include <unordered_map>
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

// Input: x, a vector. Outputs: its different elements in the order of their first places, and for
// each element of x its place among them.
template <typename Key>
class Unique {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    wide_places_ = info.output_dtype(1) == MS_INT64;
    return ms::Status();
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View x = frame.input(0);
    if (x.rank() != 1) {
      return ms::InvalidArgument("x must be a vector, but has shape ", x.shape().ToString());
    }
    if (!wide_places_ && x.dim(0) > std::numeric_limits<int32_t>::max()) {
      return ms::InvalidArgument("x has ", x.dim(0), " elements, whose places out_idx cannot hold");
    }
    ms::View places;
    MS_TRY(frame.Output(1, x.shape(), &places));
    std::vector<int64_t> first;  // where each different element comes first
    MS_TRY(FindPlaces(x, places, &first));
    ms::View y;
    MS_TRY(frame.Output(0, ms::Shape{static_cast<int64_t>(first.size())}, &y));
    const auto bytes = static_cast<int64_t>(ms::ElementSize(x.dtype()));
    for (size_t i = 0; i < first.size(); ++i) {
      const auto place = static_cast<int64_t>(i);
      if constexpr (std::is_same_v<Key, Texts>) {
        MS_TRY(CopyString(x, first[i], y, place));
      } else {
        std::memcpy(y.data<char>() + place * bytes, x.data<char>() + first[i] * bytes,
                    static_cast<size_t>(bytes));
      }
    }
    return ms::Status();
  }

 private:
  ms::Status FindPlaces(const ms::View& x, const ms::View& places,
                        std::vector<int64_t>* first) const {
    std::unordered_map<Key, int64_t> known;
    known.reserve(static_cast<size_t>(x.dim(0)));
    for (int64_t i = 0; i < x.dim(0); ++i) {
      Key key{};
      MS_TRY(ReadKey(x, i, &key));
      const auto [entry, is_new] = known.emplace(key, static_cast<int64_t>(first->size()));
      if (is_new) first->push_back(i);
      if (wide_places_) {
        places.data<int64_t>()[i] = entry->second;
      } else {
        places.data<int32_t>()[i] = static_cast<int32_t>(entry->second);
      }
    }
    return ms::Status();
  }

  bool wide_places_ = false;
};

template <typename Key>
ms::Registered RegisterUnique(std::vector<MS_DType> dtypes) {
  return ms::Register<Unique<Key>>(
      "Unique", ms::KernelOptions().Types("T", std::move(dtypes)).Types("out_idx", IndexTypes()));
}

const ms::Registered texts = RegisterUnique<Texts>({MS_STRING});
const ms::Registered values =
    RegisterUnique<Values>({MS_FLOAT32, MS_FLOAT64, MS_FLOAT16, MS_BFLOAT16});
const ms::Registered bits = RegisterUnique<Bits>(
    {MS_INT8, MS_INT16, MS_INT32, MS_INT64, MS_UINT8, MS_UINT16, MS_UINT32, MS_UINT64, MS_BOOL});

}  // namespace
}  // namespace millstream::kernels
