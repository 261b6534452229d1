// Calls of functions of the graph's library. An import expands them
// (core/import/import_functions.h).
#include "framework/op_registry.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

// The body tells the shapes, once the call is expanded.
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

}  // namespace
}  // namespace millstream
