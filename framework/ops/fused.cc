// Several elementwise ops as one. Only the runtime makes such nodes.
#include <cstdint>
#include <string>
#include <vector>

#include "framework/op_registry.h"
#include "framework/ops/op_errors.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

// `number` must be that of one of the first `values` values.
Status CheckValueNumber(const ShapeContext& context, absl::string_view attr, size_t index,
                        int64_t number, int64_t values) {
  if (number >= 0 && number < values) return absl::OkStatus();
  return InvalidAttr(context, attr, "element ", index, " is ", number,
                     ", expected the number of a value that exists by then, 0 to ", values - 1);
}

// The operands of step `step`, which runs op `op`.
Status CheckOperands(const ShapeContext& context, const std::string& op, size_t step,
                     const std::vector<int64_t>& operands) {
  const int64_t values = context.num_inputs() + static_cast<int64_t>(step);
  MS_RETURN_IF_ERROR(CheckValueNumber(context, "operands", 2 * step, operands[2 * step], values));
  const int64_t second = operands[2 * step + 1];
  const OpDef* const definition = OpRegistry::Global()->FindOrNull(op);
  if (definition == nullptr || !definition->is_elementwise) {
    return InvalidAttr(context, "steps", "element ", step, " is '", op,
                       "', expected an op that is defined as elementwise");
  }
  if (definition->inputs.size() == 2) {
    return CheckValueNumber(context, "operands", 2 * step + 1, second, values);
  }
  if (second == -1) return absl::OkStatus();
  return InvalidAttr(context, "operands", "element ", 2 * step + 1, " is ", second,
                     ", expected -1: ", op, " has one operand");
}

Status CheckProgram(const ShapeContext& context) {
  MS_ASSIGN_OR_RETURN(const auto steps, context.Attr<std::vector<std::string>>("steps"));
  MS_ASSIGN_OR_RETURN(const auto operands, context.Attr<std::vector<int64_t>>("operands"));
  MS_ASSIGN_OR_RETURN(const auto results, context.Attr<std::vector<int64_t>>("results"));
  if (operands.size() != 2 * steps.size()) {
    return InvalidAttr(context, "operands", "expected two numbers for each of the ", steps.size(),
                       " steps, got ", operands.size(), " numbers");
  }
  for (size_t step = 0; step < steps.size(); ++step) {
    MS_RETURN_IF_ERROR(CheckOperands(context, steps[step], step, operands));
  }
  if (results.size() != static_cast<size_t>(context.num_outputs())) {
    return InvalidAttr(context, "results", "expected one number for each of the ",
                       context.num_outputs(), " outputs, got ", results.size(), " numbers");
  }
  const int64_t values = context.num_inputs() + static_cast<int64_t>(steps.size());
  for (size_t i = 0; i < results.size(); ++i) {
    MS_RETURN_IF_ERROR(CheckValueNumber(context, "results", i, results[i], values));
  }
  return absl::OkStatus();
}

Status FusedElementwiseShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(CheckProgram(*context));
  PartialShape shape = PartialShape::Scalar();
  for (int i = 0; i < context->num_inputs(); ++i) {
    StatusOr<PartialShape> wider = BroadcastShapes(shape, context->input(i));
    if (!wider.ok()) return InputError(*context, i, wider.status());
    shape = *std::move(wider);
  }
  for (int i = 0; i < context->num_outputs(); ++i) context->SetOutput(i, shape);
  return absl::OkStatus();
}

MILLSTREAM_OP("_FusedElementwise")
    .Input("args: N * T")
    .Output("results: M * T")
    .Attr("N: int >= 1")
    .Attr("M: int >= 1")
    .Attr("T: {float}")
    .Attr("steps: list(string) >= 1")
    .Attr("operands: list(int)")
    .Attr("results: list(int)")
    .Attr("compile: bool = false")
    .Shape(FusedElementwiseShape)
    .Doc(R"(Runs several elementwise ops, one after the other, as one.

Values have numbers: those of args come first, then what each of steps gives. operands has two
numbers for each of steps, the second of which is -1 for an op of one operand; results has the
numbers of the values to give. All args are broadcast to one shape, which all results have. Each
of args has that shape, or one element, or the last dimensions of that shape, perhaps behind
dimensions of 1. With compile, machine code may be made for the steps.)");

Status ScalarLoopShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const auto num_stacks, context->Attr<int64_t>("num_stacks"));
  MS_ASSIGN_OR_RETURN(const auto kept, context->Attr<std::vector<int64_t>>("kept"));
  const int64_t first_stack = context->num_inputs() - num_stacks;
  for (int i = 0; i < context->num_inputs(); ++i) {
    MS_RETURN_IF_ERROR(context->WithRank(i, i < first_stack ? 0 : 1).status());
  }
  const int64_t first_kept = context->num_outputs() - static_cast<int64_t>(kept.size());
  for (int i = 0; i < context->num_outputs(); ++i) {
    context->SetOutput(i,
                       i < first_kept ? PartialShape::Scalar() : PartialShape::Vector(kUnknownDim));
  }
  return absl::OkStatus();
}

MILLSTREAM_OP("_ScalarLoop")
    .Input("args: Tin")
    .Output("results: Tout")
    .Attr("Tin: list(type) >= 0")
    .Attr("Tout: list(type) >= 0")
    .Attr("steps: list(string)")
    .Attr("operands: list(int)")
    .Attr("num_first: int >= 0")
    .Attr("next: list(int)")
    .Attr("conditions: list(int)")
    .Attr("exits: list(int)")
    .Attr("num_stacks: int >= 0 = 0")
    .Attr("kept: list(int) = []")
    .Stateful()
    .Shape(ScalarLoopShape)
    .Doc(R"(Runs a loop of elementwise ops on scalars.

Values have numbers: those of args come first, then what each of steps gives. operands has three
numbers for each of steps, of which ops of fewer operands do not use the last ones; the second one
of a Cast is the number of the type of its result. The first of args are variables, as many as next has numbers:
those of the values that the variables have in the next iteration. The first num_first steps run
once; the first of conditions tells whether there is an iteration. The other steps run in each
iteration, and the second of conditions tells whether there is another one. exits has, for each of
the first results, the number of the one of args whose last value it is. The last of args, as many
as num_stacks, are vectors: each iteration takes an element of each, from the last one on, and their
numbers stand for these elements. The last results are vectors with an element for each iteration:
the values whose numbers are in kept.)");

// Where the parts of the inputs of a _ScanRows begin, and how many of its outputs are tensors.
struct ScanParts {
  int64_t num_rows;
  int64_t num_states;
  int64_t num_tensors;
  int64_t first_given;
};

StatusOr<ScanParts> PartsOfScan(const ShapeContext& context, const std::vector<int64_t>& sizes,
                                const std::vector<int64_t>& places) {
  ScanParts parts;
  MS_ASSIGN_OR_RETURN(parts.num_rows, context.Attr<int64_t>("num_rows"));
  MS_ASSIGN_OR_RETURN(parts.num_states, context.Attr<int64_t>("num_states"));
  parts.num_tensors = static_cast<int64_t>(sizes.size());
  parts.first_given = context.num_inputs() - static_cast<int64_t>(places.size() / 2);
  if (parts.num_tensors + parts.num_states != context.num_outputs()) {
    return InvalidAttr(context, "sizes", "expected one number for each of the ",
                       context.num_outputs() - parts.num_states, " tensors, got ", sizes.size());
  }
  if (places.size() % 2 != 0 || parts.num_rows + parts.num_states > parts.first_given) {
    return InvalidAttr(context, "places", "expected two numbers for each of the args behind ",
                       parts.num_rows, " tensors and ", parts.num_states, " variables, got ",
                       places.size(), " numbers");
  }
  return parts;
}

Status ScanRowsShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(CheckProgram(*context));
  MS_ASSIGN_OR_RETURN(const auto sizes, context->Attr<std::vector<int64_t>>("sizes"));
  MS_ASSIGN_OR_RETURN(const auto places, context->Attr<std::vector<int64_t>>("places"));
  MS_ASSIGN_OR_RETURN(const ScanParts parts, PartsOfScan(*context, sizes, places));
  PartialShape row;
  const auto merge = [&](int i, const PartialShape& shape) -> Status {
    StatusOr<PartialShape> merged = context->Merge(row, shape);
    if (!merged.ok()) return InputError(*context, i, merged.status());
    row = *std::move(merged);
    return absl::OkStatus();
  };
  for (int i = 0; i < parts.num_rows; ++i) {
    MS_ASSIGN_OR_RETURN(const PartialShape rows, context->WithRankAtLeast(i, 1));
    if (!rows.known_rank()) continue;
    MS_RETURN_IF_ERROR(merge(i, PartialShape(rows.dims().subspan(1))));
  }
  const int first_other = static_cast<int>(parts.num_rows + parts.num_states);
  for (int i = 0; i < context->num_inputs(); ++i) {
    const bool is_state = i >= parts.num_rows && i < first_other;
    if (is_state || i >= parts.first_given) MS_RETURN_IF_ERROR(merge(i, context->input(i)));
  }
  for (int o = 0; o < context->num_outputs(); ++o) {
    if (o >= parts.num_tensors) {
      context->SetOutput(o, row);
    } else if (row.known_rank()) {
      PartialShape rows({sizes[static_cast<size_t>(o)]});
      for (const int64_t dim : row.dims()) rows.AddDim(dim);
      context->SetOutput(o, std::move(rows));
    }
  }
  return absl::OkStatus();
}

MILLSTREAM_OP("_ScanRows")
    .Input("args: N * T")
    .Output("results: M * T")
    .Attr("N: int >= 1")
    .Attr("M: int >= 1")
    .Attr("T: {float}")
    .Attr("num_rows: int >= 0")
    .Attr("num_states: int >= 1")
    .Attr("firsts: list(int)")
    .Attr("strides: list(int)")
    .Attr("iterations: int >= 1")
    .Attr("sizes: list(int)")
    .Attr("places: list(int)")
    .Attr("steps: list(string) >= 1")
    .Attr("operands: list(int)")
    .Attr("results: list(int)")
    .Attr("compile: bool = false")
    .Shape(ScanRowsShape)
    .Doc(R"(Runs elementwise ops on the rows of tensors, with variables from one row to the next.

The first of args are tensors of rows, as many as num_rows; then come the initial values of
num_states variables, then what all iterations read, then rows that results have besides those
that are computed. The ops are described as those of _FusedElementwise; of what they give, results
has the numbers of the rows to write, then of the next values of the variables. The results are
tensors with as many rows as sizes says, each of which is written once, then the last values of the
variables. Rows and variables have one shape. In iteration i, row firsts[k] + i * strides[k] of
tensor k is read or written; those that are read come first. places has, for each of the last args,
the number of the result and of the row where it goes.)");

}  // namespace
}  // namespace millstream
