// Shapes that a node's attribute promises, which a kernel checks.
#ifndef MILLSTREAM_KERNELS_ARRAY_DECLARED_SHAPE_H_
#define MILLSTREAM_KERNELS_ARRAY_DECLARED_SHAPE_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "framework/plugin/plugin.hpp"

namespace millstream::kernels {

// A shape of which sizes (-1) or the rank may be unknown.
class DeclaredShape {
 public:
  ms::Status Init(const ms::KernelInfo& info, std::string_view attr) {
    MS_Dims dims{};
    MS_TRY(ms::Status::FromAbi(
        ms::host_tables.kernel->attr_shape(info.abi(), ms::ToAbi(attr), &dims)));
    rank_is_known_ = dims.rank != MS_UNKNOWN_RANK;
    if (rank_is_known_) dims_.assign(dims.d, dims.d + dims.rank);
    return ms::Status();
  }

  bool Allows(const ms::Shape& shape) const {
    if (!rank_is_known_) return true;
    if (dims_.size() != shape.rank()) return false;
    for (uint32_t i = 0; i < shape.rank(); ++i) {
      if (dims_[i] >= 0 && dims_[i] != shape[i]) return false;
    }
    return true;
  }

 private:
  bool rank_is_known_ = false;
  std::vector<int64_t> dims_;
};

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_ARRAY_DECLARED_SHAPE_H_
