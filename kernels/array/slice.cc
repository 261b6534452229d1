// Slice, StridedSlice and StridedSliceGrad.
#include <cstdint>

#include "framework/plugin/plugin.hpp"
#include "kernels/array/indices.h"
#include "kernels/array/strided_copy.h"
#include "kernels/array/strided_slice_spec.h"

namespace millstream::kernels {
namespace {

// Inputs: input, begin, size. size[i] = -1 means: to the end.
class Slice {
 public:
  ms::Status Compute(ms::Frame& frame) const {
    const ms::View input = frame.input(0);
    const ms::Shape whole = input.shape();
    ms::Shape begin;
    ms::Shape shape;
    MS_TRY(ReadIndexVector(frame.input(1), "begin", &begin));
    MS_TRY(ReadIndexVector(frame.input(2), "size", &shape));
    MS_TRY(Resolve(whole, begin, &shape));
    ms::View output;
    MS_TRY(frame.Output(0, shape, &output));
    if (output.size() == 0) return ms::Status();

    const ms::Shape source_strides = RowMajorStrides(whole);
    const ms::Shape target_strides = RowMajorStrides(shape);
    StridedCopy copy;
    int64_t start = 0;
    for (uint32_t i = 0; i < whole.rank(); ++i) {
      copy.AddDim(shape[i], source_strides[i], target_strides[i]);
      start += begin[i] * source_strides[i];
    }
    return copy.Run(frame, input, start, output, 0);
  }

 private:
  // Checks that the slice lies inside the input and replaces sizes of -1.
  static ms::Status Resolve(const ms::Shape& whole, const ms::Shape& begin, ms::Shape* size) {
    if (begin.rank() != whole.rank() || size->rank() != whole.rank()) {
      return ms::InvalidArgument(
          "begin and size must have one entry for each dimension of input, "
          "which has shape ",
          whole.ToString(), ", but have ", begin.rank(), " and ", size->rank());
    }
    for (uint32_t i = 0; i < whole.rank(); ++i) {
      if (begin[i] < 0 || begin[i] > whole[i]) {
        return ms::InvalidArgument("begin[", i, "] = ", begin[i], " is outside [0, ", whole[i],
                                   "] of input, which has shape ", whole.ToString());
      }
      const int64_t rest = whole[i] - begin[i];
      if ((*size)[i] == -1) (*size)[i] = rest;
      if ((*size)[i] < 0 || (*size)[i] > rest) {
        return ms::InvalidArgument("size[", i, "] = ", (*size)[i], " must be -1 or in [0, ", rest,
                                   "]: begin[", i, "] is ", begin[i], " and input has shape ",
                                   whole.ToString());
      }
    }
    return ms::Status();
  }
};

// Inputs: input, begin, end, strides.
class StridedSlice {
 public:
  ms::Status Init(const ms::KernelInfo& info) { return masks_.Init(info); }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View input = frame.input(0);
    StridedSliceSpec spec;
    MS_TRY(ResolveStridedSlice(masks_, input.shape(), frame.input(1), frame.input(2),
                               frame.input(3), &spec));
    ms::View output;
    MS_TRY(frame.Output(0, spec.output, &output));
    if (output.size() == 0) return ms::Status();

    const ms::Shape source_strides = RowMajorStrides(input.shape());
    const ms::Shape target_strides = RowMajorStrides(spec.count);
    StridedCopy copy;
    int64_t start = 0;
    for (uint32_t i = 0; i < spec.count.rank(); ++i) {
      copy.AddDim(spec.count[i], spec.stride[i] * source_strides[i], target_strides[i]);
      start += spec.begin[i] * source_strides[i];
    }
    return copy.Run(frame, input, start, output, 0);
  }

 private:
  StridedSliceMasks masks_;
};

// Inputs: shape (of the sliced tensor), begin, end, strides, dy. The output is zero but for dy in
// the place of the slice.
class StridedSliceGrad {
 public:
  ms::Status Init(const ms::KernelInfo& info) { return masks_.Init(info); }

  ms::Status Compute(ms::Frame& frame) const {
    ms::Shape shape;
    MS_TRY(ReadIndexVector(frame.input(0), "shape", &shape));
    for (uint32_t i = 0; i < shape.rank(); ++i) {
      if (shape[i] < 0) return ms::InvalidArgument("shape[", i, "] = ", shape[i], " is negative");
    }
    const ms::View dy = frame.input(4);
    StridedSliceSpec spec;
    MS_TRY(
        ResolveStridedSlice(masks_, shape, frame.input(1), frame.input(2), frame.input(3), &spec));
    if (dy.shape() != spec.output) {
      return ms::InvalidArgument("dy must have the shape of the slice, ", spec.output.ToString(),
                                 ", but has shape ", dy.shape().ToString());
    }
    ms::View output;
    MS_TRY(frame.Output(0, shape, &output));
    if (output.size() == 0) return ms::Status();
    if (dy.size() != output.size()) MS_TRY(SetToZero(frame, output));

    const ms::Shape source_strides = RowMajorStrides(spec.count);
    const ms::Shape target_strides = RowMajorStrides(shape);
    StridedCopy copy;
    int64_t start = 0;
    for (uint32_t i = 0; i < shape.rank(); ++i) {
      copy.AddDim(spec.count[i], source_strides[i], spec.stride[i] * target_strides[i]);
      start += spec.begin[i] * target_strides[i];
    }
    return copy.Run(frame, dy, 0, output, start);
  }

 private:
  StridedSliceMasks masks_;
};

const ms::Registered slice = ms::Register<Slice>("Slice", ms::KernelOptions()
                                                              .Types("T", MovableTypes())
                                                              .Types("Index", IndexTypes())
                                                              .HostArg("begin")
                                                              .HostArg("size"));
const ms::Registered strided_slice =
    ms::Register<StridedSlice>("StridedSlice", ms::KernelOptions()
                                                   .Types("T", MovableTypes())
                                                   .Types("Index", IndexTypes())
                                                   .HostArg("begin")
                                                   .HostArg("end")
                                                   .HostArg("strides"));
const ms::Registered strided_slice_grad =
    ms::Register<StridedSliceGrad>("StridedSliceGrad", ms::KernelOptions()
                                                           .Types("T", MovableTypes())
                                                           .Types("Index", IndexTypes())
                                                           .HostArg("shape")
                                                           .HostArg("begin")
                                                           .HostArg("end")
                                                           .HostArg("strides"));

}  // namespace
}  // namespace millstream::kernels
