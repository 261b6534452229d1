#include "framework/ops/pool_windows.h"

#include <optional>
#include <string>
#include <utility>

#include "framework/ops/index_values.h"
#include "framework/ops/op_errors.h"

namespace millstream {
namespace {

// A list of one number a dimension: attribute `name`, or an input.
struct WindowList {
  std::string name;  // for messages
  std::optional<std::vector<int64_t>> values;
};

StatusOr<WindowList> ListFromAttr(const ShapeContext& context, absl::string_view name) {
  MS_ASSIGN_OR_RETURN(std::vector<int64_t> values, context.Attr<std::vector<int64_t>>(name));
  return WindowList{absl::StrCat("attribute '", name, "' of ", context.op().name),
                    std::move(values)};
}

StatusOr<WindowList> ListFromInput(const ShapeContext& context, int i, int rank) {
  MS_ASSIGN_OR_RETURN(const PartialShape shape, context.WithRank(i, 1));
  if (shape.dim(0) != kUnknownDim && shape.dim(0) != rank) {
    return InvalidInput(context, i, "expected ", rank, " values, got ", shape.dim(0));
  }
  return WindowList{ArgumentName(context, i), KnownIndexElements(context, i)};
}

Status CheckList(const WindowList& list, int rank) {
  if (!list.values.has_value()) return absl::OkStatus();
  if (static_cast<int>(list.values->size()) != rank) {
    return errors::InvalidArgument(list.name, ": expected ", rank, " values, got ",
                                   list.values->size());
  }
  for (const int64_t value : *list.values) {
    if (value >= 1) continue;
    return errors::InvalidArgument(list.name, ": expected values above 0, got ", value);
  }
  if (list.values->front() == 1) return absl::OkStatus();
  return errors::Unimplemented(list.name, ": pooling over the batch is not implemented");
}

// Windows lie over space or over channels.
Status CheckChannels(const PoolWindows& windows, const WindowList& ksize,
                     const WindowList& strides) {
  const Window& channels = windows.along[windows.channels];
  if (channels.size != channels.stride) {
    return errors::Unimplemented(strides.name,
                                 ": channels are pooled in strides of the window's size only");
  }
  if (channels.size == 1) return absl::OkStatus();
  for (int i = 0; i < windows.rank; ++i) {
    if (i == windows.channels || (windows.along[i].size == 1 && windows.along[i].stride == 1)) {
      continue;
    }
    return errors::Unimplemented(ksize.name,
                                 ": pooling over image and channels at once is not implemented");
  }
  return absl::OkStatus();
}

// Fills in rank and channels.
Status ReadFormat(const ShapeContext& context, PoolWindows* windows) {
  if (FindAttr(context.attrs(), "data_format") == nullptr) return absl::OkStatus();
  MS_ASSIGN_OR_RETURN(const std::string format, context.Attr<std::string>("data_format"));
  if (format == "NCHW_VECT_C") {
    return errors::Unimplemented("attribute 'data_format' of ", context.op().name,
                                 ": images in the order NCHW_VECT_C are not implemented");
  }
  if (format != "NHWC" && format != "NCHW" && format != "NDHWC" && format != "NCDHW") {
    return InvalidAttr(context, "data_format", "expected an order of dimensions, got ", format);
  }
  windows->rank = static_cast<int>(format.size());
  windows->channels = static_cast<int>(format.find('C'));
  return absl::OkStatus();
}

// What dimension i is called, for messages.
const char* DimName(const PoolWindows& windows, int i) {
  static constexpr const char* kNames[] = {"depth", "height", "width"};
  const int spatial = i - (windows.channels == 1 ? 2 : 1);
  return kNames[spatial + (windows.rank == kImageRank ? 1 : 0)];
}

}  // namespace

StatusOr<PoolWindows> PoolWindowsOf(const ShapeContext& context) {
  PoolWindows windows;
  MS_RETURN_IF_ERROR(ReadFormat(context, &windows));
  MS_ASSIGN_OR_RETURN(windows.padding, PaddingAttr(context));
  const bool from_attrs = FindAttr(context.attrs(), "ksize") != nullptr;
  const int last = context.num_inputs() - 1;
  MS_ASSIGN_OR_RETURN(const WindowList ksize, from_attrs
                                                  ? ListFromAttr(context, "ksize")
                                                  : ListFromInput(context, last - 1, windows.rank));
  MS_ASSIGN_OR_RETURN(const WindowList strides, from_attrs
                                                    ? ListFromAttr(context, "strides")
                                                    : ListFromInput(context, last, windows.rank));
  MS_RETURN_IF_ERROR(CheckList(ksize, windows.rank));
  MS_RETURN_IF_ERROR(CheckList(strides, windows.rank));
  if (!ksize.values.has_value() || !strides.values.has_value()) return windows;
  for (int i = 0; i < windows.rank; ++i) {
    windows.along.push_back({(*ksize.values)[i], (*strides.values)[i]});
  }
  MS_RETURN_IF_ERROR(CheckChannels(windows, ksize, strides));
  return windows;
}

StatusOr<PartialShape> PooledShape(const PoolWindows& windows, const PartialShape& input) {
  PartialShape output = input;
  const int64_t channels = input.dim(windows.channels);
  for (int i = 1; i < windows.rank; ++i) {
    if (windows.along.empty()) {
      output.set_dim(i, kUnknownDim);
      continue;
    }
    if (i == windows.channels) continue;
    const StatusOr<int64_t> size = WindowedSize(input.dim(i), windows.along[i], windows.padding);
    if (!size.ok()) return WithContext(size.status(), DimName(windows, i));
    output.set_dim(i, *size);
  }
  if (windows.along.empty() || channels == kUnknownDim) return output;
  const int64_t depth = windows.along[windows.channels].size;
  if (channels % depth != 0) {
    return errors::Unimplemented("pooling ", channels, " channels by ", depth,
                                 ", which does not divide them, is not implemented");
  }
  output.set_dim(windows.channels, channels / depth);
  return output;
}

}  // namespace millstream
