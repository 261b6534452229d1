// Discrete Fourier transforms of the last dimensions of a tensor.
#include <optional>
#include <utility>

#include "framework/op_registry.h"
#include "framework/ops/op_errors.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

template <int kRank>
Status ComplexShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(PartialShape shape, context->WithRankAtLeast(0, kRank));
  context->SetOutput(0, std::move(shape));
  return absl::OkStatus();
}

// The size of the output along a dimension of the given length. Of the last one a transform of real
// numbers gives half: the rest are conjugates.
int64_t OutputSize(int64_t length, bool is_last, bool inverse) {
  return is_last && !inverse && length > 0 ? length / 2 + 1 : length;
}

template <int kRank, bool kInverse>
Status RealShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(PartialShape shape, context->WithRankAtLeast(0, kRank));
  MS_ASSIGN_OR_RETURN(const PartialShape lengths, context->WithRank(1, 1));
  if (!context->MergeDim(lengths.dim(0), kRank).ok()) {
    return InvalidInput(*context, 1, "fft_length must have shape [", kRank, "], got ",
                        lengths.ToString());
  }
  if (shape.known_rank()) {
    const std::optional<PartialValue> known = context->InputValue(1);
    for (int i = 0; i < kRank; ++i) {
      const std::optional<int64_t> length = known.has_value() ? (*known)[i] : std::nullopt;
      if (length.has_value() && *length < 0) {
        return InvalidInput(*context, 1, "fft_length[", i, "] must >= 0, but got: ", *length);
      }
      const int64_t size =
          length.has_value() ? OutputSize(*length, i == kRank - 1, kInverse) : kUnknownDim;
      shape.set_dim(i - kRank, size);
    }
  }
  context->SetOutput(0, std::move(shape));
  return absl::OkStatus();
}

void OfComplex(OpSpec* spec) {
  (*spec)
      .Input("input: Tcomplex")
      .Output("output: Tcomplex")
      .Attr("Tcomplex: {complex64, complex128} = complex64");
}

void OfReal(OpSpec* spec) {
  (*spec).Input("input: float").Input("fft_length: int32").Output("output: complex64");
}

void ToReal(OpSpec* spec) {
  (*spec).Input("input: complex64").Input("fft_length: int32").Output("output: float");
}

MILLSTREAM_OP("FFT")
    .With(OfComplex)
    .Shape(ComplexShape<1>)
    .Doc(R"(Transforms the last dimension by Fourier's sum.

Element k is the sum over j of input[j] exp(-2 pi i j k / n).)")
    .Example(R"(
>>> tf.fft(tf.constant([1, 0, 0, 1], tf.complex64)).eval().real.tolist()
[2.0, 1.0, 0.0, 1.0])");

MILLSTREAM_OP("IFFT")
    .With(OfComplex)
    .Shape(ComplexShape<1>)
    .Doc(R"(Inverts FFT.

Element j is the sum over k of input[k] exp(2 pi i j k / n), divided by n.)")
    .Example(R"(
>>> tf.ifft(tf.constant([4, 0, 0, 0], tf.complex64)).eval().real.tolist()
[1.0, 1.0, 1.0, 1.0])");

MILLSTREAM_OP("FFT2D")
    .With(OfComplex)
    .Shape(ComplexShape<2>)
    .Doc(R"(Transforms the last two dimensions by Fourier's sum.

It does what FFT does, along one after the other.)")
    .Example(R"(
>>> tf.fft2d(tf.ones([2, 2], tf.complex64)).eval().real.tolist()
[[4.0, 0.0], [0.0, 0.0]])");

MILLSTREAM_OP("IFFT2D").With(OfComplex).Shape(ComplexShape<2>).Doc(R"(Inverts FFT2D.)").Example(R"(
>>> tf.ifft2d(tf.ones([2, 2], tf.complex64)).eval().real.tolist()
[[1.0, 0.0], [0.0, 0.0]])");

MILLSTREAM_OP("FFT3D")
    .With(OfComplex)
    .Shape(ComplexShape<3>)
    .Doc(R"(Transforms the last three dimensions by Fourier's sum.

It does what FFT does, along one after the other.)")
    .Example(R"(
>>> tf.fft3d(tf.ones([1, 2, 2], tf.complex64)).eval().real.tolist()
[[[4.0, 0.0], [0.0, 0.0]]])");

MILLSTREAM_OP("IFFT3D").With(OfComplex).Shape(ComplexShape<3>).Doc(R"(Inverts FFT3D.)").Example(R"(
>>> tf.ifft3d(tf.ones([1, 2, 2], tf.complex64)).eval().real.tolist()
[[[1.0, 0.0], [0.0, 0.0]]])");

MILLSTREAM_OP("RFFT")
    .With(OfReal)
    .Shape(RealShape<1, false>)
    .Doc(R"(Transforms the last dimension of real numbers by Fourier's sum.

The transform of fft_length[0] numbers, of which the input has at least as many. Of its elements those up to
fft_length[0] / 2 are given; the others are their conjugates.)");

MILLSTREAM_OP("IRFFT").With(ToReal).Shape(RealShape<1, true>).Doc(R"(Inverts RFFT.

fft_length[0] is the number of real numbers. The input has at least fft_length[0] / 2 + 1 elements.)");

MILLSTREAM_OP("RFFT2D")
    .With(OfReal)
    .Shape(RealShape<2, false>)
    .Doc(R"(Transforms the last two dimensions of real numbers by Fourier's sum.

fft_length has their lengths, of which the input has at least as many. Along the last dimension half of the
elements are given, as by RFFT.)");

MILLSTREAM_OP("IRFFT2D").With(ToReal).Shape(RealShape<2, true>).Doc(R"(Inverts RFFT2D.

fft_length has the sizes of the last two dimensions of the output.)");

MILLSTREAM_OP("RFFT3D")
    .With(OfReal)
    .Shape(RealShape<3, false>)
    .Doc(R"(Transforms the last three dimensions of real numbers by Fourier's sum.

fft_length has their lengths, of which the input has at least as many. Along the last dimension half of the
elements are given, as by RFFT.)");

MILLSTREAM_OP("IRFFT3D").With(ToReal).Shape(RealShape<3, true>).Doc(R"(Inverts RFFT3D.

fft_length has the sizes of the last three dimensions of the output.)");

}  // namespace
}  // namespace millstream
