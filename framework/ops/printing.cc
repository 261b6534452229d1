// Ops that print tensors, and that make text of them.
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "framework/op_registry.h"
#include "framework/ops/op_errors.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

Status PrintTextShape(ShapeContext* context) { return context->WithRank(0, 0).status(); }

Status StringFormatShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const std::string text, context->Attr<std::string>("template"));
  MS_ASSIGN_OR_RETURN(const std::string placeholder, context->Attr<std::string>("placeholder"));
  if (placeholder.empty()) {
    return InvalidAttr(*context, "placeholder", "expected a text, got an empty one");
  }
  const std::vector<absl::string_view> pieces = absl::StrSplit(text, placeholder);
  const int places = static_cast<int>(pieces.size()) - 1;
  if (places != context->num_inputs()) {
    return InvalidAttr(*context, "template",
                       "num placeholders in template and num inputs must match, got ", places,
                       " placeholders in template and ", context->num_inputs(), " inputs");
  }
  return ScalarShape(context);
}

MILLSTREAM_OP("Print")
    .Input("input: T")
    .Input("data: U")
    .Output("output: T")
    .Attr("T: type")
    .Attr("U: list(type) >= 0")
    .Attr("message: string = \"\"")
    .Attr("first_n: int = -1")
    .Attr("summarize: int = 3")
    .Stateful()
    .Touches("output")
    .Shape(UnchangedShape)
    .Doc(R"(Passes a tensor on, and prints tensors to the standard error.

The line has message and the first summarize elements of each tensor of data, all of them when it is
negative. Only the first first_n executions in a session print; every one when it is negative.)");

MILLSTREAM_OP("PrintV2")
    .Input("input: string")
    .Attr("output_stream: string = \"stderr\"")
    .Attr("end: string = \"\\n\"")
    .Stateful()
    .Touches("files")
    .Touches("output")
    .Shape(PrintTextShape)
    .Doc(R"(Prints a text, a scalar, and then end.

output_stream is stdout, stderr, log(info), log(warning), log(error) or file://PATH; the text is
appended to the file.)");

MILLSTREAM_OP("StringFormat")
    .Input("inputs: T")
    .Output("output: string")
    .Attr("T: list(type) >= 0")
    .Attr("template: string = \"%s\"")
    .Attr("placeholder: string = \"%s\"")
    .Attr("summarize: int = 3")
    .Shape(StringFormatShape)
    .Doc(R"(Puts the text of each input where template has placeholder.

The text of a tensor has the first and last summarize entries of each dimension, all of them when it
is negative. The output is a scalar.)");

}  // namespace
}  // namespace millstream
