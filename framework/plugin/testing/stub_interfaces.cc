#include "framework/plugin/testing/stub_interfaces.h"

#include <type_traits>

#include "framework/plugin/host_interfaces.h"
#include "framework/plugin/host_status.h"
#include "framework/plugin/plugin.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

// A function of any signature that says it is not there.
template <typename Result, typename... Arguments>
Result Refuse(Arguments...) {
  if constexpr (std::is_same_v<Result, MS_Status*>) {
    return MakeAbiStatus(MS_UNIMPLEMENTED, "a stub of a test was called");
  } else if constexpr (!std::is_void_v<Result>) {
    return Result();
  }
}

template <typename Result, typename... Arguments>
void Fill(Result (**slot)(Arguments...)) {
  *slot = &Refuse<Result, Arguments...>;
}

}  // namespace

MS_CtxApi StubCtxApi() {
  MS_CtxApi ctx = {{sizeof(MS_CtxApi), 1, MS_ABI_MINOR, MS_CTX_API}};
  Fill(&ctx.allocate_output);
  Fill(&ctx.forward_or_allocate);
  Fill(&ctx.set_output);
  Fill(&ctx.allocate_temp);
  Fill(&ctx.cancel_check);
  Fill(&ctx.done);
  Fill(&ctx.rng_reserve);
  Fill(&ctx.input_list);
  Fill(&ctx.output_list);
  Fill(&ctx.expected_output_dtype);
  Fill(&ctx.step_id);
  Fill(&ctx.input_tensor);
  Fill(&ctx.cancel_register);
  Fill(&ctx.cancel_deregister);
  Fill(&ctx.defer_release);
  Fill(&ctx.trace_begin);
  Fill(&ctx.trace_end);
  Fill(&ctx.wrap_device);
  return ctx;
}

void RegisterStubInterfaces(const MS_CtxApi* ctx) {
  static const MS_CtxApi stub_ctx = StubCtxApi();
  static MS_ResourceApi resource = {{sizeof(MS_ResourceApi), 1, MS_ABI_MINOR, MS_RESOURCE_API}};
  Fill(&resource.vars_lock);
  Fill(&resource.var_view);
  Fill(&resource.var_prepare_write);
  Fill(&resource.var_replace);
  Fill(&resource.vars_unlock);
  Fill(&resource.handle_read);
  Fill(&resource.create);
  Fill(&resource.lookup);
  Fill(&resource.lookup_or_create);
  Fill(&resource.release);
  static MS_ThreadsApi threads = {{sizeof(MS_ThreadsApi), 1, MS_ABI_MINOR, MS_THREADS_API}};
  Fill(&threads.num_threads);
  Fill(&threads.parallel_for);
  Fill(&threads.schedule);
  const MS_CtxApi* const used_ctx = ctx != nullptr ? ctx : &stub_ctx;
  for (const MS_Table* table : {&used_ctx->head, static_cast<const MS_Table*>(&resource.head),
                                static_cast<const MS_Table*>(&threads.head)}) {
    ASSERT_TRUE(RegisterHostInterface(table).ok());
  }
}

}  // namespace millstream
