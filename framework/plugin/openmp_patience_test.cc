#include "framework/plugin/openmp_patience.h"

#include <unistd.h>

#include <cstdlib>

#include "gtest/gtest.h"

namespace millstream {
namespace {

class OpenMpPatienceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    unsetenv("GOMP_SPINCOUNT");
    unsetenv("OMP_WAIT_POLICY");
    setenv("PATIENCE_TEST", "here", 1);
  }
};

TEST_F(OpenMpPatienceTest, TheNumberIsThereWhileItLives) {
  char** const before = environ;
  {
    const OpenMpPatience patience;
    EXPECT_STREQ(getenv("GOMP_SPINCOUNT"), "1000");
    EXPECT_STREQ(getenv("PATIENCE_TEST"), "here");
  }
  EXPECT_EQ(environ, before);
  EXPECT_EQ(getenv("GOMP_SPINCOUNT"), nullptr);
  EXPECT_STREQ(getenv("PATIENCE_TEST"), "here");
}

TEST_F(OpenMpPatienceTest, WhatTheUserSetStays) {
  setenv("GOMP_SPINCOUNT", "7", 1);
  {
    const OpenMpPatience patience;
    EXPECT_STREQ(getenv("GOMP_SPINCOUNT"), "7");
  }
  unsetenv("GOMP_SPINCOUNT");
  setenv("OMP_WAIT_POLICY", "active", 1);
  const OpenMpPatience patience;
  EXPECT_EQ(getenv("GOMP_SPINCOUNT"), nullptr);
}

TEST_F(OpenMpPatienceTest, AVariableThatIsSetMeanwhileStaysSet) {
  {
    const OpenMpPatience patience;
    setenv("PATIENCE_TEST_MEANWHILE", "1", 1);
  }
  EXPECT_STREQ(getenv("PATIENCE_TEST_MEANWHILE"), "1");
}

}  // namespace
}  // namespace millstream
