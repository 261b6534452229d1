// A queue of a test, and what its operations give.
#ifndef MILLSTREAM_CORE_RESOURCES_TENSOR_QUEUE_FIXTURE_H_
#define MILLSTREAM_CORE_RESOURCES_TENSOR_QUEUE_FIXTURE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/resources/tensor_queue.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {

// Component `k` of all elements.
inline std::vector<int32_t> ValuesOf(const std::vector<QueueRows>& elements, size_t k) {
  std::vector<int32_t> values;
  for (QueueRows rows : elements) {
    while (rows.count > 0) values.push_back(*rows.TakeFirst(1).FirstOf(k).data<int32_t>());
  }
  return values;
}

// One enqueue, dequeue or close, and what has come of it.
struct Attempt {
  bool is_over = false;
  Status status;
  std::vector<int32_t> values;

  TensorQueue::Callback Callback() {
    return [this](const Status& result, const std::vector<QueueRows>& elements) {
      EXPECT_FALSE(is_over);
      is_over = true;
      status = result;
      for (const int32_t value : ValuesOf(elements, 0)) values.push_back(value);
    };
  }
};

inline QueueRows ElementsOf(const std::vector<int32_t>& values) {
  if (values.size() == 1) return QueueRows::One({Tensor::Scalar(values[0])});
  return QueueRows::Batch({Tensor::Vector<int32_t>(values)});
}

class TensorQueueTest : public ::testing::Test {
 protected:
  static ResourceRef<TensorQueue> Make(int64_t capacity, std::vector<PartialShape> shapes = {}) {
    QueueSpec spec;
    spec.capacity = capacity;
    spec.dtypes = {DataType::kInt32};
    spec.shapes = std::move(shapes);
    return Make(std::move(spec));
  }
  static ResourceRef<TensorQueue> Make(QueueSpec spec) {
    return MakeResource<TensorQueue>("q", "_0_q", std::move(spec));
  }
  void Enqueue(const std::vector<int32_t>& values, Attempt* attempt) {
    queue->Enqueue(attempt, {ElementsOf(values)}, attempt->Callback());
  }
  void Dequeue(int64_t count, Attempt* attempt) {
    queue->Dequeue(attempt, count, false, attempt->Callback());
  }
  void DequeueUpTo(int64_t count, Attempt* attempt) {
    queue->Dequeue(attempt, count, true, attempt->Callback());
  }
  void Close(bool cancel, Attempt* attempt) { queue->Close(attempt, cancel, attempt->Callback()); }
  // Of what is done at once.
  void Add(const std::vector<int32_t>& values) {
    Attempt attempt;
    Enqueue(values, &attempt);
    EXPECT_TRUE(attempt.is_over);
    EXPECT_EQ(attempt.status, absl::OkStatus());
  }
  std::vector<int32_t> Take(int64_t count) {
    Attempt attempt;
    Dequeue(count, &attempt);
    EXPECT_TRUE(attempt.is_over);
    EXPECT_EQ(attempt.status, absl::OkStatus());
    return attempt.values;
  }

  ResourceRef<TensorQueue> queue = Make(QueueSpec::kUnbounded);
};

inline void ExpectFailed(const Attempt& attempt, absl::StatusCode code, const std::string& text) {
  EXPECT_TRUE(attempt.is_over);
  EXPECT_EQ(attempt.status.code(), code) << attempt.status;
  EXPECT_THAT(std::string(attempt.status.message()), ::testing::HasSubstr(text));
}

}  // namespace millstream

#endif  // MILLSTREAM_CORE_RESOURCES_TENSOR_QUEUE_FIXTURE_H_
