// Random programs of loops and conditionals, every node on a random one of three CPUs, give the
// same bits as on one CPU.
#include <vector>

#include "core/dynamic/random_program.h"
#include "framework/testing/hang_guard.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

class RandomLoopsTest : public RandomProgramTest, public ::testing::WithParamInterface<int> {
 protected:
  RandomLoopsTest() : RandomProgramTest(GetParam()) {}

  std::vector<Tensor> RunOn(int cpus, int threads, const Outputs& fetches, float value) {
    SessionOptions session_options;
    session_options.device_count["CPU"] = cpus;
    session_options.inter_op_threads = threads;
    session_options.intra_op_threads = 1;
    session_options.allow_soft_placement = true;  // all on one CPU
    session_options.operation_timeout_ms = kHangGuardMillis;
    StartSession(session_options);
    const auto results = Run(fetches, {{x, Tensor::Scalar<float>(value)}});
    EXPECT_TRUE(results.ok()) << results.status();
    return results.ok() ? *results : std::vector<Tensor>();
  }
};

TEST_P(RandomLoopsTest, GiveTheSameBitsOnThreeDevices) {
  const Outputs fetches = Build();
  PlaceAtRandom({"/cpu:0", "/cpu:1", "/cpu:2"});
  for (const float value : {-1.5f, 0.75f}) {
    const std::vector<Tensor> alone = RunOn(1, 1, fetches, value);
    for (const int threads : {1, 3}) {
      SCOPED_TRACE(value);
      ExpectSameBits(RunOn(3, threads, fetches, value), alone);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomLoopsTest, ::testing::Range(1, 101));

}  // namespace
}  // namespace millstream
