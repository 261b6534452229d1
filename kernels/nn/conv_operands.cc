#include "kernels/nn/conv_operands.h"

#include "kernels/array/indices.h"

namespace millstream::kernels {
namespace {

ConvShapes Named(ConvDirection direction) {
  ConvShapes shapes{"input", "filter", {}, {}, {}};
  if (direction == ConvDirection::kBackwardInput) shapes.input_name = "input_sizes";
  if (direction == ConvDirection::kBackwardFilter) shapes.filter_name = "filter_sizes";
  return shapes;
}

// A shape that comes as the value of a vector of integers, or as that of a tensor.
ms::Status ShapeFromSizes(const ms::View& sizes, const char* name, uint32_t rank,
                          ms::Shape* shape) {
  if (sizes.dtype() != MS_INT32 && sizes.dtype() != MS_INT64) {
    *shape = sizes.shape();
    return ms::Status();
  }
  if (sizes.rank() != 1 || sizes.size() != rank) {
    return ms::InvalidArgument(name, " must be a vector of ", rank, " sizes, but its shape is ",
                               sizes.shape().ToString());
  }
  return ReadIndexVector(sizes, name, shape);
}

}  // namespace

ConvShapes ShapesOf(ConvDirection direction, const ms::Specialization& spec) {
  ConvShapes shapes = Named(direction);
  shapes.input = direction == ConvDirection::kBackwardInput ? spec.output(0) : spec.input(0);
  shapes.filter = direction == ConvDirection::kBackwardFilter ? spec.output(0) : spec.input(1);
  if (direction != ConvDirection::kForward) shapes.gradient = spec.input(2);
  return shapes;
}

ms::Status ShapesOf(ConvDirection direction, const ms::Frame& frame, uint32_t rank,
                    ConvShapes* shapes) {
  *shapes = Named(direction);
  if (direction == ConvDirection::kBackwardInput) {
    MS_TRY(ShapeFromSizes(frame.input(0), shapes->input_name, rank, &shapes->input));
  } else {
    shapes->input = frame.input(0).shape();
  }
  if (direction == ConvDirection::kBackwardFilter) {
    MS_TRY(ShapeFromSizes(frame.input(1), shapes->filter_name, rank, &shapes->filter));
  } else {
    shapes->filter = frame.input(1).shape();
  }
  if (direction != ConvDirection::kForward) shapes->gradient = frame.input(2).shape();
  return ms::Status();
}

}  // namespace millstream::kernels
