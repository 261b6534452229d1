// What the C++ layer of plugins does with exceptions: each becomes a status with the words of
// what(), and none gets out.
#include <stdexcept>
#include <string>

#include "framework/plugin/host_interfaces.h"
#include "framework/plugin/host_status.h"
#include "framework/plugin/plugin_entry.hpp"
#include "framework/plugin/testing/stub_interfaces.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

constexpr char kWhat[] = "thrown on purpose";

[[noreturn]] void Throw() { throw std::runtime_error(kWhat); }

// Each of these throws in one place alone.
struct ThrowsInConstructor {
  ThrowsInConstructor() { Throw(); }
  ms::Status Compute(ms::Frame&) const { return ms::Status(); }
};
struct ThrowsInInit {
  ms::Status Init(const ms::KernelInfo&) { Throw(); }
  ms::Status Compute(ms::Frame&) const { return ms::Status(); }
};
struct ThrowsInCompute {
  ms::Status Compute(ms::Frame&) const { Throw(); }
};
struct ThrowsInSpecialize {
  ms::Status Specialize(ms::Specialization&) const { Throw(); }
  ms::Status Compute(ms::Frame&) const { return ms::Status(); }
};
struct ThrowsANumber {
  ms::Status Compute(ms::Frame&) const { throw 42; }  // what nobody can read
};

struct Definition : ms::PluginDefaults {
  static ms::Status Init(const ms::PluginOptions&) { Throw(); }
  static ms::Status RegisterAll(MS_Registrar*) { Throw(); }
  static const MS_Table* GetInterface(std::string_view) { Throw(); }
  static void Shutdown() { Throw(); }
};

class PluginLayerTest : public ::testing::Test {
 protected:
  PluginLayerTest() {
    RegisterStubInterfaces();
    EXPECT_TRUE(ms::BindHost(HostBase()).ok());
  }
  static void ExpectThrown(MS_Status* status) {
    const Status taken = TakeAbiStatus(status);
    EXPECT_EQ(taken.code(), absl::StatusCode::kInternal);
    EXPECT_EQ(taken.message(), kWhat);
  }
  template <typename Kernel>
  using Functions = ms::KernelFunctions<Kernel>;
};

TEST_F(PluginLayerTest, OfMakingAKernel) {
  void* state = nullptr;
  ExpectThrown(Functions<ThrowsInConstructor>::Create(nullptr, nullptr, &state));
  EXPECT_EQ(state, nullptr);
  ExpectThrown(Functions<ThrowsInInit>::Create(nullptr, nullptr, &state));
  EXPECT_EQ(state, nullptr);
}

TEST_F(PluginLayerTest, OfRunningAKernel) {
  ThrowsInCompute kernel;
  MS_Frame frame = {};
  ExpectThrown(Functions<ThrowsInCompute>::Compute(&kernel, &frame));
  ThrowsInSpecialize special;
  MS_Specialization specialization = {};
  ExpectThrown(Functions<ThrowsInSpecialize>::Specialize(&special, &specialization));
  EXPECT_EQ(specialization.shape_state, nullptr);
}

struct MakesTooLongAShape {
  ms::Status Compute(ms::Frame& frame) const {
    const int64_t ones[MS_MAX_RANK + 1] = {};
    ms::Shape shape(ones, MS_MAX_RANK);
    if (frame.raw() != nullptr) shape.Append(1);
    return ms::Status();
  }
};

TEST_F(PluginLayerTest, OfAShapeOfTooManyDimensions) {
  MakesTooLongAShape kernel;
  MS_Frame frame = {};
  const Status status = TakeAbiStatus(Functions<MakesTooLongAShape>::Compute(&kernel, &frame));
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_EQ(status.message(), "a shape has at most 32 dimensions");
  const int64_t ones[MS_MAX_RANK + 1] = {};
  EXPECT_THROW(ms::Shape(ones, MS_MAX_RANK + 1), std::length_error);
}

TEST_F(PluginLayerTest, ThatAreNoExceptionsHaveASentenceOfOurs) {
  ThrowsANumber kernel;
  MS_Frame frame = {};
  const Status status = TakeAbiStatus(Functions<ThrowsANumber>::Compute(&kernel, &frame));
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_EQ(status.message(), "an exception of unknown type left a plugin function");
}

TEST_F(PluginLayerTest, OfThePlugin) {
  using Plugin = ms::PluginFunctions<Definition>;
  ExpectThrown(Plugin::Init(nullptr, nullptr, 0));
  ExpectThrown(Plugin::RegisterAll(nullptr, nullptr));
  // These cannot say it.
  EXPECT_EQ(Plugin::GetInterface(nullptr, "ms.devices/1"), nullptr);
  Plugin::Shutdown(nullptr);
}

}  // namespace
}  // namespace millstream
