// DataFormatDimMap and DataFormatVecPermute: from one order of the dimensions of images to another.
#include <array>
#include <cstdint>
#include <string>

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

template <typename T>
class DataFormatDimMap {
 public:
  ms::Status Init(const ms::KernelInfo& info) { return InitOrder(info, &order_); }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View x = frame.input(0);
    ms::View y;
    MS_TRY(frame.Output(0, x.shape(), &y));
    const int64_t size = x.size();
    for (int64_t i = 0; i < size; ++i) {
      const T dim = x.data<T>()[i];
      if (dim < -4 || dim >= 4) {
        return ms::InvalidArgument("x has the dimension ", dim, ", expected one in [-4, 4)");
      }
      y.data<T>()[i] = static_cast<T>(order_[dim < 0 ? dim + 4 : dim]);
    }
    return ms::Status();
  }

 private:
  std::array<uint32_t, 4> order_ = {};
};

// x has 4 numbers, or 4 pairs.
template <typename T>
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
    const uint32_t width = pairs ? 2 : 1;
    for (uint32_t i = 0; i < 4; ++i) {
      for (uint32_t j = 0; j < width; ++j) {
        y.data<T>()[order_[i] * width + j] = x.data<T>()[i * width + j];
      }
    }
    return ms::Status();
  }

 private:
  std::array<uint32_t, 4> order_ = {};
};

const ms::Registered dim_map =
    ms::RegisterForTypes<DataFormatDimMap, int32_t, int64_t>("DataFormatDimMap", "T");
const ms::Registered vec_permute =
    ms::RegisterForTypes<DataFormatVecPermute, int32_t, int64_t>("DataFormatVecPermute", "T");

}  // namespace
}  // namespace millstream::kernels
