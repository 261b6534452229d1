// A team of OpenMP's has as many threads as the work was laid out for, whatever the environment
// says and wherever it is started.
#include "kernels/matmul/library_threads.h"

#include <omp.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "gtest/gtest.h"

namespace millstream::kernels {
namespace {

constexpr int kWanted = 3;

// What OMP_THREAD_LIMIT, where it is set, leaves of `threads`.
int Limited(int threads) { return std::min(threads, omp_get_thread_limit()); }

int SizeOfTeam() {
  int size = 0;
#pragma omp parallel
#pragma omp single
  size = omp_get_num_threads();
  return size;
}

TEST(LibraryThreadsTest, ATeamIsAsLargeAsSaid) {
  for (const int wanted : {1, 2, kWanted}) {
    EXPECT_EQ(TeamThreads(wanted), Limited(wanted));
    const LibraryThreads team(wanted);
    EXPECT_EQ(SizeOfTeam(), Limited(wanted));
  }
}

TEST(LibraryThreadsTest, TheLoadOfTheMachineDoesNotMatter) {
  omp_set_dynamic(1);
  {
    const LibraryThreads team(kWanted);
    EXPECT_EQ(SizeOfTeam(), Limited(kWanted));
  }
  EXPECT_NE(omp_get_dynamic(), 0);
  omp_set_dynamic(0);
}

TEST(LibraryThreadsTest, InsideOfAnotherTeamThereIsOne) {
  std::vector<int> sizes(static_cast<size_t>(Limited(2)));
#pragma omp parallel num_threads(2)
  {
    const LibraryThreads team(kWanted);
    const int size = SizeOfTeam();
    sizes[omp_get_thread_num()] = size == TeamThreads(kWanted) ? size : -1;
  }
  EXPECT_EQ(sizes, sizes.size() == 1 ? std::vector<int>({1}) : std::vector<int>({1, 1}));
}

TEST(LibraryThreadsTest, WithoutLevelsThereIsOne) {
  const int levels = omp_get_max_active_levels();
  omp_set_max_active_levels(0);
  {
    const LibraryThreads team(kWanted);
    EXPECT_EQ(TeamThreads(kWanted), 1);
    EXPECT_EQ(SizeOfTeam(), 1);
  }
  omp_set_max_active_levels(levels);
}

TEST(LibraryThreadsTest, WhatTheThreadHadComesBack) {
  const int before = omp_get_max_threads();
  { const LibraryThreads team(kWanted); }
  EXPECT_EQ(omp_get_max_threads(), before);
}

}  // namespace
}  // namespace millstream::kernels
