#include "core/resources/work_reader.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

// The work "a3" has the items a0, a1, a2; "bad" cannot be begun, and "x1!" fails after one item.
class Letters final : public WorkItems {
 public:
  explicit Letters(const std::string& name)
      : letter_(name[0]), count_(name[1] - '0'), fails_(name.size() > 2) {}
  StatusOr<std::optional<WorkItem>> Next() override {
    if (next_ < count_) {
      const std::string item = absl::StrCat(std::string(1, letter_), next_++);
      return std::optional<WorkItem>(WorkItem{item, item});
    }
    if (fails_) return absl::DataLossError("damaged");
    return std::optional<WorkItem>();
  }

 private:
  const char letter_;
  const int count_;
  const bool fails_;
  int next_ = 0;
};

StatusOr<std::unique_ptr<WorkItems>> Open(const std::string& name) {
  if (name == "bad") return absl::NotFoundError("bad");
  return std::unique_ptr<WorkItems>(std::make_unique<Letters>(name));
}

class WorkReaderTest : public ::testing::Test {
 protected:
  WorkReaderTest() {
    QueueSpec spec;
    spec.dtypes = {DataType::kString};
    queue_ = MakeResource<TensorQueue>("q", "q", spec);
    reader_ = MakeResource<WorkReader>("r", &Open);
  }
  void Enqueue(const std::string& name) {
    std::vector<QueueRows> elements;
    elements.push_back(QueueRows::One({Tensor::Scalar(name)}));
    queue_->Enqueue(nullptr, std::move(elements), [](const Status&, std::vector<QueueRows>) {});
  }
  void Close() {
    queue_->Close(nullptr, false, [](const Status&, std::vector<QueueRows>) {});
  }
  // Begins a read, whose outcome is written to Result(number): the items, or the code.
  void Read(size_t number, int64_t count = 1) {
    results_.resize(std::max(results_.size(), number + 1));
    reader_->Read(&tickets_[number], queue_, count,
                  [this, number](const Status& status, std::vector<WorkItem> items) {
                    std::string& result = results_[number];
                    if (!status.ok()) result = absl::StatusCodeToString(status.code());
                    for (const WorkItem& item : items) absl::StrAppend(&result, item.value, " ");
                  });
  }

  ResourceRef<TensorQueue> queue_;
  ResourceRef<WorkReader> reader_;
  std::vector<std::string> results_;
  char tickets_[8] = {};
};

TEST_F(WorkReaderTest, ReadsOnePieceAfterTheOther) {
  for (const char* name : {"a2", "b0", "c1"}) Enqueue(name);
  for (size_t i = 0; i < 4; ++i) Read(i);
  Enqueue("d1");
  EXPECT_EQ(results_, (std::vector<std::string>{"a0 ", "a1 ", "c0 ", "d0 "}));
  EXPECT_EQ(reader_->num_items(), 4);
  EXPECT_EQ(reader_->num_finished_works(), 3);
}

TEST_F(WorkReaderTest, SeveralItemsAreOfOnePiece) {
  for (const char* name : {"a3", "b2"}) Enqueue(name);
  Read(0, 2);
  Read(1, 2);
  Read(2, 5);
  EXPECT_EQ(results_, (std::vector<std::string>{"a0 a1 ", "a2 ", "b0 b1 "}));
}

TEST_F(WorkReaderTest, ReadsWaitInOrder) {
  for (size_t i = 0; i < 3; ++i) Read(i);
  EXPECT_EQ(results_, (std::vector<std::string>{"", "", ""}));
  Enqueue("a2");
  EXPECT_EQ(results_, (std::vector<std::string>{"a0 ", "a1 ", ""}));
  Close();
  EXPECT_EQ(results_[2], "OUT_OF_RANGE");
  Read(3);
  EXPECT_EQ(results_[3], "OUT_OF_RANGE");
}

TEST_F(WorkReaderTest, ErrorsEndThePiece) {
  for (const char* name : {"bad", "x1!", "a1"}) Enqueue(name);
  for (size_t i = 0; i < 4; ++i) Read(i);
  EXPECT_EQ(results_, (std::vector<std::string>{"NOT_FOUND", "x0 ", "DATA_LOSS", "a0 "}));
}

TEST_F(WorkReaderTest, WaitingReadsCanBeCancelled) {
  for (size_t i = 0; i < 3; ++i) Read(i);
  reader_->Cancel(&tickets_[1]);
  EXPECT_EQ(results_, (std::vector<std::string>{"", "CANCELLED", ""}));
  reader_->Cancel(&tickets_[0]);
  EXPECT_EQ(results_[0], "CANCELLED");
  reader_->Cancel(&tickets_[0]);
  Enqueue("a1");
  EXPECT_EQ(results_[2], "a0 ");
}

TEST_F(WorkReaderTest, ResetForgetsThePiece) {
  for (const char* name : {"a3", "b1"}) Enqueue(name);
  Read(0);
  reader_->Reset();
  EXPECT_EQ(reader_->num_items(), 0);
  Read(1);
  EXPECT_EQ(results_[1], "b0 ");
}

TEST_F(WorkReaderTest, OnlySomeSaveTheirState) {
  EXPECT_EQ(reader_->State().status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(reader_->Restore(ReaderState()).code(), absl::StatusCode::kUnimplemented);
}

TEST_F(WorkReaderTest, AReaderGoesOnFromAState) {
  reader_ = MakeResource<WorkReader>("r", &Open, StateOfReader::kSaved);
  for (const char* name : {"a1", "b1"}) Enqueue(name);
  Read(0);
  const StatusOr<ReaderState> state = reader_->State();
  ASSERT_TRUE(state.ok());
  EXPECT_EQ(state->current_work, "a1");
  EXPECT_EQ(state->num_items, 1);
  Read(1);
  ASSERT_TRUE(reader_->Restore(*state).ok());
  EXPECT_EQ(reader_->num_items(), 1);
  ASSERT_TRUE(reader_->Restore({2, 1, 5, "c1"}).ok());
  Read(2);
  EXPECT_EQ(results_[2], "c0 ");
  EXPECT_EQ(reader_->num_items(), 6);
}

TEST_F(WorkReaderTest, StatesThatNoReaderHas) {
  reader_ = MakeResource<WorkReader>("r", &Open, StateOfReader::kSaved);
  for (const ReaderState& state : {ReaderState{0, -1, 0, ""}, ReaderState{1, 2, 0, ""},
                                   ReaderState{2, 0, 0, "a1"}, ReaderState{0, 0, -1, ""}}) {
    EXPECT_EQ(reader_->Restore(state).code(), absl::StatusCode::kInvalidArgument);
  }
  EXPECT_EQ(reader_->Restore({1, 0, 0, "bad"}).code(), absl::StatusCode::kNotFound);
}

TEST_F(WorkReaderTest, ManyEmptyPiecesNeedNoDeepStack) {
  for (int i = 0; i < 100000; ++i) Enqueue("a0");
  Enqueue("b1");
  Read(0);
  EXPECT_EQ(results_[0], "b0 ");
}

}  // namespace
}  // namespace millstream
