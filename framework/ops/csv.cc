// DecodeCSV.
#include <string>
#include <vector>

#include "framework/op_registry.h"
#include "framework/ops/op_errors.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

// Each column has the shape of the records. A default is one value, or none.
Status DecodeCsvShape(ShapeContext* context) {
  for (int i = 1; i < context->num_inputs(); ++i) {
    MS_ASSIGN_OR_RETURN(const PartialShape value, context->WithRankAtMost(i, 1));
    if (value.rank() == 1 && value.dim(0) > 1) {
      return InvalidInput(*context, i, "Shape of a default must be a length-0 or length-1 vector, ",
                          "or a scalar, got ", value.ToString());
    }
  }
  for (int i = 0; i < context->num_outputs(); ++i) context->SetOutput(i, context->input(0));
  return absl::OkStatus();
}

MILLSTREAM_OP("DecodeCSV")
    .Input("records: string")
    .Input("record_defaults: OUT_TYPE")
    .Output("output: OUT_TYPE")
    .Attr("OUT_TYPE: list({float, double, int32, int64, string}) >= 1")
    .Attr("field_delim: string = \",\"")
    .Attr("use_quote_delim: bool = true")
    .Attr("na_value: string = \"\"")
    .Attr("select_cols: list(int) = []")
    .Shape(DecodeCsvShape)
    .Doc(R"(Takes records of comma-separated values apart.

Each record has a field for each output, or for each of select_cols, which are in ascending order. A field that is empty
or na_value is the default, and INVALID_ARGUMENT where that has no element. With use_quote_delim fields
may be quoted, and "" in them is one quote.)");

}  // namespace
}  // namespace millstream
