#include "framework/plugin/testing/loader_fixture.h"

#include <filesystem>
#include <utility>

#include "framework/op_registry.h"
#include "framework/plugin/host_interfaces.h"
#include "framework/plugin/testing/stub_interfaces.h"

namespace millstream {
LoaderTest::LoaderTest() {
  RegisterStubInterfaces();
  SetHostLogLevel(MS_LOG_ERROR + 1);
  Restart(PluginLoaderOptions());
}

void LoaderTest::Restart(PluginLoaderOptions options) {
  loader_.reset();
  kernels_ = std::make_unique<KernelRegistry>();
  ops_ = std::make_unique<OpRegistry>();
  ASSERT_TRUE(ops_->Register(OpSpec("FixtureDouble")
                                 .Input("x: T")
                                 .Output("y: T")
                                 .Attr("T: {float, double}")
                                 .Doc("Twice x; for tests.")
                                 .Build()
                                 .value())
                  .ok());
  loader_ = std::make_unique<PluginLoader>(kernels_.get(), ops_.get(), std::move(options));
}

PluginRecord LoaderTest::RecordOf(absl::string_view file) const {
  for (const PluginRecord& record : loader_->Records()) {
    if (std::filesystem::path(record.path).filename() == std::string(file)) return record;
  }
  ADD_FAILURE() << "no record of " << file;
  return PluginRecord();
}

}  // namespace millstream
