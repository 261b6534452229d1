// Bitcast.
#include <cstdint>
#include <cstring>

#include "framework/plugin/plugin.hpp"
#include "kernels/array/indices.h"

namespace millstream::kernels {
namespace {

// Input: a tensor, whose bytes become elements of another type. Where the types differ in size, the
// last dimension comes or goes.
class Bitcast {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    from_ = static_cast<int64_t>(ms::ElementSize(info.input_dtype(0)));
    to_ = static_cast<int64_t>(ms::ElementSize(info.output_dtype(0)));
    return ms::Status();
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View input = frame.input(0);
    ms::Shape shape = input.shape();
    if (from_ > to_) {
      MS_TRY(CheckRank(shape.rank() + 1));
      shape.Append(from_ / to_);
    } else if (from_ < to_) {
      const uint32_t last = shape.rank() - 1;
      if (shape.rank() == 0 || shape[last] != to_ / from_) {
        return ms::InvalidArgument("the last dimension of input must be ", to_ / from_,
                                   " for elements of attribute type, but it has shape ",
                                   shape.ToString());
      }
      shape = ms::Shape(shape.begin(), last);
    }
    ms::View output;
    MS_TRY(frame.Output(0, shape, &output));
    if (input.size() > 0) std::memcpy(output.raw(), input.raw(), input.size() * from_);
    return ms::Status();
  }

 private:
  int64_t from_ = 1;
  int64_t to_ = 1;
};

std::vector<MS_DType> TypesWithBits() {
  std::vector<MS_DType> types = MovableTypes();
  types.pop_back();  // strings
  return types;
}

const ms::Registered bitcast = ms::Register<Bitcast>(
    "Bitcast", ms::KernelOptions().Types("T", TypesWithBits()).Types("type", TypesWithBits()));

}  // namespace
}  // namespace millstream::kernels
