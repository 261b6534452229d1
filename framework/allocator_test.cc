#include "framework/allocator.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "framework/allocation_faults_for_tests.h"
#include "framework/testing/hang_guard.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kKeepsBlocks = false;  // the allocator's own rule under this sanitizer
#else
constexpr bool kKeepsBlocks = true;
#endif

TEST(HostAllocatorTest, EveryBlockIsAlignedAndAsLargeAsAsked) {
  Allocator* allocator = HostAllocator();
  for (size_t bytes : {0, 1, 63, 64, 65, 512, 513, 576, 577, 1000, 65537, (2 << 20) + 1}) {
    void* block = allocator->Allocate(bytes);
    ASSERT_NE(block, nullptr) << bytes;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % kTensorAlignment, 0u) << bytes;
    std::memset(block, 0x5a, bytes);
    allocator->Deallocate(block, bytes);
  }
}

TEST(HostAllocatorTest, LargeBlocksStartOnAHugePage) {
  constexpr size_t kBytes = 5 << 20;
  void* block = HostAllocator()->Allocate(kBytes);
  ASSERT_NE(block, nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % (2 << 20), 0u);
  HostAllocator()->Deallocate(block, kBytes);
}

TEST(HostAllocatorTest, RefusesMoreThanTheMachineHasAtOnce) {
  EXPECT_EQ(HostAllocator()->Allocate(size_t{1} << 46), nullptr);
  EXPECT_EQ(HostAllocator()->Allocate(~size_t{0}), nullptr);
}

TEST(HostAllocatorTest, AFreedBlockServesTheNextRequestOfItsSize) {
  Allocator* allocator = HostAllocator();
  TrimHostMemory();
  void* first = allocator->Allocate(100000);
  allocator->Deallocate(first, 100000);
  EXPECT_EQ(KeptHostMemory() >= 100000, kKeepsBlocks);
  void* second = allocator->Allocate(99990);
  EXPECT_EQ(first == second, kKeepsBlocks);
  allocator->Deallocate(second, 99990);
}

// Threads that hold a lock of the allocator's at that moment are not there to give it back.
TEST(HostAllocatorTest, AForkedChildMayAllocateWhateverOtherThreadsDid) {
  constexpr size_t kBytes = 1000;
  constexpr int kForks = 300;
  std::atomic<bool> ends{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      while (!ends) HostAllocator()->Deallocate(HostAllocator()->Allocate(kBytes), kBytes);
    });
  }
  for (int i = 0; i < kForks && !HasFailure(); ++i) {
    void* const from_parent = HostAllocator()->Allocate(kBytes);
    const pid_t child = fork();
    if (child == 0) {
      alarm(kHangGuardMillis / 1000);
      HostAllocator()->Deallocate(from_parent, kBytes);
      _exit(HostAllocator()->Allocate(kBytes) == nullptr ? 1 : 0);
    }
    ASSERT_GT(child, 0);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(!WIFSIGNALED(status) || WTERMSIG(status) != SIGALRM || HangGuardFailure());
    EXPECT_EQ(status, 0) << "after " << i << " forks";
    HostAllocator()->Deallocate(from_parent, kBytes);
  }
  ends = true;
  for (std::thread& thread : threads) thread.join();
}

TEST(HostAllocatorTest, FaultsRefuseThoseThatTheyCount) {
  Allocator* allocator = HostAllocator();
  std::vector<bool> given;
  const auto ask = [&] {
    void* block = allocator->Allocate(100);
    given.push_back(block != nullptr);
    allocator->Deallocate(block, 100);
  };
  {
    const AllocationFaults faults(2, 2);
    ask();
    EXPECT_EQ(faults.hits(), 0);
    for (int i = 0; i < 3; ++i) ask();
    EXPECT_EQ(faults.hits(), 2);
  }
  const AllocationFaults none(1000, 1);
  ask();
  EXPECT_EQ(given, std::vector<bool>({true, false, false, true, true}));
}

TEST(HostAllocatorTest, TrimGivesEverythingKeptBack) {
  Allocator* allocator = HostAllocator();
  for (size_t bytes : {100, 1000, 3 << 20}) {
    allocator->Deallocate(allocator->Allocate(bytes), bytes);
  }
  const size_t kept = KeptHostMemory();
  EXPECT_EQ(TrimHostMemory(), kept);
  EXPECT_EQ(KeptHostMemory(), 0u);
}

TEST(HostAllocatorTest, WhatIsKeptIsBoundedAndFollowsWhatIsUsed) {
  Allocator* allocator = HostAllocator();
  TrimHostMemory();
  constexpr size_t kOld = 7 << 20;
  std::vector<void*> blocks;
  for (int i = 0; i < 50; ++i) blocks.push_back(allocator->Allocate(kOld));
  for (void* block : blocks) allocator->Deallocate(block, kOld);
  EXPECT_LE(KeptHostMemory(), size_t{256} << 20);
  constexpr size_t kNew = 64 << 20;
  void* block = allocator->Allocate(kNew);
  allocator->Deallocate(block, kNew);
  EXPECT_LE(KeptHostMemory(), size_t{256} << 20);
  void* again = allocator->Allocate(kNew);
  EXPECT_EQ(again == block, kKeepsBlocks);
  allocator->Deallocate(again, kNew);
  TrimHostMemory();
}

TEST(HostAllocatorTest, CountsWhatIsInUse) {
  Allocator* allocator = HostAllocator();
  const AllocatorStats before = allocator->stats();
  void* block = allocator->Allocate(12345);
  const AllocatorStats during = allocator->stats();
  EXPECT_EQ(during.num_allocations, before.num_allocations + 1);
  EXPECT_EQ(during.bytes_in_use, before.bytes_in_use + 12345);
  EXPECT_GE(during.peak_bytes_in_use, during.bytes_in_use);
  EXPECT_GE(during.largest_allocation, 12345);
  EXPECT_GT(during.bytes_limit, 0);
  allocator->Deallocate(block, 12345);
  EXPECT_EQ(allocator->stats().bytes_in_use, before.bytes_in_use);
}

TEST(HostAllocatorTest, ThreadsNeverShareABlock) {
  const int64_t in_use = HostAllocator()->stats().bytes_in_use;
  std::atomic<int> overwritten{0};
  const auto work = [&overwritten](uint8_t mark) {
    Allocator* allocator = HostAllocator();
    for (int round = 0; round < 2000; ++round) {
      const size_t bytes = 64 + (round % 7) * 100;
      auto* block = static_cast<volatile uint8_t*>(allocator->Allocate(bytes));
      for (size_t i = 0; i < bytes; i += 64) block[i] = mark;
      for (size_t i = 0; i < bytes; i += 64) overwritten += block[i] != mark;
      allocator->Deallocate(const_cast<uint8_t*>(block), bytes);
    }
  };
  std::vector<std::thread> threads;
  for (uint8_t mark = 1; mark <= 4; ++mark) threads.emplace_back(work, mark);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(overwritten, 0);
  EXPECT_EQ(HostAllocator()->stats().bytes_in_use, in_use);
}

TEST(AllocationCounterTest, PeakAndLargestOutliveTheBlocks) {
  AllocationCounter counter;
  counter.Add(100);
  counter.Add(50);
  counter.Remove(100);
  counter.Add(20);
  const AllocatorStats stats = counter.Snapshot();
  EXPECT_EQ(stats.num_allocations, 3);
  EXPECT_EQ(stats.bytes_in_use, 70);
  EXPECT_EQ(stats.peak_bytes_in_use, 150);
  EXPECT_EQ(stats.largest_allocation, 100);
}

}  // namespace
}  // namespace millstream
