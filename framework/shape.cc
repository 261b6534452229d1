#include "framework/shape.h"

#include <ostream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace millstream {
namespace {

// a * b for sizes that are not negative; false on overflow.
bool Multiply(int64_t a, int64_t b, int64_t* product) {
  return !__builtin_mul_overflow(a, b, product);
}

void AppendDim(std::string* out, int64_t size) {
  if (size == kUnknownDim) {
    out->push_back('?');
  } else {
    absl::StrAppend(out, size);
  }
}

}  // namespace

int64_t Shape::num_elements() const {
  int64_t count = 1;
  for (int64_t size : dims_) count *= size;
  return count;
}

std::string Shape::ToString() const { return absl::StrCat("[", absl::StrJoin(dims_, ","), "]"); }

Status CheckRank(int rank) {
  if (rank <= kMaxRank) return absl::OkStatus();
  return errors::InvalidArgument("a tensor has at most ", kMaxRank, " dimensions, got ", rank);
}

Status ValidateShape(const Shape& shape) {
  MS_RETURN_IF_ERROR(CheckRank(shape.rank()));
  int64_t count = 1;
  for (int i = 0; i < shape.rank(); ++i) {
    const int64_t size = shape.dim(i);
    if (size < 0) {
      return errors::InvalidArgument("shape ", shape.ToString(), " has the negative size ", size,
                                     " in dimension ", i);
    }
    if (!Multiply(count, size, &count)) {
      return errors::InvalidArgument("shape ", shape.ToString(), " has too many elements: their ",
                                     "count overflows 63 bits in dimension ", i);
    }
  }
  return absl::OkStatus();
}

PartialShape PartialShape::UnknownOfRank(int rank) {
  PartialShape shape = Scalar();
  shape.dims_.assign(rank, kUnknownDim);
  return shape;
}

bool PartialShape::IsFullyKnown() const {
  if (!known_rank_) return false;
  for (int64_t size : dims_) {
    if (size < 0) return false;
  }
  return true;
}

int64_t PartialShape::num_elements() const {
  if (!known_rank_) return kUnknownDim;
  int64_t count = 1;
  bool known = true;
  for (int64_t size : dims_) {
    if (size == 0) return 0;  // whatever the others are
    known = known && size > 0 && Multiply(count, size, &count);
  }
  return known ? count : kUnknownDim;
}

bool PartialShape::IsCompatibleWith(const PartialShape& other) const {
  if (!known_rank_ || !other.known_rank_) return true;
  if (rank() != other.rank()) return false;
  for (int i = 0; i < rank(); ++i) {
    const int64_t a = dims_[i];
    const int64_t b = other.dims_[i];
    if (a != kUnknownDim && b != kUnknownDim && a != b) return false;
  }
  return true;
}

StatusOr<PartialShape> PartialShape::MergeWith(const PartialShape& other) const {
  if (!known_rank_) return other;
  if (!other.known_rank_) return *this;
  if (rank() != other.rank()) {
    return errors::InvalidArgument("Shapes must be equal rank, but are ", rank(), " and ",
                                   other.rank(), " (", ToString(), " and ", other.ToString(), ")");
  }
  PartialShape merged = *this;
  for (int i = 0; i < rank(); ++i) {
    const int64_t a = dims_[i];
    const int64_t b = other.dims_[i];
    if (a == kUnknownDim) {
      merged.dims_[i] = b;
    } else if (b != kUnknownDim && a != b) {
      return errors::InvalidArgument("Dimension ", i, " in both shapes must be equal, but are ", a,
                                     " and ", b, " (", ToString(), " and ", other.ToString(), ")");
    }
  }
  return merged;
}

PartialShape PartialShape::CommonWith(const PartialShape& other) const {
  if (!known_rank_ || rank() != other.rank()) return PartialShape();
  PartialShape common = *this;
  for (int i = 0; i < rank(); ++i) {
    if (dims_[i] != other.dims_[i]) common.dims_[i] = kUnknownDim;
  }
  return common;
}

std::string PartialShape::ToString() const {
  if (!known_rank_) return "<unknown>";
  std::string text = "[";
  for (size_t i = 0; i < dims_.size(); ++i) {
    if (i > 0) text.push_back(',');
    AppendDim(&text, dims_[i]);
  }
  return text + "]";
}

std::ostream& operator<<(std::ostream& out, const Shape& shape) { return out << shape.ToString(); }

std::ostream& operator<<(std::ostream& out, const PartialShape& shape) {
  return out << shape.ToString();
}

}  // namespace millstream
