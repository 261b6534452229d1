// Diagonals of matrices: Diag, MatrixDiag and MatrixDiagV2 make matrices of them, DiagPart,
// MatrixDiagPart and MatrixDiagPartV2 take them out, MatrixSetDiag and MatrixSetDiagV2 replace
// them. MatrixBandPart keeps some.
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "framework/plugin/plugin.hpp"
#include "kernels/array/indices.h"
#include "kernels/array/strided_copy.h"
#include "kernels/common/parallel.h"

namespace millstream::kernels {
namespace {

// The diagonals `lower` to `upper` of matrices; 0 is the main one, positive ones are above it. As a
// tensor they are the last two dimensions: one row a diagonal, the uppermost first, as long as the
// longest of them. The rows of shorter ones are padded at their ends. A single diagonal has no
// dimension for the rows.
struct Band {
  int64_t lower = 0;
  int64_t upper = 0;
  int64_t rows = 0;  // of the matrix
  int64_t columns = 0;

  int64_t count() const { return upper - lower + 1; }
  int64_t Length(int64_t diagonal) const {
    return std::min(rows + std::min<int64_t>(diagonal, 0),
                    columns - std::max<int64_t>(diagonal, 0));
  }
  // The length of the longest.
  int64_t width() const {
    return std::min(rows + std::min<int64_t>(upper, 0), columns - std::max<int64_t>(lower, 0));
  }
  // Where a diagonal begins, in the elements of the matrix.
  int64_t Start(int64_t diagonal) const {
    return std::max<int64_t>(-diagonal, 0) * columns + std::max<int64_t>(diagonal, 0);
  }
};

ms::Status ReadBand(const ms::View& k, Band* band) {
  if (k.rank() > 1 || k.size() < 1 || k.size() > 2) {
    return ms::InvalidArgument("k must be a scalar or have one or two elements, but has shape ",
                               k.shape().ToString());
  }
  band->lower = k.data<int32_t>()[0];
  band->upper = k.data<int32_t>()[k.size() - 1];
  if (band->lower <= band->upper) return ms::Status();
  return ms::InvalidArgument("k: the lower diagonal ", band->lower, " is above the upper one, ",
                             band->upper);
}

// `band` lies in its matrices.
ms::Status CheckInside(const Band& band) {
  for (const int64_t diagonal : {band.lower, band.upper}) {
    if (diagonal == 0 || (diagonal > -band.rows && diagonal < band.columns)) continue;
    return ms::InvalidArgument("k: there is no diagonal ", diagonal, " in the ", band.rows, " x ",
                               band.columns, " matrices of input");
  }
  return ms::Status();
}

enum class Direction { kToMatrix, kFromMatrix };

// Copies the band of each of `matrices` matrices to or from its place in a tensor of diagonals.
ms::Status CopyBand(ms::Frame& frame, const Band& band, int64_t matrices, Direction direction,
                    const ms::View& source, const ms::View& target) {
  const int64_t matrix_size = band.rows * band.columns;
  const int64_t band_size = band.count() * band.width();
  for (int64_t i = 0; i < band.count(); ++i) {
    const int64_t diagonal = band.upper - i;
    const int64_t start = band.Start(diagonal);
    const int64_t length = band.Length(diagonal);
    if (length <= 0) continue;  // it lies outside of matrices of the sizes asked for
    StridedCopy copy;
    if (direction == Direction::kToMatrix) {
      copy.AddDim(matrices, band_size, matrix_size);
      copy.AddDim(length, 1, band.columns + 1);
      MS_TRY(copy.Run(frame, source, i * band.width(), target, start));
    } else {
      copy.AddDim(matrices, matrix_size, band_size);
      copy.AddDim(length, band.columns + 1, 1);
      MS_TRY(copy.Run(frame, source, start, target, i * band.width()));
    }
  }
  return ms::Status();
}

ms::Status CheckScalar(const ms::View& view, const char* name) {
  if (view.rank() == 0) return ms::Status();
  return ms::InvalidArgument(name, " must be a scalar, but has shape ", view.shape().ToString());
}

// The sizes of matrices that hold the band, of which -1 asks for the smallest. One of them at the
// least must be the smallest: otherwise the diagonals would be longer.
ms::Status SetSizes(int64_t width, int64_t num_rows, int64_t num_cols, Band* band) {
  const int64_t least_rows = width - std::min<int64_t>(band->upper, 0);
  const int64_t least_columns = width + std::max<int64_t>(band->lower, 0);
  band->rows = num_rows != -1   ? num_rows
               : num_cols == -1 ? std::max(least_rows, least_columns)
                                : least_rows;
  band->columns = num_cols != -1   ? num_cols
                  : num_rows == -1 ? std::max(least_rows, least_columns)
                                   : least_columns;
  if (band->rows < least_rows || band->columns < least_columns) {
    return ms::InvalidArgument("num_rows and num_cols: the diagonals of length ", width,
                               " need at least ", least_rows, " rows and ", least_columns,
                               " columns, got ", band->rows, " and ", band->columns);
  }
  if (band->rows != least_rows && band->columns != least_columns) {
    return ms::InvalidArgument("num_rows and num_cols: ", band->rows, " rows and ", band->columns,
                               " columns make diagonals that are longer than ", width);
  }
  return ms::Status();
}

// Inputs: diagonal, and for MatrixDiagV2 k, num_rows, num_cols and padding_value.
class MatrixDiag {
 public:
  ms::Status Compute(ms::Frame& frame) const {
    const ms::View diagonal = frame.input(0);
    const bool has_band = frame.num_inputs() > 1;
    ms::Shape shape = diagonal.shape();
    if (shape.rank() == 0) return ms::InvalidArgument("diagonal must have rank 1 or more");
    const int64_t width = shape[shape.rank() - 1];
    Band band;
    int64_t num_rows = -1;
    int64_t num_cols = -1;
    uint32_t outer = shape.rank() - 1;
    if (has_band) {
      MS_TRY(ReadBand(frame.input(1), &band));
      MS_TRY(ReadIndexScalar(frame.input(2), "num_rows", &num_rows));
      MS_TRY(ReadIndexScalar(frame.input(3), "num_cols", &num_cols));
      MS_TRY(CheckScalar(frame.input(4), "padding_value"));
      if (band.count() > 1) {
        if (shape.rank() < 2 || shape[outer - 1] != band.count()) {
          return ms::InvalidArgument("diagonal must have ", band.count(),
                                     " rows, as k says, but has shape ", shape.ToString());
        }
        --outer;
      }
    }
    MS_TRY(SetSizes(width, num_rows, num_cols, &band));
    shape = ms::Shape(shape.begin(), outer);
    MS_TRY(CheckRank(outer + 2));
    shape.Append(band.rows);
    shape.Append(band.columns);
    ms::View output;
    MS_TRY(frame.Output(0, shape, &output));
    if (output.size() == 0) return ms::Status();
    MS_TRY(has_band ? FillWith(frame, frame.input(4), output) : SetToZero(frame, output));
    return CopyBand(frame, band, DimProduct(shape, 0, outer), Direction::kToMatrix, diagonal,
                    output);
  }
};

// The shape of matrices, of rank 2 or more.
ms::Status ReadMatrices(const ms::View& input, Band* band) {
  const uint32_t rank = input.rank();
  if (rank < 2) {
    return ms::InvalidArgument("input must have rank 2 or more, but has shape ",
                               input.shape().ToString());
  }
  band->rows = input.dim(rank - 2);
  band->columns = input.dim(rank - 1);
  return ms::Status();
}

// The shape of a band of matrices of shape `matrices`.
ms::Shape ShapeOfBand(const ms::Shape& matrices, const Band& band) {
  ms::Shape shape(matrices.begin(), matrices.rank() - 2);
  if (band.count() > 1) shape.Append(band.count());
  shape.Append(band.width());
  return shape;
}

// Inputs: input, and for MatrixDiagPartV2 k and padding_value.
class MatrixDiagPart {
 public:
  ms::Status Compute(ms::Frame& frame) const {
    const ms::View input = frame.input(0);
    const bool has_band = frame.num_inputs() > 1;
    Band band;
    MS_TRY(ReadMatrices(input, &band));
    if (has_band) {
      MS_TRY(ReadBand(frame.input(1), &band));
      MS_TRY(CheckScalar(frame.input(2), "padding_value"));
      MS_TRY(CheckInside(band));
    }
    ms::View diagonal;
    MS_TRY(frame.Output(0, ShapeOfBand(input.shape(), band), &diagonal));
    if (diagonal.size() == 0) return ms::Status();
    if (band.count() > 1) MS_TRY(FillWith(frame, frame.input(2), diagonal));
    return CopyBand(frame, band, DimProduct(input.shape(), 0, input.rank() - 2),
                    Direction::kFromMatrix, input, diagonal);
  }
};

// Gives the output the input's elements, in its memory where that is allowed.
ms::Status StartFromInput(ms::Frame& frame, const ms::View& input, ms::View* output) {
  MS_TRY(frame.ForwardOrOutput(0, 0, input.shape(), output));
  if (output->size() == 0 || output->raw() == input.raw()) return ms::Status();
  StridedCopy copy;
  copy.AddDim(input.size(), 1, 1);
  return copy.Run(frame, input, 0, *output, 0);
}

// Inputs: input, diagonal, and for MatrixSetDiagV2 k.
class MatrixSetDiag {
 public:
  ms::Status Compute(ms::Frame& frame) const {
    const ms::View input = frame.input(0);
    const ms::View diagonal = frame.input(1);
    Band band;
    MS_TRY(ReadMatrices(input, &band));
    if (frame.num_inputs() > 2) {
      MS_TRY(ReadBand(frame.input(2), &band));
      MS_TRY(CheckInside(band));
    }
    const ms::Shape expected = ShapeOfBand(input.shape(), band);
    if (diagonal.shape() != expected) {
      return ms::InvalidArgument("diagonal must have shape ", expected.ToString(),
                                 " for input of shape ", input.shape().ToString(), ", but has ",
                                 diagonal.shape().ToString());
    }
    ms::View output;
    MS_TRY(StartFromInput(frame, input, &output));
    if (output.size() == 0) return ms::Status();
    return CopyBand(frame, band, DimProduct(input.shape(), 0, input.rank() - 2),
                    Direction::kToMatrix, diagonal, output);
  }
};

// Input: diagonal. Output: its shape twice; what has other indices in the halves is zero.
class Diag {
 public:
  ms::Status Compute(ms::Frame& frame) const {
    const ms::View diagonal = frame.input(0);
    ms::Shape shape = diagonal.shape();
    if (shape.rank() == 0) return ms::InvalidArgument("diagonal must have rank 1 or more");
    MS_TRY(CheckRank(2 * shape.rank()));
    for (uint32_t d = 0; d < diagonal.rank(); ++d) shape.Append(diagonal.dim(d));
    ms::View output;
    MS_TRY(frame.Output(0, shape, &output));
    if (output.size() == 0) return ms::Status();
    MS_TRY(SetToZero(frame, output));
    StridedCopy copy;
    copy.AddDim(diagonal.size(), 1, diagonal.size() + 1);
    return copy.Run(frame, diagonal, 0, output, 0);
  }
};

class DiagPart {
 public:
  ms::Status Compute(ms::Frame& frame) const {
    const ms::View input = frame.input(0);
    const uint32_t half = input.rank() / 2;
    const ms::Shape shape(input.shape().begin(), half);
    if (half == 0 || input.rank() % 2 != 0 ||
        shape != ms::Shape(input.shape().begin() + half, half)) {
      return ms::InvalidArgument("input must have a shape of two equal halves, but has ",
                                 input.shape().ToString());
    }
    ms::View diagonal;
    MS_TRY(frame.Output(0, shape, &diagonal));
    if (diagonal.size() == 0) return ms::Status();
    StridedCopy copy;
    copy.AddDim(diagonal.size(), diagonal.size() + 1, 1);
    return copy.Run(frame, input, 0, diagonal, 0);
  }
};

// Inputs: input, num_lower, num_upper: how many diagonals below and above the main one stay, all if
// negative. The others become zero.
class MatrixBandPart {
 public:
  ms::Status Compute(ms::Frame& frame) const {
    const ms::View input = frame.input(0);
    Band size;
    MS_TRY(ReadMatrices(input, &size));
    int64_t lower = 0;
    int64_t upper = 0;
    MS_TRY(ReadKept(frame.input(1), "num_lower", size.rows, &lower));
    MS_TRY(ReadKept(frame.input(2), "num_upper", size.columns, &upper));
    ms::View band;
    MS_TRY(frame.ForwardOrOutput(0, 0, input.shape(), &band));
    if (band.size() == 0) return ms::Status();
    const auto bytes = static_cast<int64_t>(ms::ElementSize(input.dtype()));
    const int64_t row_bytes = size.columns * bytes;
    const char* const from = input.data<char>();
    char* const to = band.data<char>();
    return ParallelRows(
        frame, band.size() / size.columns, size.columns, 100 * bytes,
        [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            const int64_t row = i % size.rows;
            const int64_t first = std::min(std::max<int64_t>(row - lower, 0), size.columns) * bytes;
            const int64_t last = std::max(std::min(row + upper + 1, size.columns) * bytes, first);
            char* const target = to + i * row_bytes;
            const char* const source = from + i * row_bytes;
            std::memset(target, 0, static_cast<size_t>(first));
            if (target != source) {
              std::memcpy(target + first, source + first, static_cast<size_t>(last - first));
            }
            std::memset(target + last, 0, static_cast<size_t>(row_bytes - last));
          }
        });
  }

 private:
  static ms::Status ReadKept(const ms::View& view, const char* name, int64_t size, int64_t* kept) {
    MS_TRY(ReadIndexScalar(view, name, kept));
    if (*kept > size) {
      return ms::InvalidArgument(name, " = ", *kept, " is larger than the ", size,
                                 " of the matrices of input");
    }
    if (*kept < 0) *kept = size;
    return ms::Status();
  }
};

ms::KernelOptions Movable() { return ms::KernelOptions().Types("T", MovableTypes()); }

std::vector<MS_DType> PlainTypes() {
  std::vector<MS_DType> types = MovableTypes();
  types.pop_back();  // strings
  return types;
}

// The old names with "Batch" before them are the same.
template <typename Kernel>
ms::Registered RegisterBoth(const char* op, const char* old_op, const ms::KernelOptions& options) {
  ms::Register<Kernel>(old_op, options);
  return ms::Register<Kernel>(op, options);
}

const ms::Registered diag = ms::Register<Diag>("Diag", Movable());
const ms::Registered diag_part = ms::Register<DiagPart>("DiagPart", Movable());
const ms::Registered matrix_diag =
    RegisterBoth<MatrixDiag>("MatrixDiag", "BatchMatrixDiag", Movable());
const ms::Registered matrix_diag_v2 = ms::Register<MatrixDiag>(
    "MatrixDiagV2", Movable().HostArg("k").HostArg("num_rows").HostArg("num_cols"));
const ms::Registered matrix_diag_part =
    RegisterBoth<MatrixDiagPart>("MatrixDiagPart", "BatchMatrixDiagPart", Movable());
const ms::Registered matrix_diag_part_v2 =
    ms::Register<MatrixDiagPart>("MatrixDiagPartV2", Movable().HostArg("k"));
const ms::Registered matrix_set_diag =
    RegisterBoth<MatrixSetDiag>("MatrixSetDiag", "BatchMatrixSetDiag", Movable().InPlace(0, 0));
const ms::Registered matrix_set_diag_v2 =
    ms::Register<MatrixSetDiag>("MatrixSetDiagV2", Movable().HostArg("k").InPlace(0, 0));
const ms::Registered matrix_band_part =
    RegisterBoth<MatrixBandPart>("MatrixBandPart", "BatchMatrixBandPart",
                                 ms::KernelOptions()
                                     .Types("T", PlainTypes())
                                     .HostArg("num_lower")
                                     .HostArg("num_upper")
                                     .InPlace(0, 0));

}  // namespace
}  // namespace millstream::kernels
