// Sets: the last dimension of a tensor, dense or sparse, holds the members of a set for each index
// of the other dimensions. DenseToDenseSetOperation, DenseToSparseSetOperation,
// SparseToSparseSetOperation, SetSize.
#include <algorithm>
#include <cctype>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "framework/plugin/plugin.hpp"
#include "kernels/array/indices.h"
#include "kernels/sparse/sparse_input.h"

namespace millstream::kernels {
namespace {

std::vector<MS_DType> MemberTypes() {
  return {MS_INT8, MS_INT16, MS_INT32, MS_INT64, MS_UINT8, MS_UINT16, MS_STRING};
}

// ---- Members: integers of any type as int64, or texts ----

ms::Status ReadMember(const ms::View& view, int64_t i, int64_t* member) {
  switch (view.dtype()) {
    case MS_INT8: *member = view.data<int8_t>()[i]; break;
    case MS_INT16: *member = view.data<int16_t>()[i]; break;
    case MS_INT32: *member = view.data<int32_t>()[i]; break;
    case MS_UINT8: *member = view.data<uint8_t>()[i]; break;
    case MS_UINT16: *member = view.data<uint16_t>()[i]; break;
    default: *member = view.data<int64_t>()[i]; break;
  }
  return ms::Status();
}
ms::Status ReadMember(const ms::View& view, int64_t i, std::string_view* member) {
  return view.GetString(i, member);
}

ms::Status WriteMember(const ms::View& view, int64_t i, int64_t member) {
  switch (view.dtype()) {
    case MS_INT8: view.data<int8_t>()[i] = static_cast<int8_t>(member); break;
    case MS_INT16: view.data<int16_t>()[i] = static_cast<int16_t>(member); break;
    case MS_INT32: view.data<int32_t>()[i] = static_cast<int32_t>(member); break;
    case MS_UINT8: view.data<uint8_t>()[i] = static_cast<uint8_t>(member); break;
    case MS_UINT16: view.data<uint16_t>()[i] = static_cast<uint16_t>(member); break;
    default: view.data<int64_t>()[i] = member; break;
  }
  return ms::Status();
}
ms::Status WriteMember(const ms::View& view, int64_t i, std::string_view member) {
  return view.SetString(i, member);
}

// ---- Sets, by the place of their index ----

// Member by member, sorted by set and member, each once.
template <typename T>
using Members = std::vector<std::pair<int64_t, T>>;

template <typename T>
void MakeSets(Members<T>* members) {
  std::sort(members->begin(), members->end());
  members->erase(std::unique(members->begin(), members->end()), members->end());
}

// All but the last dimension.
ms::Shape SetsOf(const ms::Shape& shape) { return ms::Shape(shape.begin(), shape.rank() - 1); }

ms::Status CheckSetRank(std::string_view name, const ms::Shape& shape) {
  if (shape.rank() >= 2) return ms::Status();
  return ms::InvalidArgument(name, " must be of rank 2 or more, but the shape is ",
                             shape.ToString());
}

template <typename T>
ms::Status ReadDenseSets(const ms::View& tensor, Members<T>* members) {
  const int64_t width = tensor.dim(tensor.rank() - 1);
  members->reserve(static_cast<size_t>(tensor.size()));
  for (int64_t i = 0; i < tensor.size(); ++i) {
    T member;
    MS_TRY(ReadMember(tensor, i, &member));
    members->emplace_back(i / width, member);
  }
  MakeSets(members);
  return ms::Status();
}

template <typename T>
ms::Status ReadSparseSets(const SparseInput& sparse, Members<T>* members) {
  members->reserve(static_cast<size_t>(sparse.count()));
  for (int64_t k = 0; k < sparse.count(); ++k) {
    T member;
    MS_TRY(ReadMember(sparse.values, k, &member));
    members->emplace_back(PlaceOfIndex(sparse.index(k), sparse.shape, sparse.rank() - 1), member);
  }
  MakeSets(members);
  return ms::Status();
}

// ---- Kernels ----

// One of the operands.
struct Operand {
  bool is_sparse;
  ms::View dense;
  SparseInput sparse;
  const char* name;
  ms::Shape shape() const { return is_sparse ? sparse.shape : dense.shape(); }
};

class SetOperation {
 public:
  struct Row {
    bool is_sparse[2];
  };

  explicit SetOperation(const Row& row) : row_(row) {}

  ms::Status Init(const ms::KernelInfo& info) {
    std::string operation;
    MS_TRY(info.Attr("set_operation", &operation));
    MS_TRY(info.Attr("validate_indices", &validate_indices_));
    std::transform(operation.begin(), operation.end(), operation.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    const std::string known[] = {"a-b", "b-a", "intersection", "union"};
    const auto* const found = std::find(std::begin(known), std::end(known), operation);
    if (found == std::end(known)) {
      return ms::InvalidArgument(
          "Invalid set_operation ", operation,
          ": attribute 'set_operation' must be a-b, b-a, intersection or union");
    }
    operation_ = static_cast<Operation>(found - std::begin(known));
    return ms::Status();
  }

  ms::Status Compute(ms::Frame& frame) const {
    Operand operands[2];
    uint32_t next = 0;
    for (int i = 0; i < 2; ++i) MS_TRY(Read(frame, i, &next, &operands[i]));
    const ms::Shape sets = SetsOf(operands[0].shape());
    if (sets != SetsOf(operands[1].shape())) {
      return ms::InvalidArgument("Mismatched group shapes: ", operands[0].name, " and ",
                                 operands[1].name, " must agree in all but the last dimension, ",
                                 "but their shapes are ", operands[0].shape().ToString(), " and ",
                                 operands[1].shape().ToString());
    }
    const bool is_text = frame.input(row_.is_sparse[0] ? 1 : 0).dtype() == MS_STRING;
    return is_text ? Run<std::string_view>(frame, operands, sets)
                   : Run<int64_t>(frame, operands, sets);
  }

 private:
  enum class Operation { kLeft, kRight, kIntersection, kUnion };

  ms::Status Read(ms::Frame& frame, int i, uint32_t* next, Operand* operand) const {
    operand->is_sparse = row_.is_sparse[i];
    operand->name = i == 0 ? "set1" : "set2";
    if (!operand->is_sparse) {
      operand->dense = frame.input((*next)++);
      return CheckSetRank(operand->name, operand->dense.shape());
    }
    const SparseNames names = i == 0 ? SparseNames{"set1_indices", "set1_values", "set1_shape"}
                                     : SparseNames{"set2_indices", "set2_values", "set2_shape"};
    operand->name = names.shape;
    MS_TRY(ReadSparse(frame, *next, names, &operand->sparse));
    *next += 3;
    MS_TRY(CheckSetRank(names.shape, operand->sparse.shape));
    return CheckIndices(operand->sparse, validate_indices_);
  }

  template <typename T>
  ms::Status Run(ms::Frame& frame, const Operand operands[2], const ms::Shape& sets) const {
    Members<T> members[2];
    for (int i = 0; i < 2; ++i) {
      if (operands[i].is_sparse) {
        MS_TRY(ReadSparseSets(operands[i].sparse, &members[i]));
      } else {
        MS_TRY(ReadDenseSets(operands[i].dense, &members[i]));
      }
    }
    return SetOutputs(frame, Combine(members[0], members[1]), sets);
  }

  template <typename T>
  Members<T> Combine(const Members<T>& a, const Members<T>& b) const {
    Members<T> result;
    const auto out = std::back_inserter(result);
    switch (operation_) {
      case Operation::kLeft:
        std::set_difference(a.begin(), a.end(), b.begin(), b.end(), out);
        break;
      case Operation::kRight:
        std::set_difference(b.begin(), b.end(), a.begin(), a.end(), out);
        break;
      case Operation::kIntersection:
        std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), out);
        break;
      case Operation::kUnion: std::set_union(a.begin(), a.end(), b.begin(), b.end(), out); break;
    }
    return result;
  }

  template <typename T>
  static ms::Status SetOutputs(ms::Frame& frame, const Members<T>& members, const ms::Shape& sets) {
    int64_t largest = 0;
    int64_t column = 0;
    for (size_t k = 0; k < members.size(); ++k) {
      column = k > 0 && members[k].first == members[k - 1].first ? column + 1 : 0;
      largest = std::max(largest, column + 1);
    }
    ms::Shape shape = sets;
    shape.Append(largest);
    SparseOutput output;
    MS_TRY(MakeSparseOutput(frame, 0, static_cast<int64_t>(members.size()), shape, &output));
    for (size_t k = 0; k < members.size(); ++k) {
      column = k > 0 && members[k].first == members[k - 1].first ? column + 1 : 0;
      int64_t* const index = output.index(static_cast<int64_t>(k));
      IndexOfPlace(members[k].first, sets, sets.rank(), index);
      index[sets.rank()] = column;
      MS_TRY(WriteMember(output.values, static_cast<int64_t>(k), members[k].second));
    }
    return ms::Status();
  }

  const Row& row_;
  bool validate_indices_ = true;
  Operation operation_ = Operation::kUnion;
};

// Output: how many members each set has.
class SetSize {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    return info.Attr("validate_indices", &validate_indices_);
  }

  ms::Status Compute(ms::Frame& frame) const {
    SparseInput sparse;
    MS_TRY(ReadSparse(frame, 0, {"set_indices", "set_values", "set_shape"}, &sparse));
    MS_TRY(CheckSetRank("set_shape", sparse.shape));
    MS_TRY(CheckIndices(sparse, validate_indices_));
    return sparse.values.dtype() == MS_STRING ? Count<std::string_view>(frame, sparse)
                                              : Count<int64_t>(frame, sparse);
  }

 private:
  template <typename T>
  static ms::Status Count(ms::Frame& frame, const SparseInput& sparse) {
    ms::View sizes;
    MS_TRY(frame.Output(0, SetsOf(sparse.shape), &sizes));
    std::fill_n(sizes.data<int32_t>(), sizes.size(), 0);
    Members<T> members;
    MS_TRY(ReadSparseSets(sparse, &members));
    for (const auto& member : members) ++sizes.data<int32_t>()[member.first];
    return ms::Status();
  }

  bool validate_indices_ = true;
};

constexpr SetOperation::Row kDenseDense = {{false, false}};
constexpr SetOperation::Row kDenseSparse = {{false, true}};
constexpr SetOperation::Row kSparseSparse = {{true, true}};

// All is read before the size of the result is known.
ms::KernelOptions Types(std::initializer_list<const char*> arguments) {
  ms::KernelOptions options;
  options.Types("T", MemberTypes());
  for (const char* const argument : arguments) options.HostArg(argument);
  return options;
}

const ms::Registered dense_to_dense =
    ms::RegisterRow<SetOperation>("DenseToDenseSetOperation", kDenseDense, Types({"set1", "set2"}));
const ms::Registered dense_to_sparse =
    ms::RegisterRow<SetOperation>("DenseToSparseSetOperation", kDenseSparse,
                                  Types({"set1", "set2_indices", "set2_values", "set2_shape"}));
const ms::Registered sparse_to_sparse =
    ms::RegisterRow<SetOperation>("SparseToSparseSetOperation", kSparseSparse,
                                  Types({"set1_indices", "set1_values", "set1_shape",
                                         "set2_indices", "set2_values", "set2_shape"}));
const ms::Registered set_size =
    ms::Register<SetSize>("SetSize", Types({"set_indices", "set_shape"}));

}  // namespace
}  // namespace millstream::kernels
