#include "framework/plugin/testing/async_kernel_ops.h"

#include "framework/op_registry.h"
#include "framework/plugin/testing/fixture_files.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

MILLSTREAM_OP("TestAsync")
    .Input("x: T")
    .Output("y: T")
    .Attr("T: {float, double, int32, int64, bool}")
    .Attr("delay_ms: int = 1")
    .Attr("error: string = \"\"")
    .Stateful()
    .Shape(UnchangedShape)
    .Doc(
        "Gives x, from another thread, after delay_ms; fails with ABORTED and the text `error` if "
        "there is one, and with CANCELLED within a few milliseconds of the step's cancellation.");

MILLSTREAM_OP("TestBlocking")
    .Input("x: T")
    .Output("y: T")
    .Attr("T: {float, double, int32, int64, bool}")
    .Attr("delay_ms: int = 1")
    .Attr("error: string = \"\"")
    .Stateful()
    .Shape(UnchangedShape)
    .Doc("As TestAsync, but holds the thread that runs it. Its kernel says that it blocks.");

MILLSTREAM_OP("TestAllocateAndFail")
    .Input("x: T")
    .Output("y: T")
    .Attr("T: {float, double, int32, int64, bool}")
    .Stateful()
    .Doc("Allocates an output like x, whose shape no plan knows, fills it and fails with ABORTED.");

}  // namespace

Status LoadAsyncKernels(PluginLoader* loader) {
  return loader->Load(FixturePath("async_kernels")).status();
}

}  // namespace millstream
