#include "core/gradients/image_windows.h"

#include <limits>
#include <vector>

#include "core/gradients/shape_helpers.h"

namespace millstream {
namespace {

constexpr DataType kPlace = DataType::kInt64;

// What places are computed of. The nodes of an expression are made from left to right.
class PlaceArithmetic {
 public:
  explicit PlaceArithmetic(GraphBuilder* builder) : builder_(builder) {}

  Output Number(int64_t value) const {
    return builder_->ScalarOf(kPlace, static_cast<double>(value));
  }
  Output Plus(Output a, int64_t b) const { return builder_->Op("AddV2", {a, Number(b)}); }
  Output Times(Output a, int64_t b) const { return builder_->Op("Mul", {a, Number(b)}); }
  Output AtLeast(Output a, int64_t b) const { return builder_->Op("Maximum", {a, Number(b)}); }
  Output NumbersTo(Output end) const { return builder_->Op("Range", {Number(0), end, Number(1)}); }

  Output AsColumn(Output vector) const {
    return builder_->Op("ExpandDims", {vector, builder_->Int32(1)});
  }
  // The sum of each of `begins` and each of `offsets`.
  Output Sums(Output begins, Output offsets) const {
    const Output row = builder_->Op("ExpandDims", {offsets, builder_->Int32(0)});
    return builder_->Op("AddV2", {AsColumn(begins), row});
  }

  // `places` that are there from 0 to `ends`, exclusive, which broadcasts to them and is no larger
  // than `size`.
  WindowPlaces Within(Output places, Output ends, Output size) const {
    WindowPlaces within;
    within.is_there = builder_->Op("LogicalAnd", {builder_->Op("GreaterEqual", {places, Number(0)}),
                                                  builder_->Op("Less", {places, ends})});
    within.places = AtLeast(builder_->Op("Minimum", {places, Plus(size, -1)}), 0);
    return within;
  }

 private:
  GraphBuilder* const builder_;
};

}  // namespace

Output SizeAt(GraphBuilder* builder, Output tensor, int axis) {
  const Output shape = builder->Op("Shape", {tensor}, {{"out_type", kPlace}});
  return builder->Op("Reshape", {ElementOf(builder, shape, axis), builder->Int32Vector({})});
}

WindowPlaces PlacesBetween(GraphBuilder* builder, Output begins, Output ends, Output size) {
  const PlaceArithmetic arithmetic(builder);
  const Output lengths = builder->Op("Sub", {ends, begins});
  const Output longest = builder->Op("Max", {lengths, builder->Int32Vector({0})});
  const Output taps = arithmetic.NumbersTo(arithmetic.AtLeast(longest, 1));
  const Output places = arithmetic.Sums(begins, taps);
  return arithmetic.Within(places, arithmetic.AsColumn(ends), size);
}

WindowPlaces SlidingPlaces(GraphBuilder* builder, Output windows, Output taps, Output size,
                           const WindowSteps& steps) {
  const PlaceArithmetic arithmetic(builder);
  Output begins = arithmetic.Times(arithmetic.NumbersTo(windows), steps.stride);
  if (steps.same) {
    const Output last_begin = arithmetic.Times(arithmetic.Plus(windows, -1), steps.stride);
    const Output last_tap = arithmetic.Times(arithmetic.Plus(taps, -1), steps.rate);
    const Output needed = arithmetic.Plus(builder->Op("AddV2", {last_begin, last_tap}), 1);
    const Output margin = arithmetic.AtLeast(builder->Op("Sub", {needed, size}), 0);
    const Output before = builder->Op("FloorDiv", {margin, arithmetic.Number(2)});
    begins = builder->Op("Sub", {begins, before});
  }
  const Output offsets = arithmetic.Times(arithmetic.NumbersTo(taps), steps.rate);
  return arithmetic.Within(arithmetic.Sums(begins, offsets), size, size);
}

ImageWindows::ImageWindows(GraphBuilder* builder, const WindowPlaces& rows,
                           const WindowPlaces& columns)
    : builder_(builder), rows_(rows.places), columns_(columns.places) {
  // [rows, 1, taps, 1] and [1, columns, 1, taps]
  const auto spread = [&](Output pairs, int first, int second) {
    const Output once = builder->Op("ExpandDims", {pairs, builder->Int32(first)});
    return builder->Op("ExpandDims", {once, builder->Int32(second)});
  };
  const Output both =
      builder->Op("LogicalAnd", {spread(rows.is_there, 1, 3), spread(columns.is_there, 0, 2)});
  const Output shape = builder->Op("Shape", {both});
  const Output windows =
      builder->Op("Slice", {shape, builder->Int32Vector({0}), builder->Int32Vector({2})});
  const Output taps =
      builder->Op("Mul", {ElementOf(builder, shape, 2), ElementOf(builder, shape, 3)});
  is_there_ = builder->Op(
      "Reshape", {both, ConcatVectors(builder, {windows, taps, builder->Int32Vector({1})})});
}

Output ImageWindows::ElementsOf(Output images) const {
  const Output rows = builder_->Op("GatherV2", {images, rows_, builder_->Int32(1)});
  const Output both = builder_->Op("GatherV2", {rows, columns_, builder_->Int32(3)});
  const Output ordered =
      builder_->Op("Transpose", {both, builder_->Int32Vector({0, 1, 3, 2, 4, 5})});
  const Output shape = builder_->Op("Shape", {ordered});
  const Output windows =
      builder_->Op("Slice", {shape, builder_->Int32Vector({0}), builder_->Int32Vector({3})});
  const Output taps =
      builder_->Op("Mul", {ElementOf(builder_, shape, 3), ElementOf(builder_, shape, 4)});
  const Output channels = ElementOf(builder_, shape, 5);
  return builder_->Op("Reshape", {ordered, ConcatVectors(builder_, {windows, taps, channels})});
}

Output ImageWindows::IsThere(DataType dtype) const {
  return builder_->Op("Cast", {is_there_}, {{"DstT", dtype}});
}

Output ImageWindows::FirstGreatest(Output scores) const {
  const DataType dtype = scores.dtype();
  const Output least = builder_->ScalarOf(dtype, -std::numeric_limits<double>::infinity());
  const Output known = builder_->Op("SelectV2", {is_there_, scores, least});
  const Output tap = builder_->Op("ArgMax", {known, builder_->Int32(3)});
  const Output taps = builder_->Op(
      "Reshape",
      {ElementOf(builder_, builder_->Op("Shape", {is_there_}), 2), builder_->Int32Vector({})});
  const Output first = builder_->Op(
      "OneHot", {tap, taps, builder_->ScalarOf(dtype, 1), builder_->ScalarOf(dtype, 0)},
      {{"axis", 3}});
  return builder_->Op("Mul", {first, IsThere(dtype)});
}

Output ImageWindows::SumOverTaps(Output tensor) const {
  return builder_->Op("Sum", {tensor, builder_->Int32Vector({3})});
}

}  // namespace millstream
