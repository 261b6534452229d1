// A loader with registries of its own, for tests. Its plugins' op FixtureDouble is registered.
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_TESTING_LOADER_FIXTURE_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_TESTING_LOADER_FIXTURE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "framework/op_registry.h"
#include "framework/plugin/loader.h"
#include "framework/plugin/testing/fixture_files.h"
#include "gtest/gtest.h"

namespace millstream {

class LoaderTest : public ::testing::Test {
 protected:
  // The loader finds what it is told to find, and tries nothing in another process.
  LoaderTest();

  // Begins anew, with nothing loaded.
  void Restart(PluginLoaderOptions options);

  static std::string Message(const Status& status) { return std::string(status.message()); }
  std::vector<const KernelRegistration*> Kernels() const {
    return kernels_->KernelsOf("FixtureDouble");
  }
  // The record of the file of that name; fails the test when there is none.
  PluginRecord RecordOf(absl::string_view file) const;

  std::unique_ptr<OpRegistry> ops_;
  std::unique_ptr<KernelRegistry> kernels_;
  std::unique_ptr<PluginLoader> loader_;
  TemporaryFolder folder_;
};

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_TESTING_LOADER_FIXTURE_H_
