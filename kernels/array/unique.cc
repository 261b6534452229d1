// Unique.
#include <cstdint>
#include <limits>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "framework/plugin/plugin.hpp"
#include "kernels/array/indices.h"
#include "kernels/array/strings.h"
#include "kernels/common/narrow_float.h"

namespace millstream::kernels {
namespace {

// Input: x, a vector. Outputs: its different elements in the order of their first places, and for
// each element of x its place among them. Strings when T is std::string_view.
template <typename T, typename Index>
class Unique {
  using Key = ComputeTypeOf<T>;

 public:
  ms::Status Compute(ms::Frame& frame) const {
    const ms::View x = frame.input(0);
    if (x.rank() != 1) {
      return ms::InvalidArgument("x must be a vector, but has shape ", x.shape().ToString());
    }
    if (x.dim(0) > std::numeric_limits<Index>::max()) {
      return ms::InvalidArgument("x has ", x.dim(0), " elements, whose places out_idx cannot hold");
    }
    ms::View places;
    MS_TRY(frame.Output(1, x.shape(), &places));
    std::vector<int64_t> first;  // where each different element comes first
    MS_TRY(FindPlaces(x, places.data<Index>(), &first));
    ms::View y;
    MS_TRY(frame.Output(0, ms::Shape{static_cast<int64_t>(first.size())}, &y));
    for (size_t i = 0; i < first.size(); ++i) {
      if constexpr (std::is_same_v<T, std::string_view>) {
        MS_TRY(CopyString(x, first[i], y, static_cast<int64_t>(i)));
      } else {
        y.data<T>()[i] = x.data<T>()[first[i]];
      }
    }
    return ms::Status();
  }

 private:
  static ms::Status FindPlaces(const ms::View& x, Index* places, std::vector<int64_t>* first) {
    std::unordered_map<Key, Index> known;
    known.reserve(static_cast<size_t>(x.dim(0)));
    for (int64_t i = 0; i < x.dim(0); ++i) {
      Key key{};
      if constexpr (std::is_same_v<T, std::string_view>) {
        MS_TRY(x.GetString(i, &key));
      } else {
        key = x.data<T>()[i];
      }
      const auto [entry, is_new] = known.emplace(key, static_cast<Index>(first->size()));
      if (is_new) first->push_back(i);
      places[i] = entry->second;
    }
    return ms::Status();
  }
};

template <typename T>
void RegisterUnique(MS_DType dtype) {
  const ms::KernelOptions options = ms::KernelOptions().Types("T", {dtype});
  ms::Register<Unique<T, int32_t>>("Unique", ms::KernelOptions(options).Type<int32_t>("out_idx"));
  ms::Register<Unique<T, int64_t>>("Unique", ms::KernelOptions(options).Type<int64_t>("out_idx"));
}

template <typename... Ts>
ms::Registered RegisterNumbers() {
  (RegisterUnique<Ts>(ms::DTypeOf<Ts>()), ...);
  return ms::Registered();
}

ms::Registered RegisterStrings() {
  RegisterUnique<std::string_view>(MS_STRING);
  return ms::Registered();
}

const ms::Registered numbers =
    RegisterNumbers<float, double, Float16, BFloat16, int8_t, int16_t, int32_t, int64_t, uint8_t,
                    uint16_t, uint32_t, uint64_t, bool>();
const ms::Registered strings = RegisterStrings();

}  // namespace
}  // namespace millstream::kernels
