#include "kernels/nn/pool_shape.h"

#include <limits>
#include <string>

namespace millstream::kernels {
namespace {

ms::Status CheckEntries(const char* name, const std::vector<int64_t>& entries, uint32_t rank) {
  if (entries.size() != rank) {
    return ms::InvalidArgument(name, " must have ", rank, " entries, not ", entries.size());
  }
  for (int64_t entry : entries) {
    if (entry <= 0 || entry > std::numeric_limits<int32_t>::max()) {
      return ms::InvalidArgument(name, " has the entry ", entry,
                                 ", expected a positive 32-bit integer");
    }
  }
  if (entries[0] == 1) return ms::Status();
  return ms::Unimplemented(name, " must be 1 for the batch, not ", entries[0]);
}

}  // namespace

Span PoolShape::FirstSeenBy(int64_t o) const {
  const bool disjoint = HasDisjointRows();
  Span rows;
  if (o > 0) rows.begin = disjoint ? Window(0, o).begin : Window(0, o - 1).end;
  rows.end = o + 1 == output[0] ? input[0] : disjoint ? Window(0, o + 1).begin : Window(0, o).end;
  return rows;
}

bool PoolShape::IsTiling() const {
  for (uint32_t i = 0; i < 3; ++i) {
    const int64_t covered = output[i] * stride[i] - before[i];
    if (stride[i] != ksize[i] || covered < input[i]) return false;
  }
  return true;
}

uint64_t PoolShape::WindowCost() const {
  int64_t pixels = 1;
  for (uint32_t i = 0; i < 3; ++i) pixels *= std::min(ksize[i], input[i]);
  return static_cast<uint64_t>(pixels * channels) / 4 + 1;
}

ms::Status PoolAttributes::Init(const ms::KernelInfo& info, bool over_depth) {
  over_depth_ = over_depth;
  std::string format = "NHWC";
  if (info.HasAttr("data_format")) MS_TRY(info.Attr("data_format", &format));
  if (format != "NHWC" && format != "NCHW" && format != "NDHWC" && format != "NCDHW") {
    return ms::Unimplemented("data_format must be NHWC, NCHW, NDHWC or NCDHW here, not ", format);
  }
  rank_ = static_cast<uint32_t>(format.size());
  channels_first_ = format[1] == 'C';
  MS_TRY(InitPadding(info, &padding_));
  if (padding_ == Padding::kExplicit) {
    return ms::Unimplemented("padding must be SAME or VALID for pooling, not EXPLICIT");
  }
  from_inputs_ = !info.HasAttr("ksize");
  if (from_inputs_) return ms::Status();
  std::vector<int64_t> ksize;
  std::vector<int64_t> strides;
  MS_TRY(info.Attr("ksize", &ksize));
  MS_TRY(info.Attr("strides", &strides));
  return SetWindows(ksize, strides);
}

ms::Status PoolAttributes::SetWindows(const std::vector<int64_t>& ksize,
                                      const std::vector<int64_t>& strides) {
  MS_TRY(CheckEntries("ksize", ksize, rank_));
  MS_TRY(CheckEntries("strides", strides, rank_));
  const uint32_t channel = channels_first_ ? 1 : rank_ - 1;
  bool over_space = false;
  for (uint32_t i = 0; i < 3; ++i) {
    const int dim = TensorDim(i);
    if (dim < 0) continue;
    ksize_[i] = ksize[dim];
    strides_[i] = strides[dim];
    over_space = over_space || ksize_[i] != 1;
  }
  depth_ = ksize[channel];
  if (depth_ == 1 && strides[channel] == 1) return ms::Status();
  if (!over_depth_) {
    return ms::Unimplemented("ksize and strides must be 1 for the channels, not ", depth_, " and ",
                             strides[channel]);
  }
  if (channels_first_ || over_space) {
    return ms::Unimplemented(
        "ksize: pooling is over height and width or over the channels of NHWC, not both");
  }
  if (depth_ == strides[channel]) return ms::Status();
  return ms::Unimplemented("ksize and strides must be equal for the channels, but are ", depth_,
                           " and ", strides[channel]);
}

ms::Status PoolAttributes::SetWindowsFromInputs(const ms::Frame& frame) {
  std::vector<int64_t> entries[2];
  for (uint32_t i = 0; i < 2; ++i) {
    const ms::View input = frame.input(frame.num_inputs() - 2 + i);
    if (input.rank() != 1) {
      return ms::InvalidArgument(i == 0 ? "ksize" : "strides",
                                 " must be a vector, but its shape is ", input.shape().ToString());
    }
    entries[i].assign(input.data<int32_t>(), input.data<int32_t>() + input.size());
  }
  return SetWindows(entries[0], entries[1]);
}

int PoolAttributes::TensorDim(uint32_t i) const {
  const int first = channels_first_ ? 2 : 1;
  if (rank_ == 5) return first + static_cast<int>(i);
  return i == 1 ? -1 : first + static_cast<int>(i) / 2;
}

ms::Status PoolAttributes::Resolve(const ms::Frame& frame, const ms::Shape& input,
                                   const char* input_name, PoolShape* shape) const {
  if (!from_inputs_) return Fit(input, input_name, shape);
  PoolAttributes given = *this;
  MS_TRY(given.SetWindowsFromInputs(frame));
  return given.Fit(input, input_name, shape);
}

ms::Status PoolAttributes::Fit(const ms::Shape& input, const char* input_name,
                               PoolShape* shape) const {
  static constexpr std::array<const char*, 3> kImageNames = {"height", "", "width"};
  static constexpr std::array<const char*, 3> kVolumeNames = {"depth", "height", "width"};
  if (input.rank() != rank_) {
    return ms::InvalidArgument(input_name, " must have ", rank_, " dimensions, but is ",
                               input.ToString());
  }
  for (int64_t dim : input) {
    if (dim < 0) return ms::InvalidArgument(input_name, " has a negative size: ", input.ToString());
  }
  if (depth_ > 1 && input[rank_ - 1] % depth_ != 0) {
    return ms::Unimplemented("the channels of ", input_name, " ", input.ToString(),
                             " must be a multiple of ksize there, ", depth_);
  }
  shape->output_shape = input;
  if (depth_ > 1) {
    FitOverDepth(input, shape);
    return ms::Status();
  }
  shape->batch = channels_first_ ? input[0] * input[1] : input[0];
  shape->channels = channels_first_ ? 1 : input[rank_ - 1];
  shape->ksize = ksize_;
  shape->stride = strides_;
  for (uint32_t i = 0; i < 3; ++i) {
    const int dim = TensorDim(i);
    shape->input[i] = dim < 0 ? 1 : input[dim];
    WindowFit fit;
    MS_TRY(FitWindow(padding_, strides_[i], shape->input[i], ksize_[i],
                     rank_ == 5 ? kVolumeNames[i] : kImageNames[i], &fit));
    shape->output[i] = fit.output;
    shape->before[i] = fit.before;
    if (dim >= 0) shape->output_shape[dim] = fit.output;
  }
  return ms::Status();
}

void PoolAttributes::FitOverDepth(const ms::Shape& input, PoolShape* shape) const {
  shape->output_shape[rank_ - 1] = input[rank_ - 1] / depth_;
  shape->batch = 1;
  shape->channels = 1;
  shape->input = {1, 1, input.num_elements()};
  shape->output = {1, 1, shape->output_shape.num_elements()};
  shape->ksize = {1, 1, depth_};
  shape->stride = shape->ksize;
}

ms::Status CheckPoolOutput(const PoolShape& shape, const ms::Shape& tensor, const char* name) {
  if (tensor == shape.output_shape) return ms::Status();
  return ms::InvalidArgument(name, " must be ", shape.output_shape.ToString(),
                             ", the shape of the pooling's output, but is ", tensor.ToString());
}

ms::Status CheckPoolInput(const ms::Shape& input, const ms::Shape& tensor, const char* name) {
  if (tensor == input) return ms::Status();
  return ms::InvalidArgument(name, " must be ", input.ToString(),
                             ", the shape of the pooling's input, but is ", tensor.ToString());
}

WindowWalk::WindowWalk(const PoolShape& shape, int64_t first)
    : shape_(shape),
      step_{shape.input[1] * shape.input[2] * shape.channels, shape.input[2] * shape.channels,
            shape.channels} {
  for (uint32_t i = 3; i-- > 0;) {
    place_[i] = first % shape.output[i];
    first /= shape.output[i];
  }
  image_ = first;
  SetRow();
}

void WindowWalk::NextRow() {
  place_[2] = 0;
  if (++place_[1] >= shape_.output[1]) {
    place_[1] = 0;
    if (++place_[0] >= shape_.output[0]) {
      place_[0] = 0;
      ++image_;
    }
  }
  SetRow();
}

void WindowWalk::SetRow() {
  const Span outer = shape_.Window(0, place_[0]);
  const Span middle = shape_.Window(1, place_[1]);
  row_corner_ = shape_.PixelOffset(image_, outer.begin, middle.begin, 0);
  if (outer.size() != size_[0] || middle.size() != size_[1]) {
    size_ = {outer.size(), middle.size(), 0};
  }
  SetInner();
}

void WindowWalk::SetOffsets(int64_t inner_size) {
  size_[2] = inner_size;
  offsets_.clear();
  for (int64_t outer = 0; outer < size_[0]; ++outer) {
    for (int64_t middle = 0; middle < size_[1]; ++middle) {
      for (int64_t inner = 0; inner < inner_size; ++inner) {
        offsets_.push_back(shape_.PixelOffset(0, outer, middle, inner));
      }
    }
  }
}

}  // namespace millstream::kernels
