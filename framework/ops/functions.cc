// Calls of functions: of the graph's library, which an import expands
// (core/import/import_functions.h), and of the front end (core/host/front_end_function.h).
#include "framework/op_registry.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

// The body tells the shapes, once the call is expanded; of the front end's functions nothing does.
Status UnknownShapes(ShapeContext*) { return absl::OkStatus(); }

void CallAttrs(OpSpec* spec) {
  spec->Input("args: Tin")
      .Output("output: Tout")
      .Attr("Tin: list(type) >= 0")
      .Attr("Tout: list(type) >= 0")
      .Attr("f: func")
      .Attr("config: string = ''")
      .Attr("config_proto: string = ''")
      .Attr("executor_type: string = ''")
      .Shape(UnknownShapes);
}

MILLSTREAM_OP("PartitionedCall").With(CallAttrs).Doc(R"(Calls a function of the graph's library.

Tin and Tout are the types of the function's arguments and results. The function has no effects.
Calls come with imported graphs, which hold the library; config, config_proto and executor_type are
kept and not used.)");

MILLSTREAM_OP("StatefulPartitionedCall")
    .With(CallAttrs)
    .Stateful()
    .Doc(R"(Calls a function of the graph's library, which may have effects.

As PartitionedCall. The call ends when the function's stateful ops have run.)");

MILLSTREAM_OP("SymbolicGradient")
    .Input("input: Tin")
    .Output("output: Tout")
    .Attr("Tin: list(type) >= 1")
    .Attr("Tout: list(type) >= 1")
    .Attr("f: func")
    .Shape(UnknownShapes)
    .Doc(R"(Gives the gradients of a function of the graph's library.

input has the arguments of f, and then a gradient for each of its results. The outputs are the
gradients of the arguments, zeros for one that does not matter.)");

void PythonFunction(OpSpec* spec) {
  spec->Input("input: Tin")
      .Output("output: Tout")
      .Attr("token: string")
      .Attr("Tin: list(type) >= 0")
      .Attr("Tout: list(type) >= 0")
      .Touches("code")
      .Shape(UnknownShapes);
}

MILLSTREAM_OP("PyFunc")
    .With(PythonFunction)
    .Stateful()
    .Doc(
        R"(Calls a Python function, which the program registered under token.

The function gets the inputs as arrays that it may write to. It gives an array for each type of Tout.)");

MILLSTREAM_OP("PyFuncStateless")
    .With(PythonFunction)
    .Doc(R"(Calls a Python function that gives the same for the same inputs, and has no effects.

The function was registered by the program under token. It gets the inputs as arrays that it may
write to, and gives an array for each type of Tout.)");

}  // namespace
}  // namespace millstream
