// ResourceCountUpTo: a variable that counts steps, and ends a loop of them.
#include <cstdint>
#include <limits>

#include "framework/plugin/plugin.hpp"
#include "kernels/array/indices.h"
#include "kernels/training/variables.h"

namespace millstream::kernels {
namespace {

// Input: resource (a variable, a scalar). The output is the number before it grows by one.
template <typename T>
class CountUpTo {
 public:
  ms::Status Init(const ms::KernelInfo& info) { return info.Attr("limit", &limit_); }

  ms::Status Compute(ms::Frame& frame) const {
    ms::VariableLocks locks;
    MS_TRY(UnassignedIsNotFound(frame.LockVariables({{0, MS_LOCK_WRITE}}, &locks)));
    ms::View variable;
    MS_TRY(UnassignedIsNotFound(locks.Write(0, &variable)));
    MS_TRY(CheckScalar(variable, "resource"));
    const T number = *variable.data<T>();
    if (number >= limit_) return ms::OutOfRange("Reached limit of ", limit_);
    // A limit that is no T is never reached.
    if (number == std::numeric_limits<T>::max()) {
      return ms::OutOfRange("Reached ", number,
                            ", the largest number of its type, below limit = ", limit_);
    }
    ms::View output;
    MS_TRY(frame.Output(0, ms::Shape(), &output));
    *output.data<T>() = number;
    *variable.data<T>() = number + 1;
    return ms::Status();
  }

 private:
  int64_t limit_ = 0;
};

const ms::Registered registered =
    ms::RegisterForTypes<CountUpTo, int32_t, int64_t>("ResourceCountUpTo", "T");

}  // namespace
}  // namespace millstream::kernels
