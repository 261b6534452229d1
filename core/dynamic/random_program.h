// Random programs of loops and conditionals, for tests that run them in several ways.
#ifndef MILLSTREAM_CORE_DYNAMIC_RANDOM_PROGRAM_H_
#define MILLSTREAM_CORE_DYNAMIC_RANDOM_PROGRAM_H_

#include <random>
#include <string>
#include <vector>

#include "core/dynamic/dynamic_fixture.h"

namespace millstream {

class RandomProgramTest : public DynamicTest {
 protected:
  using Outputs = std::vector<Output>;

  // Equal seeds give equal programs.
  explicit RandomProgramTest(int seed);

  // Builds the program; returns the outputs to fetch. Its only feed is `x`, a scalar float.
  Outputs Build();
  // Makes every node request one of these devices.
  void PlaceAtRandom(const std::vector<std::string>& devices);
  // Expects the same tensors, bit for bit.
  static void ExpectSameBits(const std::vector<Tensor>& actual,
                             const std::vector<Tensor>& expected);

  Output x;

 private:
  // The context of statements: the values that they may read, and a node that runs whenever they
  // run (null: the step itself).
  struct Place {
    Outputs values;
    const Node* pivot = nullptr;
  };
  int Below(int n) { return static_cast<int>(random_() % static_cast<uint32_t>(n)); }
  const Output& AnyOf(const Outputs& values) {
    return values[Below(static_cast<int>(values.size()))];
  }
  Output Number(const Place& place);
  Output Arithmetic(const Place& place);
  void Statements(Place* place, int depth);
  Output Conditional(const Place& place, int depth);
  // A loop of 0 to 4 iterations.
  Output Loops(const Place& place, int depth);
  Outputs Body(const Outputs& variables, const Outputs& invariants, int depth);

  std::mt19937 random_;
  int num_loops_ = 0;
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_DYNAMIC_RANDOM_PROGRAM_H_
