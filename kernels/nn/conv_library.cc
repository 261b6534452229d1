#include "kernels/nn/conv_library.h"

#include <cstring>
#include <dnnl.hpp>

#include "kernels/matmul/library_engine.h"
#include "kernels/matmul/library_primitive.h"
#include "kernels/matmul/library_threads.h"

namespace millstream::kernels {
namespace {

using Tag = dnnl::memory::format_tag;

constexpr auto kFloat = dnnl::memory::data_type::f32;
constexpr auto kAlgorithm = dnnl::algorithm::convolution_direct;

uint64_t AlignUp(uint64_t bytes) { return (bytes + 63) / 64 * 64; }

// `dims` are those of a filter in the library's words, with groups when there are several.
dnnl::memory::desc PlainFilter(const ConvShape& shape, const dnnl::memory::dims& dims,
                               FilterChannels channels) {
  const int64_t in = shape.in_channels / shape.groups;
  const int64_t out = shape.out_channels / shape.groups;
  const bool exchanged = channels == FilterChannels::kExchanged;
  const int64_t inner = exchanged ? in : out;  // of one group
  dnnl::memory::dims strides = {exchanged ? inner * shape.groups : 1,
                                exchanged ? 1 : inner * shape.groups};
  int64_t step = shape.in_channels * out * Product(shape.filter);
  for (uint32_t i = 0; i < shape.dims; ++i) strides.push_back(step /= shape.filter[i]);
  if (shape.groups > 1) strides.insert(strides.begin(), inner);
  return dnnl::memory::desc(dims, kFloat, strides);
}

// The numbers of the spatial dimensions that there are.
dnnl::memory::dims Spatial(const ConvShape& shape, const Extents& extents) {
  return {extents.begin(), extents.begin() + shape.dims};
}

// A tensor's dimensions in the library's order: `outer`, then the spatial ones.
dnnl::memory::dims WithSpatial(const ConvShape& shape, dnnl::memory::dims outer,
                               const Extents& extents) {
  outer.insert(outer.end(), extents.begin(), extents.begin() + shape.dims);
  return outer;
}

// A problem in the library's words: dimensions are batch, channels and then the spatial ones,
// whatever the layout, and a dilation of 0 is none.
struct Problem {
  Problem(const ConvShape& shape, FilterChannels channels)
      : strides(Spatial(shape, shape.stride)),
        dilations(Spatial(shape, shape.dilation)),
        before(Spatial(shape, shape.before)),
        after(Spatial(shape, shape.after)) {
    for (int64_t& dilation : dilations) --dilation;
    const Tag images = shape.channels_first ? Tag::nchw : Tag::nhwc;
    const Tag volumes = shape.channels_first ? Tag::ncdhw : Tag::ndhwc;
    const Tag layout = shape.dims == 3 ? volumes : images;
    input = dnnl::memory::desc(WithSpatial(shape, {shape.batch, shape.in_channels}, shape.input),
                               kFloat, layout);
    output = dnnl::memory::desc(WithSpatial(shape, {shape.batch, shape.out_channels}, shape.output),
                                kFloat, layout);
    const int64_t in = shape.in_channels / shape.groups;
    const int64_t out = shape.out_channels / shape.groups;
    dnnl::memory::dims filter_dims = WithSpatial(shape, {out, in}, shape.filter);
    if (shape.groups > 1) filter_dims.insert(filter_dims.begin(), shape.groups);
    plain_filter = PlainFilter(shape, filter_dims, channels);
    any_filter = dnnl::memory::desc(filter_dims, kFloat, Tag::any);
  }

  dnnl::memory::desc input;
  dnnl::memory::desc output;
  dnnl::memory::desc plain_filter;
  dnnl::memory::desc any_filter;
  dnnl::memory::dims strides;
  dnnl::memory::dims dilations;
  dnnl::memory::dims before;
  dnnl::memory::dims after;
};

dnnl::primitive_attr Attributes() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

using ForwardDesc = dnnl::convolution_forward::primitive_desc;
using BackwardDataDesc = dnnl::convolution_backward_data::primitive_desc;
using BackwardWeightsDesc = dnnl::convolution_backward_weights::primitive_desc;

ForwardDesc MakeForward(const Problem& p) {
  return ForwardDesc({dnnl::prop_kind::forward_training, kAlgorithm, p.input, p.any_filter,
                      p.output, p.strides, p.dilations, p.before, p.after},
                     Attributes(), LibraryEngine());
}

}  // namespace

bool HasFastForwardConvolution(const ConvShape& shape, int threads) {
  LibraryThreads team(threads);
  const ForwardDesc desc = MakeForward(Problem(shape, FilterChannels::kInOut));
  return std::strncmp(desc.impl_info_str(), "brg", 3) == 0;
}

struct LibraryConvolution::Parts {
  Parts(const ConvShape& shape, ConvDirection conv_direction, FilterChannels channels)
      : direction(conv_direction), problem(shape, channels) {
    const ForwardDesc forward = MakeForward(problem);
    const Problem& p = problem;
    switch (direction) {
      case ConvDirection::kForward:
        primitive = LibraryPrimitive(forward);
        library_filter = forward.weights_desc();
        scratchpad = forward.scratchpad_desc();
        break;
      case ConvDirection::kBackwardInput: {
        const BackwardDataDesc desc({kAlgorithm, p.input, p.any_filter, p.output, p.strides,
                                     p.dilations, p.before, p.after},
                                    Attributes(), LibraryEngine(), forward);
        primitive = LibraryPrimitive(desc);
        library_filter = desc.weights_desc();
        scratchpad = desc.scratchpad_desc();
        break;
      }
      case ConvDirection::kBackwardFilter: {
        const BackwardWeightsDesc desc({kAlgorithm, p.input, p.any_filter, p.output, p.strides,
                                        p.dilations, p.before, p.after},
                                       Attributes(), LibraryEngine(), forward);
        primitive = LibraryPrimitive(desc);
        library_filter = desc.diff_weights_desc();
        scratchpad = desc.scratchpad_desc();
        break;
      }
    }
    if (library_filter == problem.plain_filter) return;
    const bool to_plain = direction == ConvDirection::kBackwardFilter;
    const auto& from = to_plain ? library_filter : problem.plain_filter;
    const auto& to = to_plain ? problem.plain_filter : library_filter;
    reorder =
        LibraryPrimitive(dnnl::reorder::primitive_desc(LibraryEngine(), from, LibraryEngine(), to));
  }

  bool reorders() const { return static_cast<bool>(reorder); }
  uint64_t filter_offset() const { return AlignUp(scratchpad.get_size()); }

  ConvDirection direction;
  Problem problem;
  LibraryPrimitive primitive;
  LibraryPrimitive reorder;  // empty when the library takes the plain layout
  dnnl::memory::desc library_filter;
  dnnl::memory::desc scratchpad;
  dnnl::memory kept_filter;  // empty when the filter may change, or needs no reordering
};

LibraryConvolution::LibraryConvolution(const ConvShape& shape, ConvDirection direction, int threads,
                                       FilterChannels channels)
    : threads_(threads) {
  LibraryThreads team(threads_);
  parts_ = std::make_unique<Parts>(shape, direction, channels);
}

LibraryConvolution::~LibraryConvolution() = default;

void LibraryConvolution::Prepare() const {
  LibraryThreads team(threads_);
  parts_->primitive.Prepare();
  if (parts_->reorders() && !parts_->kept_filter) parts_->reorder.Prepare();
}

void LibraryConvolution::KeepWeights(const float* filter, const LibraryConvolution* other) {
  if (!parts_->reorders()) return;
  if (other != nullptr && other->parts_->kept_filter &&
      other->parts_->library_filter == parts_->library_filter) {
    parts_->kept_filter = other->parts_->kept_filter;
    return;
  }
  LibraryThreads team(threads_);
  dnnl::stream stream(LibraryEngine());
  dnnl::memory plain = LibraryMemory(parts_->problem.plain_filter, filter);
  parts_->kept_filter = dnnl::memory(parts_->library_filter, LibraryEngine());
  parts_->reorder.Execute(stream, {{DNNL_ARG_FROM, plain}, {DNNL_ARG_TO, parts_->kept_filter}});
  stream.wait();
}

uint64_t LibraryConvolution::scratch_bytes() const {
  const bool needs_filter = parts_->reorders() && !parts_->kept_filter;
  return parts_->filter_offset() + (needs_filter ? parts_->library_filter.get_size() : 0);
}

void LibraryConvolution::Run(const float* input, const float* filter, const float* output,
                             void* scratch) const {
  const Parts& parts = *parts_;
  LibraryThreads team(threads_);
  dnnl::stream stream(LibraryEngine());
  dnnl::memory input_memory = LibraryMemory(parts.problem.input, input);
  dnnl::memory output_memory = LibraryMemory(parts.problem.output, output);
  dnnl::memory plain_filter = LibraryMemory(parts.problem.plain_filter, filter);
  dnnl::memory library_filter = plain_filter;
  if (parts.kept_filter) {
    library_filter = parts.kept_filter;
  } else if (parts.reorders()) {
    library_filter =
        LibraryMemory(parts.library_filter, static_cast<char*>(scratch) + parts.filter_offset());
  }

  const bool forward = parts.direction == ConvDirection::kForward;
  const bool to_filter = parts.direction == ConvDirection::kBackwardFilter;
  const bool to_input = parts.direction == ConvDirection::kBackwardInput;
  if (parts.reorders() && !parts.kept_filter && !to_filter) {
    parts.reorder.Execute(stream, {{DNNL_ARG_FROM, plain_filter}, {DNNL_ARG_TO, library_filter}});
  }
  parts.primitive.Execute(stream,
                          {{to_input ? DNNL_ARG_DIFF_SRC : DNNL_ARG_SRC, input_memory},
                           {to_filter ? DNNL_ARG_DIFF_WEIGHTS : DNNL_ARG_WEIGHTS, library_filter},
                           {forward ? DNNL_ARG_DST : DNNL_ARG_DIFF_DST, output_memory},
                           {DNNL_ARG_SCRATCHPAD, LibraryMemory(parts.scratchpad, scratch)}});
  if (parts.reorders() && to_filter) {
    parts.reorder.Execute(stream, {{DNNL_ARG_FROM, library_filter}, {DNNL_ARG_TO, plain_filter}});
  }
  stream.wait();
}

}  // namespace millstream::kernels
