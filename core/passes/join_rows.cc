// join_rows: where all elements of an array of tensors are rows of one tensor, and the step says
// which, as where a loop became its iterations, they are read from that tensor (Unpack) or written
// to it (Pack). The values do not change.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "core/passes/known_values.h"
#include "core/passes/pass.h"

namespace millstream {
namespace {

constexpr char kGradient[] = "TensorArrayGradV3";

// The operations that concern one array.
struct ArrayUses {
  std::vector<int> reads;
  std::vector<int> writes;
  std::vector<int> gathers;
  std::vector<int> scatters;
  bool has_others = false;  // also: the array comes from elsewhere
  bool is_watched = false;  // its size is asked for, or gradients are made for its elements
};

class RowJoiner {
 public:
  explicit RowJoiner(StepOps* ops) : ops_(*ops) {}
  Status Run();

 private:
  // Which operation makes the array, or the array that it has the gradients of, for which sources.
  using Array = std::pair<int, std::string>;

  Array ArrayOf(Output handle) const;
  void FindUses();
  bool MayReplace(int i) const;
  std::optional<std::vector<int>> ByIndex(const std::vector<int>& elements,
                                          const Output& indices) const;
  Status JoinReads(const ArrayUses& uses);
  Status JoinWrites(const ArrayUses& uses);
  void RemoveGradientArrays();

  StepOps& ops_;
  std::map<Array, ArrayUses> uses_;
};

RowJoiner::Array RowJoiner::ArrayOf(Output handle) const {
  std::string sources;
  int i = ops_.Producer(handle);
  while (i >= 0 && ops_.op(i).type() == kGradient) {
    const StatusOr<std::string> source = ops_.op(i).node->Attr<std::string>("source");
    absl::StrAppend(&sources, "@", source.value_or(""));
    i = ops_.Producer(ops_.op(i).inputs[0]);
  }
  return {i, std::move(sources)};
}

void RowJoiner::FindUses() {
  for (int i = 0; i < ops_.size(); ++i) {
    if (ops_.IsGone(i)) continue;
    const StepOp& op = ops_.op(i);
    for (const Output& input : op.inputs) {
      if (input.dtype() != DataType::kResource) continue;
      const Array array = ArrayOf(input);
      ArrayUses& uses = uses_[array];
      if (array.first < 0 || ops_.op(array.first).type() != "TensorArrayV3") {
        uses.has_others = true;
      } else if (op.type() == "TensorArrayReadV3") {
        uses.reads.push_back(i);
      } else if (op.type() == "TensorArrayWriteV3") {
        uses.writes.push_back(i);
      } else if (op.type() == "TensorArrayGatherV3") {
        uses.gathers.push_back(i);
      } else if (op.type() == "TensorArrayScatterV3") {
        uses.scatters.push_back(i);
      } else if (op.type() == kGradient || op.type() == "TensorArraySizeV3") {
        uses.is_watched = true;
      } else {
        uses.has_others = true;
      }
    }
  }
}

bool RowJoiner::MayReplace(int i) const {
  const StepOp& op = ops_.op(i);
  return !op.must_run && !op.names_kernel() &&
         absl::c_none_of(op.outputs, [&](const Output& value) { return ops_.IsVisible(value); });
}

// The operations by the element that input 1 names, if they concern each one of `indices` once,
// and these are 0, 1, 2 ...
std::optional<std::vector<int>> RowJoiner::ByIndex(const std::vector<int>& elements,
                                                   const Output& indices) const {
  const auto all = KnownIntegers(ops_, indices);
  if (!all.has_value() || all->empty() || all->size() != elements.size()) return std::nullopt;
  for (size_t k = 0; k < all->size(); ++k) {
    if ((*all)[k] != static_cast<int64_t>(k)) return std::nullopt;
  }
  std::vector<int> by_index(elements.size(), -1);
  for (const int i : elements) {
    const auto index = KnownIntegers(ops_, ops_.op(i).inputs[1]);
    if (!index.has_value() || index->size() != 1 || !MayReplace(i)) return std::nullopt;
    if (index->front() < 0 || index->front() >= static_cast<int64_t>(elements.size())) {
      return std::nullopt;
    }
    int& place = by_index[static_cast<size_t>(index->front())];
    if (place >= 0) return std::nullopt;
    place = i;
  }
  return by_index;
}

Status RowJoiner::JoinReads(const ArrayUses& uses) {
  const int scatter = uses.scatters[0];
  const Output value = ops_.op(scatter).inputs[2];
  const auto reads = ByIndex(uses.reads, ops_.op(scatter).inputs[1]);
  const PartialShape* const all = ops_.KnownShape(value);
  if (!reads.has_value() || all == nullptr || *absl::c_min_element(*reads) < scatter ||
      all->rank() == 0 || all->dim(0) != static_cast<int64_t>(reads->size())) {
    return absl::OkStatus();
  }
  const Shape row(all->dims().subspan(1));
  std::vector<Output> rows;
  for (const int read : *reads) {
    rows.push_back(ops_.op(read).outputs[0]);
    const PartialShape* const shape = ops_.KnownShape(rows.back());
    if (shape == nullptr || shape->ToShape() != row || rows.back().dtype() != value.dtype()) {
      return absl::OkStatus();
    }
  }
  AttrMap attrs;
  SetAttr(&attrs, "num", static_cast<int64_t>(rows.size()));
  SetAttr(&attrs, "T", value.dtype());
  SetAttr(&attrs, "axis", int64_t{0});
  if (!ops_.HasKernel("Unpack", attrs)) return absl::OkStatus();
  const int place = *absl::c_min_element(*reads);
  return ops_.Replace(place, *reads, "Unpack", std::move(attrs), *ops_.op(place).node, {value},
                      std::move(rows));
}

Status RowJoiner::JoinWrites(const ArrayUses& uses) {
  const int gather = uses.gathers[0];
  const StepOp op = ops_.op(gather);
  const auto writes = ByIndex(uses.writes, op.inputs[1]);
  if (!writes.has_value() || *absl::c_max_element(*writes) > gather || op.must_run ||
      op.names_kernel()) {
    return absl::OkStatus();
  }
  std::vector<Output> rows;
  for (const int write : *writes) {
    rows.push_back(ops_.op(write).inputs[2]);
    if (rows.back().dtype() != op.outputs[0].dtype() ||
        !HaveSameShape(ops_, rows.back(), rows[0])) {
      return absl::OkStatus();
    }
  }
  AttrMap attrs;
  SetAttr(&attrs, "N", static_cast<int64_t>(rows.size()));
  SetAttr(&attrs, "T", op.outputs[0].dtype());
  SetAttr(&attrs, "axis", int64_t{0});
  if (!ops_.HasKernel("Pack", attrs)) return absl::OkStatus();
  MS_RETURN_IF_ERROR(
      ops_.Replace(gather, {}, "Pack", std::move(attrs), *op.node, std::move(rows), op.outputs));
  if (uses.is_watched) return absl::OkStatus();
  for (const int i : *writes) {
    const StepOp write = ops_.op(i);
    ops_.Redirect(write.outputs[0], write.inputs[3]);
    ops_.Remove(i);
  }
  // The flow of the gathering, which may be a sum of flows.
  const int flow = ops_.Producer(op.inputs[2]);
  if (flow >= 0) ops_.RemoveUnread(flow);
  return absl::OkStatus();
}

// Those that nothing goes through any more.
void RowJoiner::RemoveGradientArrays() {
  for (int i = ops_.size(); i-- > 0;) {
    if (ops_.IsGone(i) || ops_.op(i).type() != kGradient || !MayReplace(i)) continue;
    const StepOp op = ops_.op(i);
    if (!ops_.Readers(op.outputs[0]).empty()) continue;
    ops_.Redirect(op.outputs[1], op.inputs[1]);
    ops_.Remove(i);
  }
}

Status RowJoiner::Run() {
  FindUses();
  for (const auto& [array, uses] : uses_) {
    if (uses.has_others || uses.gathers.size() + uses.scatters.size() != 1) continue;
    if (uses.writes.empty() && !uses.reads.empty() && !uses.scatters.empty()) {
      MS_RETURN_IF_ERROR(JoinReads(uses));
    } else if (uses.reads.empty() && !uses.writes.empty() && !uses.gathers.empty()) {
      MS_RETURN_IF_ERROR(JoinWrites(uses));
    }
  }
  if (!uses_.empty()) RemoveGradientArrays();
  return absl::OkStatus();
}

Status JoinRows(StepOps* ops) { return RowJoiner(ops).Run(); }

// After simplify_arithmetic, which removes what only passes values on, and before join_products.
MILLSTREAM_PASS("join_rows", 11, JoinRows);

}  // namespace
}  // namespace millstream
