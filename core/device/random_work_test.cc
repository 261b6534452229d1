// Random copies and kernels on all streams of two devices with little memory and random delays:
// whoever gets memory that others had finds his own bytes in it.
#include <atomic>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "core/device/sim_memory.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

constexpr int kOperations = 2000;
constexpr size_t kMostAlive = 24;  // on a device; together they may be more than it has

class RandomWorkTest : public ::testing::TestWithParam<std::tuple<int, bool>> {
 protected:
  RandomWorkTest() : random_(static_cast<unsigned>(seed())) {
    const std::map<std::string, uint64_t> switches = {
        {"memory_mb", 1}, {"delay_us", 40}, {"seed", static_cast<uint64_t>(seed())}};
    for (uint32_t ordinal = 0; ordinal < 2; ++ordinal) {
      memories_.push_back(std::make_unique<SimMemory>(
          switches, ordinal, is_plain() ? &RemoveOptionalFunctions : nullptr));
    }
  }

  // A tensor in a device's memory all of whose words are `word`.
  struct Known {
    Tensor tensor;
    uint32_t word = 0;
  };

  static int seed() { return std::get<0>(GetParam()); }
  static bool is_plain() { return std::get<1>(GetParam()); }
  int Below(size_t n) { return static_cast<int>(random_() % n); }
  // Of a size of its own, so that blocks are cut and joined.
  int64_t AnySize() { return 1 + Below(Below(4) == 0 ? 30000 : 5000); }

  void Keep(int device, StatusOr<Tensor> tensor, uint32_t word) {
    if (!tensor.ok()) {
      EXPECT_EQ(tensor.status().code(), absl::StatusCode::kResourceExhausted) << tensor.status();
      alive_[device].clear();
      return;
    }
    alive_[device].push_back(Known{*std::move(tensor), word});
  }
  void Drop(int device) {
    std::vector<Known>& alive = alive_[device];
    std::swap(alive[Below(alive.size())], alive.back());
    alive.pop_back();
  }
  void Fill(int device, uint32_t word) {
    StatusOr<Tensor> tensor =
        memories_[device]->get()->Allocate(DataType::kUInt32, Shape({AnySize()}));
    const Status filled = tensor.ok() ? memories_[device]->Fill(*tensor, word) : absl::OkStatus();
    EXPECT_EQ(filled, absl::OkStatus());
    Keep(device, std::move(tensor), word);
  }
  void Look(int device, const Known& known) {
    ++looks_;
    const auto look = [this, word = known.word](const Tensor& host) {
      for (const uint32_t found : host.flat<uint32_t>()) wrong_ += found != word;
      ++seen_;
    };
    ASSERT_TRUE(memories_[device]->get()->CopyToHost(known.tensor, look).ok());
  }
  void CopyFromOther(int device) {
    const std::vector<Known>& others = alive_[1 - device];
    if (others.empty() || is_plain()) return;
    const Known& known = others[Below(others.size())];
    const StatusOr<EventRef> ready = memories_[1 - device]->get()->MarkCompute();
    ASSERT_TRUE(ready.ok());
    Keep(device, memories_[device]->get()->CopyFromPeer(known.tensor, *ready), known.word);
  }

  void DoAnything(uint32_t number) {
    const int device = Below(2);
    SimMemory& memory = *memories_[device];
    std::vector<Known>& alive = alive_[device];
    while (alive.size() > kMostAlive) Drop(device);
    switch (Below(6)) {
      case 0:
      case 1: return Keep(device, memory->CopyToDevice(HostWords(AnySize(), number)), number);
      case 2: return Fill(device, number);
      case 3: return CopyFromOther(device);
      default: break;
    }
    if (alive.empty()) return;
    const Known known = alive[Below(alive.size())];
    if (Below(2) == 0) return Keep(device, memory->Duplicate(known.tensor), known.word);
    Look(device, known);
    Drop(device);
  }

  std::minstd_rand random_;
  int looks_ = 0;
  std::atomic<int> seen_{0};
  std::atomic<int64_t> wrong_{0};
  std::vector<std::unique_ptr<SimMemory>> memories_;
  std::vector<Known> alive_[2];  // goes before the memories
};

TEST_P(RandomWorkTest, EveryTensorHasItsOwnBytes) {
  for (uint32_t i = 1; i <= kOperations; ++i) DoAnything(i);
  for (int device = 0; device < 2; ++device) {
    for (const Known& known : alive_[device]) Look(device, known);
  }
  for (const auto& memory : memories_) memory->AwaitAll();
  EXPECT_EQ(seen_, looks_);
  EXPECT_EQ(wrong_, 0);
  EXPECT_GT(looks_, 100);
  for (int device = 0; device < 2; ++device) {
    EXPECT_EQ(memories_[device]->get()->ErrorSince(0), absl::OkStatus());
    alive_[device].clear();
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomWorkTest,
                         ::testing::Combine(::testing::Range(1, 6), ::testing::Bool()));

}  // namespace
}  // namespace millstream
