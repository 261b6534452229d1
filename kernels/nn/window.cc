#include "kernels/nn/window.h"

#include <algorithm>
#include <string>

namespace millstream::kernels {
ms::Status InitPadding(const ms::KernelInfo& info, Padding* padding) {
  std::string name;
  MS_TRY(info.Attr("padding", &name));
  if (name == "SAME") {
    *padding = Padding::kSame;
  } else if (name == "VALID") {
    *padding = Padding::kValid;
  } else if (name == "EXPLICIT") {
    *padding = Padding::kExplicit;
  } else {
    return ms::InvalidArgument("padding must be SAME, VALID or EXPLICIT, not ", name);
  }
  return ms::Status();
}

ms::Status FitWindow(Padding padding, int64_t stride, int64_t input, int64_t extent,
                     const char* dimension, WindowFit* fit) {
  if (padding == Padding::kSame) {
    // As few windows as see every element; what is missing is spread over both ends, the odd one
    // after.
    fit->output = (input + stride - 1) / stride;
    const int64_t padded = std::max<int64_t>(0, (fit->output - 1) * stride + extent - input);
    fit->before = fit->output == 0 ? 0 : padded / 2;
    fit->after = fit->output == 0 ? 0 : padded - padded / 2;
    return ms::Status();
  }
  if (padding == Padding::kValid) fit->before = fit->after = 0;
  const int64_t room = input + fit->before + fit->after - extent + stride;
  if (room < 0) {
    return ms::InvalidArgument("Computed output size would be negative: the window's ", dimension,
                               " is ", extent, " (strides ", stride, "), the padded input's is ",
                               input + fit->before + fit->after);
  }
  fit->output = room / stride;
  return ms::Status();
}

}  // namespace millstream::kernels
