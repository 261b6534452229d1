// PlanRun: runs as iterations of a loop, or as a branch.
#include <cstring>
#include <utility>

#include "absl/algorithm/container.h"
#include "core/plan/plan_executor.h"

namespace millstream {
namespace {

// Bytes of a value that is copied from one iteration to the next.
constexpr int64_t kMostCopied = 64;

}  // namespace

Tensor PlanRun::Fetched(size_t index) const {
  const ValueRef& value = plan_.fetches[index].value;
  const Root& root = plan_.roots[value.root];
  const auto shaped = [&](const Tensor& tensor) {
    return value.shape_known ? tensor.Reshaped(value.shape) : tensor;
  };
  switch (root.kind) {
    case RootKind::kConstant: return shaped(root.constant);
    case RootKind::kFeed: return shaped(state_->feeds[root.index]);
    case RootKind::kPlanned: return Tensor(root.dtype, value.shape, state_->slab, root.offset);
    case RootKind::kEscaping:
    case RootKind::kSlot: return shaped(state_->slots[root.index]);
    case RootKind::kHandle: break;  // no plan of a loop fetches one
  }
  return Tensor();
}

StatusOr<Tensor> PlanRun::Take(size_t index) {
  const FetchPlan& fetch = plan_.fetches[index];
  const Root& root = plan_.roots[fetch.value.root];
  const bool in_slot = root.kind == RootKind::kEscaping || root.kind == RootKind::kSlot;
  if (in_slot && fetch.move) {
    Tensor taken = std::exchange(state_->slots[root.index], Tensor());
    if (!fetch.value.shape_known || taken.shape() == fetch.value.shape) return taken;
    return taken.Reshaped(fetch.value.shape);
  }
  const Tensor value = Fetched(index);
  return root.kind == RootKind::kPlanned ? value.DeepCopy() : value;
}

StatusOr<bool> PlanRun::FetchedBool(size_t index) const {
  const ValueRef& value = plan_.fetches[index].value;
  const Root& root = plan_.roots[value.root];
  const bool is_scalar =
      root.dtype == DataType::kBool && value.shape_known && value.shape.rank() == 0;
  if (is_scalar && root.kind == RootKind::kEscaping) {
    return *state_->slots[root.index].data<bool>();
  }
  const Tensor tensor = Fetched(index);
  if (tensor.dtype() == DataType::kBool && tensor.shape().rank() == 0) return *tensor.data<bool>();
  return errors::InvalidArgument("must be a scalar bool, got ", DataTypeName(tensor.dtype()),
                                 tensor.shape().ToString());
}

void PlanRun::FindExchanges() {
  knows_exchanges_ = true;
  for (int k = 0; k < plan_.num_carried; ++k) {
    const FetchPlan& fetch = plan_.fetches[k];
    const Root& result = plan_.roots[fetch.value.root];
    const int feed = plan_.feed_roots[k];
    if (result.kind == RootKind::kFeed && result.index == k) continue;  // stays as it is
    const bool fits =
        feed < 0 || (plan_.roots[feed].shape_known && plan_.roots[feed].shape == result.shape);
    const bool is_whole =
        fetch.move && fetch.value.shape_known && fetch.value.shape == result.shape;
    if (result.kind != RootKind::kEscaping || !fits || !is_whole) {
      others_.push_back(k);
      continue;
    }
    Exchange exchange{k, fetch.value.root, feed};
    if (feed >= 0 && IsPlainData(result.dtype) && result.bytes() <= kMostCopied) {
      exchange.copied = static_cast<size_t>(result.bytes());
    }
    exchanges_.push_back(exchange);
    // The memory goes back to the state with EndInside. Until then the run alone has it.
    const Tensor& slot = state_->slots[result.index];
    for (BufferRef& kept : state_->kept_buffers[result.index]) {
      if (kept.get() == slot.buffer().get()) kept = BufferRef();
    }
  }
  carried_.resize(others_.size());
  for (size_t k = plan_.num_carried; k < plan_.fetches.size(); ++k) {
    const int root = plan_.fetches[k].value.root;
    const bool is_exchanged = absl::c_any_of(
        exchanges_, [&](const Exchange& exchange) { return exchange.result == root; });
    if (plan_.roots[root].kind == RootKind::kEscaping && !is_exchanged) looked_at_.push_back(root);
  }
}

// True if nobody else has the memory in which the next run would compute the value.
bool PlanRun::CanWrite(int root) const {
  const Tensor& slot = state_->slots[plan_.roots[root].index];
  const Buffer* const buffer = slot.buffer().get();
  return buffer != nullptr && buffer->IsUnique() && buffer->writable();
}

void PlanRun::CarryOver(Exchange* exchange, Tensor* variable) {
  Tensor& slot = state_->slots[plan_.roots[exchange->result].index];
  // Another one may have the value of the variable, also a list.
  const Buffer* const buffer = exchange->copied == 0 ? nullptr : variable->buffer().get();
  exchange->moved = buffer == nullptr || !buffer->IsUnique() || !buffer->writable();
  if (exchange->moved) {
    std::swap(*variable, slot);
  } else {
    std::memcpy(variable->raw(), slot.raw(), exchange->copied);
  }
}

Status PlanRun::Carry(absl::Span<Tensor> variables) {
  if (!knows_exchanges_) FindExchanges();
  // A variable may get the value that another one has had so far, so none changes before all are
  // known.
  for (size_t i = 0; i < others_.size(); ++i) {
    MS_ASSIGN_OR_RETURN(carried_[i], Take(others_[i]));
  }
  for (Exchange& exchange : exchanges_) CarryOver(&exchange, &variables[exchange.variable]);
  for (size_t i = 0; i < others_.size(); ++i) {
    variables[others_[i]] = std::exchange(carried_[i], Tensor());
    const FetchPlan& fetch = plan_.fetches[others_[i]];
    const Root& root = plan_.roots[fetch.value.root];
    // The next run must not write what the variable shares.
    if (root.kind == RootKind::kEscaping && !fetch.move) state_->slots[root.index] = Tensor();
  }
  return absl::OkStatus();
}

// Views of values of known shape in host memory, where loops run.
void PlanRun::Point(int root, const Tensor& tensor) {
  void* const data = tensor.raw();
  for (const ViewPlace& place : plan_.roots[root].places) {
    MS_MemRef& memory = state_->views[place.view].mem;
    memory.base = data;
    memory.offset = 0;
  }
}

Status PlanRun::Repeat() {
  state_->position = 0;
  bool has_empty = !others_.empty();
  for (const Exchange& exchange : exchanges_) {
    Tensor& slot = state_->slots[plan_.roots[exchange.result].index];
    if (!CanWrite(exchange.result)) {
      const Root& root = plan_.roots[exchange.result];
      StatusOr<Tensor> fresh = Tensor::Create(root.dtype, root.shape);
      if (!fresh.ok()) return OutOfMemory(root, fresh.status());
      slot = *std::move(fresh);
      Point(exchange.result, slot);
    } else if (exchange.moved) {
      Point(exchange.result, slot);
    }
    if (exchange.moved && exchange.feed >= 0) {
      Point(exchange.feed, state_->feeds[exchange.variable]);
    }
  }
  for (const int k : others_) {
    const int root = plan_.feed_roots[k];
    if (root >= 0) state_->PointViews(plan_.roots[root], state_->feeds[k]);
  }
  // A list may share what was only looked at.
  for (const int root : looked_at_) {
    if (CanWrite(root)) continue;
    state_->slots[plan_.roots[root].index] = Tensor();
    has_empty = true;
  }
  return has_empty ? AllocateEscaping() : absl::OkStatus();
}

void PlanRun::EndInside() {
  failed_ = false;
  for (const Exchange& exchange : exchanges_) {
    const int slot = plan_.roots[exchange.result].index;
    if (CanWrite(exchange.result)) state_->kept_buffers[slot][0] = state_->slots[slot].buffer();
  }
}

}  // namespace millstream
