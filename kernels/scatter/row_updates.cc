#include "kernels/scatter/row_updates.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "kernels/array/indices.h"
#include "kernels/array/strings.h"
#include "kernels/elementwise/shared_tables.h"

namespace millstream::kernels {
namespace {

const BinaryTable& TableOf(RowOperation operation) {
  switch (operation) {
    case RowOperation::kSubtract: return kDifferenceTable;
    case RowOperation::kMultiply: return kProductTable;
    case RowOperation::kDivide: return kQuotientTable;
    case RowOperation::kMinimum: return kMinimumTable;
    case RowOperation::kMaximum: return kMaximumTable;
    case RowOperation::kAssign:
    case RowOperation::kAdd: break;
  }
  return kSumTable;
}

bool IsZero(const char* element, int64_t bytes) {
  return std::all_of(element, element + bytes, [](char byte) { return byte == 0; });
}

// Adds the text of cell `i` of `source` to that of cell `j` of `target`.
ms::Status AppendString(const ms::View& source, int64_t i, const ms::View& target, int64_t j) {
  std::string_view text, added;
  MS_TRY(target.GetString(j, &text));
  MS_TRY(source.GetString(i, &added));
  std::string joined(text);
  joined.append(added);
  return target.SetString(j, joined);
}

}  // namespace

std::vector<MS_DType> TypesOf(RowOperation operation) {
  switch (operation) {
    case RowOperation::kAssign: return MovableTypes();
    case RowOperation::kMinimum:
    case RowOperation::kMaximum: return TypesIn(kOrderedTypes);
    default: return TypesIn(kAllNumberTypes);
  }
}

ms::Status RowUpdater::Init(RowOperation operation, MS_DType dtype) {
  operation_ = operation;
  is_string_ = dtype == MS_STRING;
  bytes_ = static_cast<int64_t>(ms::ElementSize(dtype));
  if (operation == RowOperation::kAssign) return ms::Status();
  if (operation == RowOperation::kAdd && is_string_) return ms::Status();
  // Of two bytes that are 0 or 1, the larger one is "x or u".
  if (operation == RowOperation::kAdd && dtype == MS_BOOL) {
    return call_.Init(kMaximumTable, MS_UINT8, MS_UINT8);
  }
  adds_numbers_ = operation == RowOperation::kAdd;
  if (adds_numbers_) return accumulator_.Init(dtype, /*wide_table=*/false);
  return call_.Init(TableOf(operation), dtype, dtype);
}

ms::Status RowUpdater::Check(const Rows& rows) const {
  if (call_.functions == nullptr || call_.functions->refusal == nullptr) return ms::Status();
  if (rows.ids.size() == 0) return ms::Status();
  const char* const updates = rows.updates.data<char>();
  for (int64_t i = 0; i < rows.updates.size(); ++i) {
    if (!IsZero(updates + i * bytes_, bytes_)) continue;
    return ms::InvalidArgument(
        "Integer division by zero: ", ElementName("updates", rows.updates.shape(), i), " is 0");
  }
  return ms::Status();
}

ms::Status RowUpdater::Run(ms::Frame& frame, const Rows& rows) const {
  if (is_string_) return UpdateStrings(rows);
  if (adds_numbers_) {
    accumulator_.Run(frame, rows.ids, rows.updates.raw(), rows.is_scalar, rows.width,
                     rows.table.raw());
    return ms::Status();
  }
  ForColumns(frame, rows.ids.size(), rows.width, bytes_, 2,
             [&](int64_t first, int64_t last) { UpdateColumns(rows, first, last); });
  return ms::Status();
}

void RowUpdater::UpdateColumns(const Rows& rows, int64_t first, int64_t last) const {
  alignas(64) char repeated[4096];
  const int64_t columns = rows.is_scalar ? static_cast<int64_t>(sizeof(repeated)) / bytes_
                                         : std::max<int64_t>(last - first, 1);
  if (rows.is_scalar) {
    for (int64_t i = 0; i < std::min(columns, last - first); ++i) {
      std::memcpy(repeated + i * bytes_, rows.updates.raw(), static_cast<size_t>(bytes_));
    }
  }
  const char* const updates = rows.updates.data<char>();
  char* const table = rows.table.data<char>();
  const int64_t n = rows.ids.size();
  for (int64_t k = 0; k < n; ++k) {
    const int64_t row = IndexAt(rows.ids, k) * rows.width;
    for (int64_t column = first; column < last; column += columns) {
      const int64_t count = std::min(columns, last - column);
      const char* const from =
          rows.is_scalar ? repeated : updates + (k * rows.width + column) * bytes_;
      char* const to = table + (row + column) * bytes_;
      if (call_.functions == nullptr) {
        std::memcpy(to, from, static_cast<size_t>(count * bytes_));
      } else {
        RunBinaryElements(call_, to, from, to, 0, count);
      }
    }
  }
}

ms::Status RowUpdater::UpdateStrings(const Rows& rows) const {
  for (int64_t k = 0; k < rows.ids.size(); ++k) {
    const int64_t row = IndexAt(rows.ids, k) * rows.width;
    for (int64_t column = 0; column < rows.width; ++column) {
      const int64_t from = rows.is_scalar ? 0 : k * rows.width + column;
      if (operation_ == RowOperation::kAssign) {
        MS_TRY(CopyString(rows.updates, from, rows.table, row + column));
      } else {
        MS_TRY(AppendString(rows.updates, from, rows.table, row + column));
      }
    }
  }
  return ms::Status();
}

}  // namespace millstream::kernels
