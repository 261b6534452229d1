#include "core/passes/row_lists.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "core/passes/known_values.h"

namespace millstream {
namespace {

constexpr char kMake[] = "TensorListFromTensor";

AttrMap MakingAttrs(DataType dtype) {
  AttrMap attrs;
  SetAttr(&attrs, "element_dtype", dtype);
  SetAttr(&attrs, "shape_type", DataType::kInt64);
  return attrs;
}

template <typename T>
Tensor NumbersOf(const KeptList& list) {
  std::vector<T> numbers;
  for (int64_t i = 0; i < list.count; ++i) numbers.push_back(static_cast<T>(list.numbers->At(i)));
  return Tensor::Vector<T>(numbers);
}

}  // namespace

bool KeptLists::CanKeep(DataType dtype) const { return ops_.HasKernel(kMake, MakingAttrs(dtype)); }

bool KeptLists::IsEmptyListFor(const Output& list, DataType dtype,
                               const PartialShape& shape) const {
  const int made = ops_.Producer(list);
  if (made < 0 || ops_.op(made).type() != "EmptyTensorList") return false;
  const StepOp& op = ops_.op(made);
  const StatusOr<DataType> elements = op.node->Attr<DataType>("element_dtype");
  const auto most = KnownIntegers(ops_, op.inputs[1]);
  if (!elements.ok() || *elements != dtype || !most.has_value() || most->size() != 1 ||
      most->front() >= 0) {
    return false;
  }
  const PartialShape* const rank = ops_.KnownShape(op.inputs[0]);
  const auto dims = KnownIntegers(ops_, op.inputs[0]);
  if (rank == nullptr || !dims.has_value()) return false;
  if (rank->rank() == 0) return dims->front() == kUnknownDim;
  PartialShape elements_fit = PartialShape::Scalar();
  for (const int64_t dim : *dims) elements_fit.AddDim(dim);
  return elements_fit.IsCompatibleWith(shape);
}

void KeptLists::Add(const Output& list, KeptList kept) {
  lists_[list] = std::move(kept);
  in_order_.push_back(list);
}

const KeptList* KeptLists::Find(const Output& list) const {
  const auto found = lists_.find(list);
  return found == lists_.end() ? nullptr : &found->second;
}

Status KeptLists::MakeThoseRead() {
  bool any = false;
  for (const Output& list : in_order_) {
    if (ops_.Readers(list).empty()) continue;
    const KeptList& kept = lists_.at(list);
    Output rows = kept.rows;
    if (kept.numbers.has_value()) {
      Tensor numbers =
          kept.dtype == DataType::kInt32 ? NumbersOf<int32_t>(kept) : NumbersOf<int64_t>(kept);
      MS_ASSIGN_OR_RETURN(rows, ops_.NewConstant(std::move(numbers)));
    }
    MS_ASSIGN_OR_RETURN(const Output shape,
                        ops_.NewConstant(Tensor::Vector<int64_t>(kept.element)));
    MS_RETURN_IF_ERROR(ops_.Add(kMake, MakingAttrs(kept.dtype), *kept.like, {rows, shape}, {list}));
    any = true;
  }
  if (any) ops_.Reorder();
  return absl::OkStatus();
}

}  // namespace millstream
