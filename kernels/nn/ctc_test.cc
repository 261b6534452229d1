#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/nn/ctc_beams.h"
#include "kernels/testing/kernel_tester.h"

namespace millstream::kernels {
namespace {

using testing::IsNear;
using testing::IsOk;
using testing::KernelTester;
using Labels = std::vector<int32_t>;

constexpr int kClasses = 3;
constexpr int kBlank = 2;

// What is left of a path: of equal labels that follow each other one, and no blanks.
std::vector<int> LabelsOf(const std::vector<int>& path) {
  std::vector<int> labels;
  for (size_t t = 0; t < path.size(); ++t) {
    if (path[t] != kBlank && (t == 0 || path[t] != path[t - 1])) labels.push_back(path[t]);
  }
  return labels;
}

// The sum of the probabilities of all paths that give the labels, one after the other.
double SumOverPaths(const std::vector<double>& probabilities, const std::vector<int>& labels) {
  const int time = static_cast<int>(probabilities.size()) / kClasses;
  double sum = 0;
  for (int n = 0; n < static_cast<int>(std::pow(kClasses, time)); ++n) {
    std::vector<int> path;
    double product = 1;
    for (int t = 0, rest = n; t < time; ++t, rest /= kClasses) {
      path.push_back(rest % kClasses);
      product *= probabilities[t * kClasses + path.back()];
    }
    if (LabelsOf(path) == labels) sum += product;
  }
  return sum;
}

std::vector<double> Softmax(const std::vector<double>& logits) {
  std::vector<double> probabilities;
  for (size_t i = 0; i < logits.size(); ++i) {
    double sum = 0;
    for (size_t c = 0; c < kClasses; ++c) sum += std::exp(logits[i / kClasses * kClasses + c]);
    probabilities.push_back(std::exp(logits[i]) / sum);
  }
  return probabilities;
}

const std::vector<double> kLogits = {0.3, -1, 0.5, 1.2, 0.1, -0.4, 0.9, 0.2, 0, -0.7, 0.8, 0.6};

void SetLoss(KernelTester* t, bool ignore_longer = false) {
  t->Attr("T", MS_FLOAT64).Outputs({MS_FLOAT64, MS_FLOAT64});
  t->Attr("preprocess_collapse_repeated", false).Attr("ctc_merge_repeated", true);
  t->Attr("ignore_longer_outputs_than_inputs", ignore_longer);
}

// The loss of one sequence of four time steps.
void AddSequence(KernelTester* t, const std::vector<double>& logits, const Labels& labels) {
  std::vector<int64_t> indices;
  for (size_t i = 0; i < labels.size(); ++i) {
    indices.push_back(0);
    indices.push_back(static_cast<int64_t>(i));
  }
  const auto count = static_cast<int64_t>(labels.size());
  t->Input<double>({4, 1, kClasses}, logits).Input<int64_t>({count, 2}, indices);
  t->Input<int32_t>({count}, labels).Input<int32_t>({1}, {4});
}

double LossAt(const std::vector<double>& logits, const std::vector<int>& labels) {
  return -std::log(SumOverPaths(Softmax(logits), labels));
}

// Sums are corrected in single precision, which is off by about 1e-7.
TEST(CtcLossTest, IsTheLogarithmOfTheSumOverPaths) {
  for (const std::vector<int>& labels : {std::vector<int>{0}, {0, 1}, {1, 1}, {0, 1, 0}}) {
    KernelTester t("CTCLoss");
    SetLoss(&t);
    AddSequence(&t, kLogits, Labels(labels.begin(), labels.end()));
    ASSERT_TRUE(IsOk(t.Run()));
    EXPECT_NEAR(t.Output<double>(0)[0], LossAt(kLogits, labels), 1e-6);
    std::vector<double> slopes;
    for (size_t i = 0; i < kLogits.size(); ++i) {
      std::vector<double> above = kLogits, below = kLogits;
      above[i] += 1e-4;
      below[i] -= 1e-4;
      slopes.push_back((LossAt(above, labels) - LossAt(below, labels)) / 2e-4);
    }
    EXPECT_TRUE(IsNear(t.Output<double>(1), slopes, 0, 1e-6));
  }
}

// As in the reference: see CtcPaths.
TEST(CtcLossTest, WithoutLabelsWhatEndsAStepEarlyCounts) {
  KernelTester t("CTCLoss");
  SetLoss(&t);
  AddSequence(&t, kLogits, {kBlank});
  ASSERT_TRUE(IsOk(t.Run()));
  std::vector<double> gradient = Softmax(kLogits);
  double early = 1;
  for (size_t i = 0; i < 3; ++i) early *= gradient[i * kClasses + kBlank];
  const double last = gradient[3 * kClasses + kBlank];
  EXPECT_NEAR(t.Output<double>(0)[0], -std::log(early + early * last), 1e-6);
  EXPECT_NEAR(t.Output<double>(0)[0], 3.94858674, 1e-6);
  for (size_t i = 0; i < 3; ++i) gradient[i * kClasses + kBlank] -= 1;
  gradient[3 * kClasses + kBlank] -= last / (1 + last);
  EXPECT_TRUE(IsNear(t.Output<double>(1), gradient, 0, 1e-6));
}

TEST(CtcLossTest, LabelsThatNeedMoreTimeHaveAnInfiniteLoss) {
  KernelTester t("CTCLoss");
  SetLoss(&t);
  AddSequence(&t, kLogits, {0, 0, 0});  // with two blanks in between
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.Output<double>(0)[0], INFINITY);
  EXPECT_TRUE(IsNear(t.Output<double>(1), Softmax(kLogits), 1e-12, 0));
}

TEST(CtcLossTest, LongerLabelsAreRefusedOrSkipped) {
  KernelTester refused("CTCLoss"), skipped("CTCLoss");
  SetLoss(&refused);
  SetLoss(&skipped, /*ignore_longer=*/true);
  for (KernelTester* t : {&refused, &skipped}) AddSequence(t, kLogits, {0, 1, 0, 1, 0});
  const ms::Status status = refused.Run();
  EXPECT_EQ(status.code(), MS_INVALID_ARGUMENT);
  EXPECT_NE(status.message().find("(required: 5, available: 4)"), std::string::npos);
  ASSERT_TRUE(IsOk(skipped.Run()));
  EXPECT_EQ(skipped.Output<double>(0), (std::vector<double>{0}));
  EXPECT_EQ(skipped.Output<double>(1), std::vector<double>(12, 0));
}

TEST(CtcLossTest, RefusesLabelsOutOfOrder) {
  KernelTester t("CTCLoss");
  SetLoss(&t);
  t.Input<double>({4, 1, kClasses}, kLogits).Input<int64_t>({2, 2}, {0, 1, 0, 0});
  t.Input<int32_t>({2}, {0, 1}).Input<int32_t>({1}, {4});
  EXPECT_EQ(t.Run().message(), "labels_indices is out of order or repeated at 1: [0, 0]");
}

// What the loss and a decoder say of a batch of one sequence of these logits.
struct LossAndDecoder {
  LossAndDecoder(const std::vector<double>& logits, const std::vector<int32_t>& lengths) {
    const auto time = static_cast<int64_t>(logits.size()) / kClasses;
    const auto count = static_cast<int64_t>(lengths.size());
    KernelTester loss("CTCLoss"), decoder("CTCGreedyDecoder");
    SetLoss(&loss);
    loss.Input<double>({time, 1, kClasses}, logits).Input<int64_t>({1, 2}, {0, 0});
    loss.Input<int32_t>({1}, {0}).Input<int32_t>({count}, lengths);
    decoder.Attr("T", MS_FLOAT64).Attr("merge_repeated", true).DynamicOnly();
    decoder.Outputs({MS_INT64, MS_INT64, MS_INT64, MS_FLOAT64});
    decoder.Input<double>({time, 1, kClasses}, logits).Input<int32_t>({count}, lengths);
    of_loss = loss.Run();
    of_decoder = decoder.Run();
  }
  ms::Status of_loss;
  ms::Status of_decoder;
};

TEST(CtcSequencesTest, LengthsThatDoNotFitAreRefusedWithTheCodeOfTheOp) {
  for (const bool too_long : {true, false}) {
    const LossAndDecoder said(kLogits, too_long ? Labels{5} : Labels{4, 4});
    EXPECT_EQ(said.of_loss.code(), MS_INVALID_ARGUMENT);
    EXPECT_EQ(said.of_decoder.code(), MS_FAILED_PRECONDITION);
    const char* const words = too_long ? "sequence_length(0) <= 4" : "a vector of 1 lengths";
    EXPECT_NE(said.of_loss.message().find(words), std::string::npos);
    EXPECT_EQ(said.of_decoder.message(), said.of_loss.message());
  }
}

TEST(CtcSequencesTest, ThereMustBeATimeStep) {
  const LossAndDecoder said({}, {0});
  for (const ms::Status* const status : {&said.of_loss, &said.of_decoder}) {
    EXPECT_EQ(status->code(), MS_INVALID_ARGUMENT);
    EXPECT_NE(status->message().find("max_time is 0"), std::string::npos);
  }
}

TEST(CtcGreedyDecoderTest, LeavesBlanksOutAndMergesRepeatedClasses) {
  // The best classes are 0, 0, blank, 0.
  const std::vector<float> logits = {2, 0, 1, 3, 1, 0, 0, 0, 1, 5, 0, 0};
  for (const bool merge : {false, true}) {
    KernelTester t("CTCGreedyDecoder");
    t.Attr("T", MS_FLOAT32).Attr("merge_repeated", merge).DynamicOnly();
    t.Outputs({MS_INT64, MS_INT64, MS_INT64, MS_FLOAT32});
    t.Input<float>({4, 1, kClasses}, logits).Input<int32_t>({1}, {4});
    ASSERT_TRUE(IsOk(t.Run()));
    const int64_t count = merge ? 2 : 3;
    EXPECT_EQ(t.OutputShape(0), (std::vector<int64_t>{count, 2}));
    EXPECT_EQ(t.Output<int64_t>(1), std::vector<int64_t>(count, 0));
    EXPECT_EQ(t.Output<int64_t>(2), (std::vector<int64_t>{1, count}));
    EXPECT_EQ(t.Output<float>(3), (std::vector<float>{-11}));
  }
}

// With room for all prefixes the search is exact.
TEST(CtcBeamsTest, ProbabilitiesAreThoseOfAllPaths) {
  const std::vector<double> probabilities = Softmax(kLogits);
  CtcBeams beams(kClasses, 1000);
  for (size_t t = 0; t < 4; ++t) {
    std::vector<double> logarithms;
    for (size_t c = 0; c < kClasses; ++c) {
      logarithms.push_back(std::log(probabilities[t * kClasses + c]));
    }
    beams.Step(logarithms.data());
  }
  const auto paths = beams.Best(1000, /*merge_repeated=*/false);
  ASSERT_GT(paths.size(), 10u);
  double last = 0;
  for (const CtcBeams::Path& path : paths) {
    const double exact =
        SumOverPaths(probabilities, std::vector<int>(path.labels.begin(), path.labels.end()));
    EXPECT_NEAR(path.log_probability, std::log(exact), 1e-5);
    EXPECT_LE(path.log_probability, last + 1e-12);
    last = path.log_probability;
  }
}

}  // namespace
}  // namespace millstream::kernels
