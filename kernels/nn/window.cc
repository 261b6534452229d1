#include "kernels/nn/window.h"

#include <algorithm>
#include <limits>
#include <string>

namespace millstream::kernels {
namespace {

ms::Status InitExplicitPadding(const ms::KernelInfo& info, WindowAttributes* window) {
  std::vector<int64_t> pads;
  MS_TRY(info.Attr("explicit_paddings", &pads));
  if (pads.size() != 8) {
    return ms::InvalidArgument("explicit_paddings must have 8 entries with padding EXPLICIT, not ",
                               pads.size());
  }
  for (int64_t pad : pads) {
    if (pad < 0 || pad > std::numeric_limits<int32_t>::max()) {
      return ms::InvalidArgument("explicit_paddings has the entry ", pad,
                                 ", which is negative or too large");
    }
  }
  const uint32_t channel = window->ChannelDim();
  if (pads[0] != 0 || pads[1] != 0 || pads[2 * channel] != 0 || pads[2 * channel + 1] != 0) {
    return ms::InvalidArgument("explicit_paddings must be 0 for batch and channels");
  }
  for (uint32_t i = 0; i < 2; ++i) {
    window->explicit_before[i] = pads[2 * window->SpatialDim(i)];
    window->explicit_after[i] = pads[2 * window->SpatialDim(i) + 1];
  }
  return ms::Status();
}

}  // namespace

ms::Status InitPlane(const ms::KernelInfo& info, std::string_view name, bool channels_first,
                     Plane* plane) {
  std::vector<int64_t> entries;
  MS_TRY(info.Attr(name, &entries));
  if (entries.size() != 4) {
    return ms::InvalidArgument(name, " must have 4 entries, not ", entries.size());
  }
  for (int64_t entry : entries) {
    if (entry <= 0 || entry > std::numeric_limits<int32_t>::max()) {
      return ms::InvalidArgument(name, " has the entry ", entry,
                                 ", expected a positive 32-bit integer");
    }
  }
  const int64_t channels = entries[channels_first ? 1 : 3];
  if (entries[0] != 1) {
    return ms::Unimplemented(name, " must be 1 for the batch, not ", entries[0]);
  }
  if (channels != 1) {
    return ms::Unimplemented(name, " must be 1 for the channels, not ", channels);
  }
  for (uint32_t i = 0; i < 2; ++i) (*plane)[i] = entries[(channels_first ? 2 : 1) + i];
  return ms::Status();
}

ms::Status InitWindow(const ms::KernelInfo& info, WindowAttributes* window) {
  std::string format;
  MS_TRY(info.Attr("data_format", &format));
  if (format != "NHWC" && format != "NCHW") {
    return ms::Unimplemented("data_format must be NHWC or NCHW here, not ", format);
  }
  window->channels_first = format == "NCHW";
  MS_TRY(InitPlane(info, "strides", window->channels_first, &window->strides));

  MS_TRY(InitPadding(info, &window->padding));
  if (window->padding != Padding::kExplicit) return ms::Status();
  return InitExplicitPadding(info, window);
}

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

ms::Status FitWindow(const WindowAttributes& window, uint32_t i, int64_t input, int64_t extent,
                     WindowFit* fit) {
  fit->before = window.explicit_before[i];
  fit->after = window.explicit_after[i];
  return FitWindow(window.padding, window.strides[i], input, extent, kPlaneNames[i], fit);
}

}  // namespace millstream::kernels
