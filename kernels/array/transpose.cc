// Transpose and ConjugateTranspose.
#include <cstdint>

#include "framework/plugin/plugin.hpp"
#include "kernels/array/indices.h"
#include "kernels/array/strided_copy.h"
#include "kernels/common/parallel.h"

namespace millstream::kernels {
namespace {

// The sign of every imaginary part changes.
template <typename Real>
ms::Status Conjugate(ms::Frame& frame, const ms::View& view) {
  Real* const parts = view.data<Real>();
  return ParallelElements(frame, view.size(), 500, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) parts[2 * i + 1] = -parts[2 * i + 1];
  });
}

// Inputs: x, perm. Dimension i of the output is dimension perm[i] of x, or of its conjugate.
class Transpose {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    conjugates_ = info.op() == "ConjugateTranspose";
    return ms::Status();
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View x = frame.input(0);
    const ms::Shape source = x.shape();
    ms::Shape permutation;
    MS_TRY(ReadIndexVector(frame.input(1), "perm", &permutation));
    MS_TRY(CheckPermutation(source, permutation));

    const ms::Shape source_strides = RowMajorStrides(source);
    ms::Shape shape = source;
    for (uint32_t i = 0; i < shape.rank(); ++i) shape[i] = source[Axis(permutation, i)];
    ms::View output;
    MS_TRY(frame.Output(0, shape, &output));
    if (output.size() == 0) return ms::Status();
    const ms::Shape target_strides = RowMajorStrides(shape);
    StridedCopy copy;
    for (uint32_t i = 0; i < shape.rank(); ++i) {
      copy.AddDim(shape[i], source_strides[Axis(permutation, i)], target_strides[i]);
    }
    MS_TRY(copy.Run(frame, x, 0, output, 0));
    if (!conjugates_) return ms::Status();
    if (output.dtype() == MS_COMPLEX64) return Conjugate<float>(frame, output);
    return output.dtype() == MS_COMPLEX128 ? Conjugate<double>(frame, output) : ms::Status();
  }

 private:
  static uint32_t Axis(const ms::Shape& permutation, uint32_t i) {
    return static_cast<uint32_t>(permutation[i]);
  }

  static ms::Status CheckPermutation(const ms::Shape& source, const ms::Shape& permutation) {
    if (permutation.rank() != source.rank()) {
      return ms::InvalidArgument(
          "perm must have one entry for each dimension of x, which has shape ", source.ToString(),
          ", but is ", permutation.ToString());
    }
    uint64_t seen = 0;
    for (int64_t axis : permutation) {
      const bool in_range = axis >= 0 && axis < source.rank();
      if (!in_range || ((seen >> axis) & 1) != 0) {
        return ms::InvalidArgument("perm must hold each of 0 to ", source.rank() - 1,
                                   " once, but is ", permutation.ToString());
      }
      seen |= uint64_t{1} << axis;
    }
    return ms::Status();
  }

  bool conjugates_ = false;
};

ms::Registered RegisterTranspose(const char* op) {
  return ms::Register<Transpose>(
      op,
      ms::KernelOptions().Types("T", MovableTypes()).Types("Tperm", IndexTypes()).HostArg("perm"));
}

const ms::Registered transpose = RegisterTranspose("Transpose");
const ms::Registered conjugate_transpose = RegisterTranspose("ConjugateTranspose");

}  // namespace
}  // namespace millstream::kernels
