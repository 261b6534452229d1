// The fixture of tests of passes that change how results are rounded.
#ifndef MILLSTREAM_CORE_PASSES_ROUNDING_FIXTURE_H_
#define MILLSTREAM_CORE_PASSES_ROUNDING_FIXTURE_H_

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "core/passes/pass_fixture.h"
#include "gtest/gtest.h"

namespace millstream {

class RoundingPassTest : public PassTest {
 protected:
  explicit RoundingPassTest(const std::vector<std::string>& passes)
      : PassTest(passes), passes_(passes) {}

  // How often a step runs `op`, with the passes of the test and no others.
  int64_t Runs(const std::string& op, const std::vector<Output>& fetches) {
    return absl::c_count(ExecutedOps(fetches), op);
  }

  // Expects the results of a step with the passes to be within `bound` of those without, and to be
  // infinite or no numbers where those are.
  void ExpectNear(double bound, const std::vector<Output>& fetches,
                  const std::vector<const Node*>& targets = {}) {
    SessionOptions options;
    options.disabled_passes = PassNames();
    const Outcome plain = RunWith(options, fetches, targets);
    const auto is_on = [this](const std::string& pass) {
      return absl::c_linear_search(passes_, pass);
    };
    std::vector<std::string>& disabled = options.disabled_passes;
    disabled.erase(std::remove_if(disabled.begin(), disabled.end(), is_on), disabled.end());
    const Outcome fused = RunWith(options, fetches, targets);
    for (size_t i = 0; i < fetches.size(); ++i) {
      ASSERT_EQ(plain.values[i].shape(), fused.values[i].shape());
      const std::vector<float> expected = Elements<float>(plain.values[i]);
      const std::vector<float> actual = Elements<float>(fused.values[i]);
      for (size_t k = 0; k < expected.size(); ++k) {
        if (std::isnan(expected[k]) && std::isnan(actual[k])) continue;
        if (expected[k] == actual[k]) continue;
        ASSERT_LE(std::fabs(expected[k] - actual[k]), bound)
            << "element " << k << " is " << actual[k] << ", expected " << expected[k];
      }
    }
  }

 private:
  const std::vector<std::string> passes_;
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_PASSES_ROUNDING_FIXTURE_H_
