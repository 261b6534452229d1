#include "core/resources/queue_kinds.h"

#include <algorithm>
#include <deque>
#include <map>
#include <utility>

#include "core/device/random_stream.h"

namespace millstream {
namespace {

class InOrder final : public QueueElements {
 public:
  explicit InOrder(const QueueSpec&) {}
  int64_t size() const override { return size_; }
  void Add(QueueRows rows) override {
    size_ += rows.count;
    rows_.push_back(std::move(rows));
  }
  QueueRows Take(int64_t most) override {
    QueueRows& front = rows_.front();
    const int64_t count = std::min(most, front.count);
    size_ -= count;
    if (count < front.count) return front.TakeFirst(count);
    QueueRows next = std::move(front);
    rows_.pop_front();
    return next;
  }
  void PutBack(std::vector<QueueRows> taken) override {
    for (auto at = taken.rbegin(); at != taken.rend(); ++at) {
      size_ += at->count;
      rows_.push_front(std::move(*at));
    }
  }

 private:
  std::deque<QueueRows> rows_;
  int64_t size_ = 0;  // in elements
};

// Elements of equal priority come out in the order in which they were added.
class ByPriority final : public QueueElements {
 public:
  explicit ByPriority(const QueueSpec&) {}
  int64_t size() const override { return static_cast<int64_t>(elements_.size()); }
  void Add(QueueRows rows) override {
    while (rows.count > 0) AddOne(rows.TakeFirst(1), ++last_);
  }
  QueueRows Take(int64_t) override {
    QueueRows next = std::move(elements_.begin()->second);
    elements_.erase(elements_.begin());
    return next;
  }
  void PutBack(std::vector<QueueRows> taken) override {
    for (auto at = taken.rbegin(); at != taken.rend(); ++at) AddOne(std::move(*at), --first_);
  }

 private:
  void AddOne(QueueRows element, int64_t number) {
    const int64_t priority = *element.FirstOf(0).data<int64_t>();
    elements_.emplace(std::make_pair(priority, number), std::move(element));
  }

  // By priority, and then by a number that grows with each element.
  std::map<std::pair<int64_t, int64_t>, QueueRows> elements_;
  int64_t first_ = 0;
  int64_t last_ = 0;
};

class Shuffled final : public QueueElements {
 public:
  explicit Shuffled(const QueueSpec& spec) : stream_(spec.seeds), numbers_(&stream_) {}
  int64_t size() const override { return static_cast<int64_t>(elements_.size()); }
  void Add(QueueRows rows) override {
    while (rows.count > 0) elements_.push_back(rows.TakeFirst(1));
  }
  QueueRows Take(int64_t) override {
    std::swap(elements_[numbers_.Next() % elements_.size()], elements_.back());
    QueueRows next = std::move(elements_.back());
    elements_.pop_back();
    return next;
  }
  void PutBack(std::vector<QueueRows> taken) override {
    for (QueueRows& element : taken) elements_.push_back(std::move(element));
  }

 private:
  RandomStream stream_;
  RandomNumbers numbers_;
  std::vector<QueueRows> elements_;
};

template <typename Elements>
std::unique_ptr<QueueElements> Make(const QueueSpec& spec) {
  return std::make_unique<Elements>(spec);
}

struct KindRow {
  absl::string_view name;
  std::unique_ptr<QueueElements> (*make)(const QueueSpec& spec);
};

// In the order of QueueKind.
constexpr KindRow kKinds[] = {
    {"FIFOQueue", &Make<InOrder>},
    {"PaddingFIFOQueue", &Make<InOrder>},
    {"PriorityQueue", &Make<ByPriority>},
    {"RandomShuffleQueue", &Make<Shuffled>},
};

}  // namespace

Tensor QueueRows::FirstOf(size_t k) const {
  const Tensor& tensor = components[k];
  if (!is_batch) return tensor;
  const int64_t rows = tensor.shape().dim(0);
  const size_t row_bytes = rows == 0 ? 0 : tensor.bytes() / static_cast<size_t>(rows);
  return Tensor(tensor.dtype(), Shape(tensor.shape().dims().subspan(1)), tensor.buffer(),
                tensor.offset() + static_cast<size_t>(first) * row_bytes);
}

QueueRows QueueRows::TakeFirst(int64_t n) {
  QueueRows taken{components, is_batch, first, n};
  first += n;
  count -= n;
  return taken;
}

absl::string_view NameOf(QueueKind kind) { return kKinds[static_cast<size_t>(kind)].name; }

std::unique_ptr<QueueElements> MakeQueueElements(const QueueSpec& spec) {
  return kKinds[static_cast<size_t>(spec.kind)].make(spec);
}

}  // namespace millstream
