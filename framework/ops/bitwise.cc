// Integers as bits, element by element.
#include "framework/op_registry.h"
#include "framework/ops/type_sets.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

constexpr absl::string_view kIntegerTypes =
    "{int8, int16, int32, int64, uint8, uint16, uint32, uint64}";

void TwoIntegers(OpSpec* spec) {
  (*spec)
      .Input("x: T")
      .Input("y: T")
      .Output("z: T")
      .Attr(TypeAttr("T", kIntegerTypes))
      .Shape(BroadcastBinaryShape);
}

MILLSTREAM_OP("BitwiseAnd")
    .With(TwoIntegers)
    .Commutative()
    .Doc(R"(Gives the bits that are set in both x and y, with broadcasting.)")
    .Example(R"(
>>> tf.bitwise.bitwise_and([12, 10], 6).eval()
array([4, 2], dtype=int32))");

MILLSTREAM_OP("BitwiseOr")
    .With(TwoIntegers)
    .Commutative()
    .Doc(R"(Gives the bits that are set in x or y or both, with broadcasting.)")
    .Example(R"(
>>> tf.bitwise.bitwise_or([12, 10], 6).eval()
array([14, 14], dtype=int32))");

MILLSTREAM_OP("BitwiseXor")
    .With(TwoIntegers)
    .Commutative()
    .Doc(R"(Gives the bits that are set in one of x and y alone, with broadcasting.)")
    .Example(R"(
>>> tf.bitwise.bitwise_xor([12, 10], 6).eval()
array([10, 12], dtype=int32))");

MILLSTREAM_OP("LeftShift")
    .With(TwoIntegers)
    .Doc(R"(Shifts the bits of x to the left by y places, with broadcasting.

y counts as 0 if it is negative, and as one less than there are bits if it is larger.)")
    .Example(R"(
>>> tf.bitwise.left_shift([1, 3], [4, 1]).eval()
array([16,  6], dtype=int32))");

MILLSTREAM_OP("RightShift")
    .With(TwoIntegers)
    .Doc(R"(Shifts the bits of x to the right by y places, with broadcasting.

Signed numbers keep their sign. y counts as 0 if it is negative, and as one less than there
are bits if it is larger.)")
    .Example(R"(
>>> tf.bitwise.right_shift([16, -8], [4, 1]).eval()
array([ 1, -4], dtype=int32))");

MILLSTREAM_OP("Invert")
    .Input("x: T")
    .Output("y: T")
    .Attr(TypeAttr("T", kIntegerTypes))
    .Shape(UnchangedShape)
    .Doc(R"(Inverts all bits of each element.)")
    .Example(R"(
>>> tf.bitwise.invert([0, 5]).eval()
array([-1, -6], dtype=int32))");

MILLSTREAM_OP("PopulationCount")
    .Input("x: T")
    .Output("y: uint8")
    .Attr(TypeAttr("T", kIntegerTypes))
    .Shape(UnchangedShape)
    .Doc(R"(Counts the bits that are set in each element.)");

}  // namespace
}  // namespace millstream
