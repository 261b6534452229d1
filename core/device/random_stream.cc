#include "core/device/random_stream.h"

#include <random>

#include "absl/strings/string_view.h"

namespace millstream {
namespace {

// A call that asks for no seed draws another stream in every session.
uint64_t FreshSeed() {
  std::random_device device;
  return (static_cast<uint64_t>(device()) << 32) | device();
}

uint64_t SeedAttr(const AttrMap& attrs, absl::string_view name) {
  const AttrValue* value = FindAttr(attrs, name);
  const int64_t* seed = value == nullptr ? nullptr : value->get<int64_t>();
  return seed == nullptr ? 0 : static_cast<uint64_t>(*seed);
}

uint32_t Low(uint64_t value) { return static_cast<uint32_t>(value); }
uint32_t High(uint64_t value) { return static_cast<uint32_t>(value >> 32); }

// Ten rounds with the constants of the paper.
std::array<uint32_t, 4> PhiloxBlock(uint64_t key, const std::array<uint64_t, 2>& counter) {
  std::array<uint32_t, 4> block = {Low(counter[0]), High(counter[0]), Low(counter[1]),
                                   High(counter[1])};
  uint32_t key0 = Low(key);
  uint32_t key1 = High(key);
  for (int round = 0; round < 10; ++round) {
    const uint64_t product0 = uint64_t{0xD2511F53} * block[0];
    const uint64_t product1 = uint64_t{0xCD9E8D57} * block[2];
    block = {High(product1) ^ block[1] ^ key0, Low(product1), High(product0) ^ block[3] ^ key1,
             Low(product0)};
    key0 += 0x9E3779B9;
    key1 += 0xBB67AE85;
  }
  return block;
}

}  // namespace

RandomStream::RandomStream(const AttrMap& attrs)
    : key_(SeedAttr(attrs, "seed")), upper_counter_(SeedAttr(attrs, "seed2")) {
  const bool draws = FindAttr(attrs, "seed") != nullptr;
  if (draws && key_ == 0 && upper_counter_ == 0) {
    key_ = FreshSeed();
    upper_counter_ = FreshSeed();
  }
}

uint32_t RandomNumbers::Next() {
  if (num_used_ == block_.size()) {
    block_ = PhiloxBlock(key_, counter_);
    if (++counter_[0] == 0) ++counter_[1];
    num_used_ = 0;
  }
  return block_[num_used_++];
}

}  // namespace millstream
