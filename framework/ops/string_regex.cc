// Ops of strings by regular expressions.
#include "framework/op_registry.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

// Inputs after the first are scalars.
Status UnchangedShapeOfFirst(ShapeContext* context) {
  for (int i = 1; i < context->num_inputs(); ++i) {
    MS_RETURN_IF_ERROR(context->WithRank(i, 0).status());
  }
  return UnchangedShape(context);
}

MILLSTREAM_OP("RegexReplace")
    .Input("input: string")
    .Input("pattern: string")
    .Input("rewrite: string")
    .Output("output: string")
    .Attr("replace_global: bool = true")
    .Shape(UnchangedShapeOfFirst)
    .Doc(R"(Replaces what matches a regular expression in each string.

pattern is one of RE2's. In rewrite, "\1" to "\9" stand for the parts in parentheses, "\0" for all that
matches. Without replace_global only the first match is replaced. INVALID_ARGUMENT for a pattern or a
rewrite that is none.)");

MILLSTREAM_OP("StaticRegexReplace")
    .Input("input: string")
    .Output("output: string")
    .Attr("pattern: string")
    .Attr("rewrite: string")
    .Attr("replace_global: bool = true")
    .Shape(UnchangedShape)
    .Doc(R"(Replaces what matches a regular expression in each string, as RegexReplace.)");

MILLSTREAM_OP("RegexFullMatch")
    .Input("input: string")
    .Input("pattern: string")
    .Output("output: bool")
    .Shape(UnchangedShapeOfFirst)
    .Doc(R"(Finds out whether all of each string matches a regular expression.

pattern is one of RE2's. INVALID_ARGUMENT for what is none.)");

MILLSTREAM_OP("StaticRegexFullMatch")
    .Input("input: string")
    .Output("output: bool")
    .Attr("pattern: string")
    .Shape(UnchangedShape)
    .Doc(
        R"(Finds out whether all of each string matches a regular expression, as RegexFullMatch.)");

}  // namespace
}  // namespace millstream
