// Cells of recurrent networks, each as one operation, and runs of them over sequences.
#include <initializer_list>
#include <utility>

#include "framework/op_registry.h"
#include "framework/ops/op_errors.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

// The sizes that the arguments of a cell share; those that are not known are kUnknownDim.
struct CellSizes {
  int64_t time = kUnknownDim;
  int64_t batch = kUnknownDim;
  int64_t input = kUnknownDim;
  int64_t units = kUnknownDim;
};

int64_t TimesOf(int64_t count, int64_t size) {
  return size == kUnknownDim ? kUnknownDim : count * size;
}

int64_t SumOf(int64_t a, int64_t b) {
  return a == kUnknownDim || b == kUnknownDim ? kUnknownDim : a + b;
}

// Input i must have these dimensions. What is not known of them is taken from it.
Status Match(const ShapeContext& context, int i, std::initializer_list<int64_t*> dims) {
  MS_ASSIGN_OR_RETURN(const PartialShape shape, context.WithRank(i, static_cast<int>(dims.size())));
  int axis = 0;
  for (int64_t* dim : dims) {
    const StatusOr<int64_t> merged = context.MergeDim(*dim, shape.dim(axis++));
    if (!merged.ok()) return InputError(context, i, merged.status());
    *dim = *merged;
  }
  return absl::OkStatus();
}

// A kernel, input i, of `columns` columns a unit.
Status MatchKernel(const ShapeContext& context, int i, int columns, const CellSizes& sizes) {
  int64_t rows = SumOf(sizes.input, sizes.units);
  int64_t width = TimesOf(columns, sizes.units);
  return Match(context, i, {&rows, &width});
}

// A bias, input i, of `columns` elements a unit.
Status MatchBias(const ShapeContext& context, int i, int columns, const CellSizes& sizes) {
  int64_t width = TimesOf(columns, sizes.units);
  return Match(context, i, {&width});
}

// The arguments of an LSTM from x on, which is input `first`: x, cs_prev, h_prev, w, wci, wcf, wco
// and b. A run over sequences has a dimension more in x.
Status MatchLstm(const ShapeContext& context, int first, CellSizes* sizes) {
  if (first > 0) {
    MS_RETURN_IF_ERROR(context.WithRank(0, 0).status());
    MS_RETURN_IF_ERROR(Match(context, first, {&sizes->time, &sizes->batch, &sizes->input}));
  } else {
    MS_RETURN_IF_ERROR(Match(context, first, {&sizes->batch, &sizes->input}));
  }
  for (int i = first + 1; i <= first + 2; ++i) {
    MS_RETURN_IF_ERROR(Match(context, i, {&sizes->batch, &sizes->units}));
  }
  for (int i = first + 4; i <= first + 6; ++i) {
    MS_RETURN_IF_ERROR(Match(context, i, {&sizes->units}));
  }
  MS_RETURN_IF_ERROR(MatchKernel(context, first + 3, 4, *sizes));
  return MatchBias(context, first + 7, 4, *sizes);
}

// Inputs `begin` to `end` - 1 are gates or states: of each step where there are several.
Status MatchStates(const ShapeContext& context, int begin, int end, bool has_time,
                   CellSizes* sizes) {
  for (int i = begin; i < end; ++i) {
    if (has_time) {
      MS_RETURN_IF_ERROR(Match(context, i, {&sizes->time, &sizes->batch, &sizes->units}));
    } else {
      MS_RETURN_IF_ERROR(Match(context, i, {&sizes->batch, &sizes->units}));
    }
  }
  return absl::OkStatus();
}

Status LstmCellShape(ShapeContext* context) {
  CellSizes sizes;
  MS_RETURN_IF_ERROR(MatchLstm(*context, 0, &sizes));
  for (int i = 0; i < 7; ++i) context->SetOutput(i, PartialShape({sizes.batch, sizes.units}));
  return absl::OkStatus();
}

Status LstmShape(ShapeContext* context) {
  CellSizes sizes;
  MS_RETURN_IF_ERROR(MatchLstm(*context, 1, &sizes));
  for (int i = 0; i < 7; ++i) {
    context->SetOutput(i, PartialShape({sizes.time, sizes.batch, sizes.units}));
  }
  return absl::OkStatus();
}

Status LstmCellGradShape(ShapeContext* context) {
  CellSizes sizes;
  MS_RETURN_IF_ERROR(MatchLstm(*context, 0, &sizes));
  MS_RETURN_IF_ERROR(MatchStates(*context, 8, 16, false, &sizes));
  context->SetOutput(0, PartialShape({sizes.batch, sizes.units}));
  context->SetOutput(1, PartialShape({sizes.batch, TimesOf(4, sizes.units)}));
  for (int i = 2; i < 5; ++i) context->SetOutput(i, PartialShape({sizes.units}));
  return absl::OkStatus();
}

Status LstmGradShape(ShapeContext* context) {
  CellSizes sizes;
  MS_RETURN_IF_ERROR(MatchLstm(*context, 1, &sizes));
  MS_RETURN_IF_ERROR(MatchStates(*context, 9, 18, true, &sizes));
  const int64_t width = TimesOf(4, sizes.units);
  context->SetOutput(0, PartialShape({sizes.time, sizes.batch, sizes.input}));
  for (int i = 1; i < 3; ++i) context->SetOutput(i, PartialShape({sizes.batch, sizes.units}));
  context->SetOutput(3, PartialShape({SumOf(sizes.input, sizes.units), width}));
  for (int i = 4; i < 7; ++i) context->SetOutput(i, PartialShape({sizes.units}));
  context->SetOutput(7, PartialShape({width}));
  return absl::OkStatus();
}

// x, h_prev, w_ru, w_c, b_ru and b_c.
Status MatchGru(const ShapeContext& context, CellSizes* sizes) {
  MS_RETURN_IF_ERROR(Match(context, 0, {&sizes->batch, &sizes->input}));
  MS_RETURN_IF_ERROR(Match(context, 1, {&sizes->batch, &sizes->units}));
  for (int i = 0; i < 2; ++i) {
    MS_RETURN_IF_ERROR(MatchKernel(context, 2 + i, 2 - i, *sizes));
    MS_RETURN_IF_ERROR(MatchBias(context, 4 + i, 2 - i, *sizes));
  }
  return absl::OkStatus();
}

Status GruCellShape(ShapeContext* context) {
  CellSizes sizes;
  MS_RETURN_IF_ERROR(MatchGru(*context, &sizes));
  for (int i = 0; i < 4; ++i) context->SetOutput(i, PartialShape({sizes.batch, sizes.units}));
  return absl::OkStatus();
}

Status GruCellGradShape(ShapeContext* context) {
  CellSizes sizes;
  MS_RETURN_IF_ERROR(MatchGru(*context, &sizes));
  MS_RETURN_IF_ERROR(MatchStates(*context, 6, 10, false, &sizes));
  context->SetOutput(0, PartialShape({sizes.batch, sizes.input}));
  for (int i = 1; i < 3; ++i) context->SetOutput(i, PartialShape({sizes.batch, sizes.units}));
  context->SetOutput(3, PartialShape({sizes.batch, TimesOf(2, sizes.units)}));
  return absl::OkStatus();
}

// ---- What definitions share ----

void LstmArguments(OpSpec* spec) {
  for (const char* name : {"x", "cs_prev", "h_prev", "w", "wci", "wcf", "wco", "b"}) {
    spec->Input(absl::StrCat(name, ": T"));
  }
}

void StatesAsInputs(OpSpec* spec) {
  for (const char* name : {"i", "cs", "f", "o", "ci", "co"}) {
    spec->Input(absl::StrCat(name, ": T"));
  }
}

void StatesAsOutputs(OpSpec* spec) {
  for (const char* name : {"i", "cs", "f", "o", "ci", "co", "h"}) {
    spec->Output(absl::StrCat(name, ": T"));
  }
}

constexpr absl::string_view kTypes = "T: {half, float}";

void GradAttributes(OpSpec* spec) { spec->Attr("use_peephole: bool").Attr(kTypes); }

void LstmGradArguments(OpSpec* spec) {
  (*spec)
      .Input("seq_len_max: int64")
      .With(LstmArguments)
      .With(StatesAsInputs)
      .Input("h: T")
      .Input("cs_grad: T")
      .Input("h_grad: T")
      .Output("x_grad: T")
      .Output("cs_prev_grad: T")
      .Output("h_prev_grad: T")
      .Output("w_grad: T")
      .Output("wci_grad: T")
      .Output("wcf_grad: T")
      .Output("wco_grad: T")
      .Output("b_grad: T")
      .With(GradAttributes)
      .Shape(LstmGradShape);
}

// ---- Long short-term memory ----

MILLSTREAM_OP("LSTMBlockCell")
    .With(LstmArguments)
    .With(StatesAsOutputs)
    .Attr("forget_bias: float = 1")
    .Attr("cell_clip: float = 3")
    .Attr("use_peephole: bool = false")
    .Attr(kTypes)
    .Shape(LstmCellShape)
    .Doc(R"(Computes one step of long short-term memory.

x is [batch, input]; cs_prev and h_prev, the memory and the output of the step before, are
[batch, units]. The gates are [x, h_prev] * w + b: four columns a unit, of which those of the
input gate i come first, then those of the new values ci, of the forget gate f, to which
forget_bias is added, and of the output gate o. With use_peephole the gates see the memory too,
by the weights wci, wcf and wco, one a unit. cs = ci * i + cs_prev * f is the memory, cut off at
cell_clip if that is positive; co = tanh(cs), and h = co * o is the output.)");

MILLSTREAM_OP("LSTMBlockCellGrad")
    .With(LstmArguments)
    .With(StatesAsInputs)
    .Input("cs_grad: T")
    .Input("h_grad: T")
    .Output("cs_prev_grad: T")
    .Output("dicfo: T")
    .Output("wci_grad: T")
    .Output("wcf_grad: T")
    .Output("wco_grad: T")
    .With(GradAttributes)
    .Shape(LstmCellGradShape)
    .Doc(R"(Computes gradients of LSTMBlockCell.

i to co are its outputs, cs_grad and h_grad the gradients for cs and h. dicfo is the gradient for
the gates before their functions, from which those for x, h_prev, w and b follow. cell_clip counts
as if it had cut nothing off.)");

MILLSTREAM_OP("BlockLSTM")
    .Input("seq_len_max: int64")
    .With(LstmArguments)
    .With(StatesAsOutputs)
    .Attr("forget_bias: float = 1")
    .Attr("cell_clip: float = 3")
    .Attr("use_peephole: bool = false")
    .Attr(kTypes)
    .Shape(LstmShape)
    .Doc(R"(Runs LSTMBlockCell over the steps of sequences.

x is [time, batch, input], and the outputs have those of all steps. The steps from seq_len_max on
are not computed and give zeros.)");

MILLSTREAM_OP("BlockLSTMV2")
    .Input("seq_len_max: int64")
    .With(LstmArguments)
    .With(StatesAsOutputs)
    .Attr("cell_clip: float = 0")
    .Attr("use_peephole: bool = false")
    .Attr(kTypes)
    .Shape(LstmShape)
    .Doc(R"(Runs an LSTM over the steps of sequences.

It is BlockLSTM without forget_bias, and with the columns of the forget gate before those of the
new values.)");

MILLSTREAM_OP("BlockLSTMGrad").With(LstmGradArguments).Doc(R"(Computes gradients of BlockLSTM.

i to h are its outputs, cs_grad and h_grad the gradients for cs and h of all steps. cell_clip
counts as if it had cut nothing off.)");

MILLSTREAM_OP("BlockLSTMGradV2")
    .With(LstmGradArguments)
    .Doc(R"(Computes gradients of BlockLSTMV2, as BlockLSTMGrad does those of BlockLSTM.)");

// ---- Gated recurrent units ----

MILLSTREAM_OP("GRUBlockCell")
    .Input("x: T")
    .Input("h_prev: T")
    .Input("w_ru: T")
    .Input("w_c: T")
    .Input("b_ru: T")
    .Input("b_c: T")
    .Output("r: T")
    .Output("u: T")
    .Output("c: T")
    .Output("h: T")
    .Attr("T: {float}")
    .Shape(GruCellShape)
    .Doc(R"(Computes one step of gated recurrent units.

x is [batch, input], h_prev, the output of the step before, [batch, units]. The gates r (reset) and
u (update) are sigmoid([x, h_prev] * w_ru + b_ru), each of one column a unit. The candidate is
c = tanh([x, r * h_prev] * w_c + b_c), the output h = u * h_prev + (1 - u) * c.)");

MILLSTREAM_OP("GRUBlockCellGrad")
    .Input("x: T")
    .Input("h_prev: T")
    .Input("w_ru: T")
    .Input("w_c: T")
    .Input("b_ru: T")
    .Input("b_c: T")
    .Input("r: T")
    .Input("u: T")
    .Input("c: T")
    .Input("d_h: T")
    .Output("d_x: T")
    .Output("d_h_prev: T")
    .Output("d_c_bar: T")
    .Output("d_r_bar_u_bar: T")
    .Attr("T: {float}")
    .Shape(GruCellGradShape)
    .Doc(R"(Computes gradients of GRUBlockCell.

r, u and c are its outputs, d_h the gradient for h. d_c_bar and d_r_bar_u_bar are the gradients for
the candidate and the gates before their functions, from which those for kernels and biases follow.)");

}  // namespace
}  // namespace millstream
