// The kinds of queues. They differ in the element that comes out next, and in the shapes that
// elements may have. To add one: a value of QueueKind, a row in queue_kinds.cc, and its op.
#ifndef MILLSTREAM_CORE_RESOURCES_QUEUE_KINDS_H_
#define MILLSTREAM_CORE_RESOURCES_QUEUE_KINDS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "framework/attr_value.h"
#include "framework/dtype.h"
#include "framework/shape.h"
#include "framework/tensor.h"

namespace millstream {

// One element, or several that were added together. They share memory, which is freed when all are
// gone.
struct QueueRows {
  // A tensor for each component: of one element, or of a batch, which has an element in each row.
  std::vector<Tensor> components;
  bool is_batch = false;
  int64_t first = 0;  // of a batch: the rows [first, first + count)
  int64_t count = 1;

  static QueueRows One(std::vector<Tensor> element) { return {std::move(element), false, 0, 1}; }
  // All rows. REQUIRES: the components have as many rows.
  static QueueRows Batch(std::vector<Tensor> batch) {
    const int64_t rows = batch[0].shape().dim(0);
    return {std::move(batch), true, 0, rows};
  }
  // Component `k` of the first element.
  Tensor FirstOf(size_t k) const;
  // Removes the first `n` elements and returns them. REQUIRES: n <= count.
  QueueRows TakeFirst(int64_t n);
};

enum class QueueKind {
  kFifo,           // the element that was added first
  kPadding,        // the same; batches of elements of different sizes are padded
  kPriority,       // the element with the smallest number in its first component
  kRandomShuffle,  // any element, with equal probability
};

// The name of a kind's op, without a version: "FIFOQueue".
absl::string_view NameOf(QueueKind kind);

// The properties of a queue.
struct QueueSpec {
  static constexpr int64_t kUnbounded = -1;
  int64_t capacity = kUnbounded;  // in elements; negative: no limit
  DataTypeList dtypes;            // of an element's components
  // Of an element's components; empty: any. Unknown sizes are for kPadding alone.
  std::vector<PartialShape> shapes;
  QueueKind kind = QueueKind::kFifo;
  // Of kRandomShuffle: elements that a dequeue leaves in a queue which is not closed.
  int64_t min_after_dequeue = 0;
  AttrMap seeds;  // its attributes seed and seed2
};

// The elements of a queue. Not thread-safe.
class QueueElements {
 public:
  virtual ~QueueElements() = default;
  virtual int64_t size() const = 0;
  virtual void Add(QueueRows rows) = 0;
  // Removes the next elements: at least one, at most `most`. REQUIRES: there is one.
  virtual QueueRows Take(int64_t most) = 0;
  // Adds elements again that were taken. The first of them is the next again, if the kind has an
  // order.
  virtual void PutBack(std::vector<QueueRows> taken) = 0;
};

std::unique_ptr<QueueElements> MakeQueueElements(const QueueSpec& spec);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_RESOURCES_QUEUE_KINDS_H_
