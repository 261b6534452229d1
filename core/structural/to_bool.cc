// _ToBool: whether the condition of a functional If or While is true.
#include <cstddef>
#include <cstdint>
#include <string>

#include "core/structural/host_kernel.h"

namespace millstream {
namespace {

// True unless all bits of a number, or of both parts of a complex one, are zero, where the sign of
// floating-point numbers does not count. So a NaN is true.
bool IsNotZero(const Tensor& scalar) {
  const DataType dtype = scalar.dtype();
  const size_t size = DataTypeSize(dtype);
  const size_t part = IsComplex(dtype) ? size / 2 : size;
  const bool has_sign = IsComplex(dtype) || IsFloating(dtype);
  const auto* bytes = static_cast<const uint8_t*>(scalar.raw());
  for (size_t i = 0; i < size; ++i) {
    const bool is_last = i % part == part - 1;
    if ((bytes[i] & (has_sign && is_last ? 0x7f : 0xff)) != 0) return true;
  }
  return false;
}

class ToBoolKernel final : public SyncHostKernel {
 public:
  Status Compute(StructuralFrame* frame) override {
    MS_ASSIGN_OR_RETURN(const Tensor output, frame->AllocateOutput(0, Shape()));
    MS_ASSIGN_OR_RETURN(*output.data<bool>(), IsTrue(frame));
    return absl::OkStatus();
  }

 private:
  static StatusOr<bool> IsTrue(StructuralFrame* frame) {
    const Shape shape = frame->input_shape(0);
    if (shape.rank() > 0) return shape.num_elements() > 0;
    const Tensor input = frame->BorrowInput(0);
    if (input.dtype() == DataType::kString) return !input.data<std::string>()->empty();
    if (input.dtype() == DataType::kResource || input.dtype() == DataType::kVariant) {
      return errors::InvalidArgument(
          "argument 'input' expected numbers, truth values or texts, got ",
          DataTypeName(input.dtype()));
    }
    return IsNotZero(input);
  }
};
MILLSTREAM_HOST_KERNEL("_ToBool", ToBoolKernel);

}  // namespace
}  // namespace millstream
