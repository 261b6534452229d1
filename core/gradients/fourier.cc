// Gradients of Fourier transforms. A transform is linear, and the adjoint of its matrix is n times
// the inverse: see math_helpers.h for what a gradient of a complex tensor is.
#include <string>
#include <vector>

#include "core/gradients/gradient_registry.h"
#include "core/gradients/math_helpers.h"
#include "core/gradients/shape_helpers.h"

namespace millstream {
namespace {

// The ops of one to three dimensions.
struct Names {
  const char* fft;
  const char* ifft;
  const char* rfft;
};
constexpr Names kNames[] = {
    {"FFT", "IFFT", "RFFT"}, {"FFT2D", "IFFT2D", "RFFT2D"}, {"FFT3D", "IFFT3D", "RFFT3D"}};

Output AsComplex(GradientContext* context, Output real, DataType dtype) {
  return context->builder()->Op("Cast", {real}, {{"DstT", dtype}});
}

Output Part(GraphBuilder* builder, Output tensor, int begin, int end, bool to_end) {
  return builder->Op("StridedSlice",
                     {tensor, builder->Int32Vector({begin}), builder->Int32Vector({end}),
                      builder->Int32Vector({1})},
                     {{"end_mask", to_end ? 1 : 0}});
}

// The sizes of the last `rank` dimensions.
Output LastSizes(GraphBuilder* builder, Output tensor, int rank) {
  return Part(builder, ShapeVector(builder, tensor), -rank, 0, true);
}

Output ProductOf(GraphBuilder* builder, Output vector) {
  return builder->Op("Prod", {vector, builder->Int32Vector({0})});
}

// `tensor` with zeros behind, so that its last `rank` dimensions have the sizes of a vector.
Output PadTo(GraphBuilder* builder, Output tensor, int rank, Output sizes) {
  const Output missing = builder->Op("Sub", {sizes, LastSizes(builder, tensor, rank)});
  const Output others = builder->Op("Sub", {builder->Op("Rank", {tensor}), builder->Int32(rank)});
  const Output none = builder->Op(
      "Fill", {builder->Op("Reshape", {others, builder->Int32Vector({1})}), builder->Int32(0)});
  const Output behind = ConcatVectors(builder, {none, missing});
  const Node* pairs =
      builder->Variadic("Pack", {{builder->Op("ZerosLike", {behind}), behind}}, {{"axis", 1}});
  if (pairs == nullptr) return Output();
  return builder->Op("Pad", {tensor, pairs->output(0)});
}

template <int kRank>
Status ForwardGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const Output dy = context->dy(0);
  const Output count = ProductOf(builder, LastSizes(builder, dy, kRank));
  const Output back = builder->Op(kNames[kRank - 1].ifft, {dy});
  context->SetDx(0, Mul(context, back, AsComplex(context, count, dy.dtype())));
  return absl::OkStatus();
}

template <int kRank>
Status InverseGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const Output dy = context->dy(0);
  const Output count = ProductOf(builder, LastSizes(builder, dy, kRank));
  const Output there = builder->Op(kNames[kRank - 1].fft, {dy});
  context->SetDx(0, builder->Op("Div", {there, AsComplex(context, count, dy.dtype())}));
  return absl::OkStatus();
}

// The elements that were not given have no gradient. What was cut off the input has none either.
template <int kRank>
Status RealGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const Output x = context->input(0);
  const Output lengths = context->input(1);
  const Output whole = PadTo(builder, context->dy(0), kRank, lengths);
  const Output back = builder->Op("Real", {builder->Op(kNames[kRank - 1].ifft, {whole})},
                                  {{"Tout", DataType::kFloat}});
  const Output count =
      builder->Op("Cast", {ProductOf(builder, lengths)}, {{"DstT", DataType::kFloat}});
  context->SetDx(0, PadTo(builder, Mul(context, back, count), kRank, LastSizes(builder, x, kRank)));
  return absl::OkStatus();
}

// An element counts twice where its conjugate is another element of the whole: along the last
// dimension all do but the first, and the last one of an even length.
template <int kRank>
Status InverseRealGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const Output x = context->input(0);
  const Output lengths = context->input(1);
  const Output there = builder->Op(kNames[kRank - 1].rfft, {context->dy(0), lengths});
  const Output length =
      builder->Op("Reshape", {ElementOf(builder, lengths, kRank - 1), builder->Int32Vector({})});
  const Output size =
      builder->Op("Reshape", {LastSizes(builder, there, 1), builder->Int32Vector({})});
  const Output place = builder->Op("Range", {builder->Int32(0), size, builder->Int32(1)});
  const Output mirrored = builder->Op("FloorMod", {builder->Op("Sub", {length, place}), length});
  const Output is_twice = builder->Op("NotEqual", {place, mirrored});
  const Output times =
      builder->Op("Add", {builder->Op("Cast", {is_twice}, {{"DstT", DataType::kFloat}}),
                          builder->ScalarOf(DataType::kFloat, 1)});
  const Output count =
      builder->Op("Cast", {ProductOf(builder, lengths)}, {{"DstT", DataType::kFloat}});
  const Output weights = AsComplex(context, builder->Op("Div", {times, count}), x.dtype());
  context->SetDx(0,
                 PadTo(builder, Mul(context, there, weights), kRank, LastSizes(builder, x, kRank)));
  return absl::OkStatus();
}

MILLSTREAM_GRADIENT("FFT", ForwardGradient<1>);
MILLSTREAM_GRADIENT("FFT2D", ForwardGradient<2>);
MILLSTREAM_GRADIENT("FFT3D", ForwardGradient<3>);
MILLSTREAM_GRADIENT("IFFT", InverseGradient<1>);
MILLSTREAM_GRADIENT("IFFT2D", InverseGradient<2>);
MILLSTREAM_GRADIENT("IFFT3D", InverseGradient<3>);
MILLSTREAM_GRADIENT("RFFT", RealGradient<1>);
MILLSTREAM_GRADIENT("RFFT2D", RealGradient<2>);
MILLSTREAM_GRADIENT("RFFT3D", RealGradient<3>);
MILLSTREAM_GRADIENT("IRFFT", InverseRealGradient<1>);
MILLSTREAM_GRADIENT("IRFFT2D", InverseRealGradient<2>);
MILLSTREAM_GRADIENT("IRFFT3D", InverseRealGradient<3>);

}  // namespace
}  // namespace millstream
