// Random programs of loops and conditionals, every node on a random one of two simulated devices
// and the CPU, give the same bits as on one device whatever the delays.
#include <string>
#include <vector>

#include "core/dynamic/random_program.h"
#include "core/on_device/device_session_fixture.h"
#include "framework/testing/hang_guard.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

// The vocabulary of tests, and no test itself.
class Program : public RandomProgramTest {
 public:
  Program(int seed, const std::vector<std::string>& devices) : RandomProgramTest(seed) {
    LoadSims();
    fetches_ = Build();
    PlaceAtRandom(devices);
  }
  void TestBody() override {}

  void Open(int threads) {
    SessionOptions session_options;
    session_options.inter_op_threads = threads;
    session_options.intra_op_threads = 1;
    session_options.allow_soft_placement = true;
    session_options.operation_timeout_ms = kHangGuardMillis;
    StartSession(session_options);
  }
  std::vector<Tensor> RunWith(float value) {
    const auto results = Run(fetches_, {{x, Tensor::Scalar<float>(value)}});
    EXPECT_TRUE(results.ok()) << results.status();
    return results.ok() ? *results : std::vector<Tensor>();
  }
  using RandomProgramTest::ExpectSameBits;

 private:
  Outputs fetches_;
};

class RandomLoopsTest : public ::testing::TestWithParam<int> {};

TEST_P(RandomLoopsTest, GiveTheSameBitsOnSeveralDevices) {
  Program alone(GetParam(), {"/device:SIM:0"});
  alone.Open(1);
  Program spread(GetParam(), {"/device:SIM:0", "/device:SIM:1", "/device:CPU:0"});
  for (const int threads : {1, 3}) {
    spread.Open(threads);
    for (int sim = 0; sim < 2; ++sim) SetOnSims(sim, "delay_us", 20);
    for (const float value : {-1.5f, 0.75f}) {
      SCOPED_TRACE(value);
      Program::ExpectSameBits(spread.RunWith(value), alone.RunWith(value));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomLoopsTest, ::testing::Range(1, 41));

}  // namespace
}  // namespace millstream
