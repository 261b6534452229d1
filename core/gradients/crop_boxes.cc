// The gradient of CropAndResizeGradBoxes, which gives the slopes of crops by their boxes.
//
// A crop is R t C^T, channel by channel: t is its image, and a row of R or C has the shares of the
// pixels around a place. Places p = last (begin (1 - s) + end s) move with their box, where s goes
// from 0 to 1 along the crop and `last` is the last row or column of the image. Of the gradients g
// of crops the op gives the gradients of boxes. For gradients u of these, moved = (1 - s) u_begin +
// s u_end says how far each place goes, and the op's part in the loss is
//   sum(g (R' moved_rows t C^T + R t C'^T moved_columns))
// with the slopes R' and C' of the shares, times `last`. It is linear in g and in t. As shares are
// piecewise linear, its slopes by the boxes come from the other factors of both terms alone.
#include <string>
#include <vector>

#include "core/gradients/gradient_registry.h"
#include "core/gradients/shape_helpers.h"

namespace millstream {
namespace {

constexpr DataType kPlace = DataType::kFloat;  // as in the kernels

Output Einsum(GraphBuilder* builder, const char* equation, Output a, Output b) {
  const Node* node = builder->Variadic("Einsum", {{a, b}}, {{"equation", std::string(equation)}});
  return node == nullptr ? Output() : node->output(0);
}

Output CastTo(GraphBuilder* builder, Output tensor, DataType dtype) {
  return tensor.dtype() == dtype ? tensor : builder->Op("Cast", {tensor}, {{"DstT", dtype}});
}

// The rows of all crops, or their columns.
class CropPlaces {
 public:
  // `dimension` 0: rows, 1: columns. `moves` are of the boxes, like `boxes`. `size`, of the image,
  // and `count`, of a crop, are int32 scalars.
  CropPlaces(GraphBuilder* builder, int dimension, Output boxes, Output moves, Output size,
             Output count)
      : builder_(builder) {
    const Output one = Number(1);
    const Output last = Minus(CastTo(builder, size, kPlace), one);
    const Output before = Minus(CastTo(builder, count, kPlace), one);
    // The only place of a crop is the middle of its box.
    const Output is_only = Is("Equal", count, builder->Int32(1));
    const Output numbers = builder->Op("Range", {builder->Int32(0), count, builder->Int32(1)});
    const Output index = Plus(CastTo(builder, numbers, kPlace), Times(is_only, Number(0.5)));
    const Output steps = builder->Op("Maximum", {before, one});
    spread_ = builder->Op("RealDiv", {index, steps});

    const Output begin = Corner(boxes, dimension);
    const Output length = Times(Minus(Corner(boxes, dimension + 2), begin), last);
    const Output step = builder->Op("RealDiv", {length, steps});
    const Output all = Plus(Times(begin, last), Times(step, index));
    const Output is_inside = builder->Op(
        "LogicalAnd",
        {builder->Op("GreaterEqual", {all, Number(0)}), builder->Op("LessEqual", {all, last})});
    const Output places = builder->Op("SelectV2", {is_inside, all, Number(0)});
    const Output lower = builder->Op("Floor", {places});
    const Output share = Column(Minus(places, lower));
    const Output inside = Column(CastTo(builder, is_inside, kPlace));
    const Output lower_ones = Marked(lower, size);
    const Output upper_ones = Marked(builder->Op("Ceil", {places}), size);
    const Output rise = Minus(upper_ones, lower_ones);
    shares_ = Times(Plus(lower_ones, Times(rise, share)), inside);
    slopes_ = Times(Times(rise, inside), last);
    const Output from = Corner(moves, dimension);
    const Output moved = Plus(from, Times(Minus(Corner(moves, dimension + 2), from), spread_));
    moved_ = Times(slopes_, Column(moved));
  }

  // [boxes, places of a crop, pixels of the image]: the shares, and how they move.
  Output shares() const { return shares_; }
  Output moved() const { return moved_; }

  // The gradients of the boxes' begins and ends, of those of the shares.
  std::vector<Output> OfCorners(Output of_shares) const {
    const Output last = builder_->Int32Vector({-1});
    const Output of_places = builder_->Op("Sum", {Times(slopes_, of_shares), last});
    const Output of_ends = builder_->Op("Sum", {Times(of_places, spread_), last});
    const Output of_both = builder_->Op("Sum", {of_places, last});
    return {Minus(of_both, of_ends), of_ends};
  }

 private:
  Output Number(double value) const { return builder_->ScalarOf(kPlace, value); }
  Output Plus(Output a, Output b) const { return builder_->Op("AddV2", {a, b}); }
  Output Minus(Output a, Output b) const { return builder_->Op("Sub", {a, b}); }
  Output Times(Output a, Output b) const { return builder_->Op("Mul", {a, b}); }
  Output Is(const char* comparison, Output a, Output b) const {
    return CastTo(builder_, builder_->Op(comparison, {a, b}), kPlace);
  }
  Output Column(Output tensor) const {
    return builder_->Op("ExpandDims", {tensor, builder_->Int32(-1)});
  }
  // Coordinate i of boxes, a column.
  Output Corner(Output boxes, int i) const {
    return builder_->Op("Slice",
                        {boxes, builder_->Int32Vector({0, i}), builder_->Int32Vector({-1, 1})});
  }
  // 1 at each of the places, whole numbers, among `size` ones.
  Output Marked(Output places, Output size) const {
    return builder_->Op("OneHot",
                        {CastTo(builder_, places, DataType::kInt32), size, Number(1), Number(0)});
  }

  GraphBuilder* const builder_;
  Output spread_;
  Output shares_;
  Output slopes_;
  Output moved_;
};

Output SizeOf(GraphBuilder* builder, Output tensor, int axis) {
  const Output shape = builder->Op("Shape", {tensor});
  return builder->Op("Reshape", {ElementOf(builder, shape, axis), builder->Int32Vector({})});
}

Status GradientOfGradBoxes(GradientContext* context) {
  GraphBuilder* const builder = context->builder();
  const Output grads = context->input(0);
  const Output images = context->input(1);
  const Output boxes = context->input(2);
  const Output indices = context->input(3);
  const auto along = [&](int dimension) {
    const Output size = SizeOf(builder, images, 1 + dimension);
    const Output count = SizeOf(builder, grads, 1 + dimension);
    return CropPlaces(builder, dimension, boxes, context->dy(0), size, count);
  };
  const CropPlaces rows = along(0);
  const CropPlaces columns = along(1);
  const auto product = [&](const char* equation, Output a, Output b) {
    return Einsum(builder, equation, a, b);
  };
  const auto sum = [&](Output a, Output b) { return builder->Op("AddV2", {a, b}); };

  const Output chosen =
      builder->Op("GatherV2", {CastTo(builder, images, kPlace), indices, builder->Int32(0)});
  const Output by_rows = product("nyh,nhwc->nywc", rows.shares(), chosen);
  const Output by_moved_rows = product("nyh,nhwc->nywc", rows.moved(), chosen);
  const Output of_grads = product("nywc,nxw->nyxc", by_moved_rows, columns.shares());
  const Output of_grads_too = product("nywc,nxw->nyxc", by_rows, columns.moved());
  context->SetDx(0, sum(of_grads, of_grads_too));

  const Output by_columns = product("nyxc,nxw->nywc", grads, columns.shares());
  const Output by_moved_columns = product("nyxc,nxw->nywc", grads, columns.moved());
  const Output of_images = product("nywc,nyh->nhwc", by_columns, rows.moved());
  const Output of_images_too = product("nywc,nyh->nhwc", by_moved_columns, rows.shares());
  const Output of_all = builder->Op(
      "UnsortedSegmentSum", {sum(of_images, of_images_too), indices, SizeOf(builder, images, 0)});
  context->SetDx(1, CastTo(builder, of_all, images.dtype()));

  const std::vector<Output> of_rows =
      rows.OfCorners(product("nywc,nhwc->nyh", by_moved_columns, chosen));
  const std::vector<Output> of_columns =
      columns.OfCorners(product("nyxc,nywc->nxw", grads, by_moved_rows));
  const Node* of_boxes = builder->Variadic(
      "Pack", {{of_rows[0], of_columns[0], of_rows[1], of_columns[1]}}, {{"axis", 1}});
  if (of_boxes == nullptr) return builder->status();
  context->SetDx(2, of_boxes->output(0));
  return absl::OkStatus();
}

MILLSTREAM_GRADIENT("CropAndResizeGradBoxes", GradientOfGradBoxes);

}  // namespace
}  // namespace millstream
