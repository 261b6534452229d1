// Random graphs of copies on many streams, ordered by events alone, give the bits that the copies
// give one after the other, whatever the delays.
#include <array>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "device_plugins/sim/sim_fixture.h"

namespace millstream {
namespace {

constexpr int kGraphs = 1000;
constexpr int kCopies = 24;
constexpr size_t kStreams = 3;  // a device
constexpr uint64_t kBytes = 64;

// A block of one device, or of host memory.
struct Slot {
  int device;  // -1: the host
  MS_MemRef memory;
};

// Part of one slot to another.
struct Move {
  size_t to;
  size_t from;
  uint64_t to_offset;
  uint64_t from_offset;
  uint64_t bytes;
  int device;  // of its stream
  size_t stream;
};

class SimOrderTest : public ::testing::Test {
 protected:
  SimOrderTest() {
    for (int device = 0; device < 2; ++device) {
      devices_[device] = std::make_unique<SimDevice>(
          std::map<std::string, uint64_t>{{"memory_mb", 1}, {"delay_us", 15}, {"seed", 5}}, device);
      for (int i = 0; i < 3; ++i) slots_.push_back({device, devices_[device]->Allocate(kBytes)});
    }
    slots_.push_back({-1, devices_[0]->Allocate(kBytes, MS_SPACE_HOST_PINNED)});
    slots_.push_back({-1, devices_[1]->Allocate(kBytes, MS_SPACE_HOST)});
  }

  size_t Random(size_t below) { return random_() % below; }
  SimDevice& DeviceOf(const Slot& slot) { return *devices_[slot.device < 0 ? 0 : slot.device]; }

  Move RandomMove() {
    Move move = {};
    move.to = Random(slots_.size());
    move.from = Random(slots_.size());
    move.bytes = 1 + Random(kBytes);
    move.to_offset = Random(kBytes - move.bytes + 1);
    move.from_offset = Random(kBytes - move.bytes + 1);
    move.device = slots_[move.to].device;
    // Between two devices any of them may copy; between one and the host that one.
    if (move.device < 0 || (slots_[move.from].device >= 0 && Random(2) == 0)) {
      move.device = slots_[move.from].device;
    }
    if (move.device < 0) move.device = static_cast<int>(Random(2));
    move.stream = Random(kStreams);
    return move;
  }

  // Whether the later one of two may not begin before the other is done.
  static bool Depends(const Move& later, const Move& earlier) {
    return later.to == earlier.to || later.from == earlier.to || later.to == earlier.from;
  }

  MS_MemRef Part(size_t slot, uint64_t offset, uint64_t bytes) const {
    MS_MemRef part = slots_[slot].memory;
    part.offset = offset;
    part.bytes = bytes;
    return part;
  }

  // Enqueues the copies with an event after each, and waits where one depends on another.
  void Run(const std::vector<Move>& moves) {
    for (size_t i = 0; i < moves.size(); ++i) {
      const Move& move = moves[i];
      SimDevice& device = *devices_[move.device];
      MS_Stream* const stream = device.stream(move.stream);
      for (size_t j = 0; j < i; ++j) {
        if (!Depends(move, moves[j])) continue;
        ExpectOk(device->stream_wait_event(stream, devices_[moves[j].device]->event(j)));
      }
      const MS_MemRef to = Part(move.to, move.to_offset, move.bytes);
      const MS_MemRef from = Part(move.from, move.from_offset, move.bytes);
      const bool is_peer = slots_[move.to].device >= 0 && slots_[move.from].device >= 0 &&
                           slots_[move.to].device != slots_[move.from].device;
      ExpectOk(is_peer ? device->copy_peer_async(stream, &to, &from, move.bytes)
                       : device->copy_async(stream, &to, &from, move.bytes));
      ExpectOk(device->event_record(device.event(i), stream));
    }
    for (const auto& device : devices_) ExpectOk((*device)->device_sync(device->get()));
  }

  std::mt19937 random_{11};
  std::array<std::unique_ptr<SimDevice>, 2> devices_;
  std::vector<Slot> slots_;
};

TEST_F(SimOrderTest, RandomGraphsGiveTheBitsOfTheSequence) {
  for (int graph = 0; graph < kGraphs; ++graph) {
    std::vector<std::string> expected;
    for (const Slot& slot : slots_) {
      std::string bytes(kBytes, '\0');
      for (char& byte : bytes) byte = static_cast<char>(random_());
      DeviceOf(slot).Write(slot.memory, bytes);
      expected.push_back(bytes);
    }
    std::vector<Move> moves;
    for (int i = 0; i < kCopies; ++i) moves.push_back(RandomMove());
    for (const Move& move : moves) {
      const std::string part = expected[move.from].substr(move.from_offset, move.bytes);
      expected[move.to].replace(move.to_offset, move.bytes, part);
    }
    Run(moves);
    for (size_t i = 0; i < slots_.size(); ++i) {
      ASSERT_EQ(DeviceOf(slots_[i]).Read(slots_[i].memory), expected[i]) << graph << ", slot " << i;
    }
  }
}

}  // namespace
}  // namespace millstream
