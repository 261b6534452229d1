// DataFormatDimMap and DataFormatVecPermute: from one order of the dimensions of images to another.
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "framework/plugin/plugin.hpp"

namespace millstream::kernels {
namespace {

// Where each dimension of the source order is in the destination order.
ms::Status InitOrder(const ms::KernelInfo& info, std::array<uint32_t, 4>* order) {
  std::string from;
  std::string to;
  MS_TRY(info.Attr("src_format", &from));
  MS_TRY(info.Attr("dst_format", &to));
  for (const auto& [name, format] :
       {std::pair("src_format", &from), std::pair("dst_format", &to)}) {
    if (format->size() == 4) continue;
    return ms::InvalidArgument(name, " must have 4 letters, but is ", *format);
  }
  for (uint32_t i = 0; i < 4; ++i) {
    const size_t place = to.find(from[i]);
    if (place == std::string::npos || from.find(from[i]) != i) {
      return ms::InvalidArgument("dst_format must have the letters of src_format, ", from,
                                 ", in any order, but is ", to);
    }
    (*order)[i] = static_cast<uint32_t>(place);
  }
  return ms::Status();
}

class DataFormatDimMap {
 public:
  ms::Status Init(const ms::KernelInfo& info) { return InitOrder(info, &order_); }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View x = frame.input(0);
    ms::View y;
    MS_TRY(frame.Output(0, x.shape(), &y));
    const int64_t size = x.size();
    const bool is_short = x.dtype() == MS_INT32;
    for (int64_t i = 0; i < size; ++i) {
      const int64_t dim = is_short ? x.data<int32_t>()[i] : x.data<int64_t>()[i];
      if (dim < -4 || dim >= 4) {
        return ms::InvalidArgument("x has the dimension ", dim, ", expected one in [-4, 4)");
      }
      const uint32_t place = order_[dim < 0 ? dim + 4 : dim];
      if (is_short) {
        y.data<int32_t>()[i] = static_cast<int32_t>(place);
      } else {
        y.data<int64_t>()[i] = place;
      }
    }
    return ms::Status();
  }

 private:
  std::array<uint32_t, 4> order_ = {};
};

// x has 4 numbers, or 4 pairs.
class DataFormatVecPermute {
 public:
  ms::Status Init(const ms::KernelInfo& info) { return InitOrder(info, &order_); }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View x = frame.input(0);
    const bool pairs = x.rank() == 2 && x.dim(1) == 2;
    if ((x.rank() != 1 && !pairs) || x.dim(0) != 4) {
      return ms::InvalidArgument(
          "x must be a vector of 4 elements or a matrix of 4 pairs, but its "
          "shape is ",
          x.shape().ToString());
    }
    ms::View y;
    MS_TRY(frame.Output(0, x.shape(), &y));
    const uint64_t bytes = x.bytes() / 4;
    for (uint32_t i = 0; i < 4; ++i) {
      std::memcpy(y.data<char>() + order_[i] * bytes, x.data<char>() + i * bytes, bytes);
    }
    return ms::Status();
  }

 private:
  std::array<uint32_t, 4> order_ = {};
};

ms::KernelOptions OfIndices() { return ms::KernelOptions().Types("T", {MS_INT32, MS_INT64}); }

const ms::Registered dim_map = ms::Register<DataFormatDimMap>("DataFormatDimMap", OfIndices());
const ms::Registered vec_permute =
    ms::Register<DataFormatVecPermute>("DataFormatVecPermute", OfIndices());

}  // namespace
}  // namespace millstream::kernels
