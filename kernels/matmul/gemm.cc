#include "kernels/matmul/gemm.h"

#include <algorithm>
#include <cstring>
#include <dnnl.hpp>

#include "kernels/matmul/library_engine.h"
#include "kernels/matmul/library_primitive.h"
#include "kernels/matmul/library_threads.h"
#include "kernels/matmul/strip_blocks.h"
#include "kernels/matmul/vector_product.h"
#include "kernels/matmul/window_product.h"

namespace millstream::kernels {
namespace {

constexpr auto kFloat = dnnl::memory::data_type::f32;

// How the library is asked. It depends on the shape alone, so that an execution without the permit
// for parallelism takes the same way as one that holds it.
enum class Method { kOneThread, kPlainCall, kPrimitive, kRowTimesMatrix, kMatrixTimesColumn };

// A team costs more than it gains for a vector and a matrix of fewer numbers.
constexpr int64_t kFewForTeamWithVector = 1 << 20;
// Threads share out the results of a product with a vector, of which there must be enough for all.
constexpr int64_t kFewResults = 512;

// A row and a matrix that no longer fits into the first caches, and of which a copy takes little
// memory: kept strips of it are read in one go, a part of them by each thread. Where the matrix may
// change, its rows are read as they are, and the sums are the same.
bool IsRowForStrips(const GemmShape& shape) {
  constexpr int64_t kFewest = 1 << 17;
  constexpr int64_t kMost = 1 << 20;
  const int64_t elements = shape.n * shape.k;
  return shape.m == 1 && !shape.transpose_b && shape.n >= kFewResults && elements >= kFewest &&
         elements <= kMost;
}

Method ChooseForVector(const GemmShape& shape) {
  if (shape.m * shape.n < kFewResults) return Method::kPrimitive;
  const bool is_transposed = shape.m == 1 ? shape.transpose_b : !shape.transpose_a;
  return is_transposed ? Method::kMatrixTimesColumn : Method::kRowTimesMatrix;
}

Method Choose(const GemmShape& shape) {
  if (IsRowForStrips(shape)) return Method::kRowTimesMatrix;
  // A team costs a microsecond to start and more to wait for: small products are done sooner alone.
  constexpr int64_t kSmallProducts = 1 << 18;
  const int64_t products = shape.m * shape.n * shape.k;
  if (products < kSmallProducts) return Method::kOneThread;
  // With a transposed right operand the plain call packs in one thread (measured with two: up to
  // 40 % slower) and cuts sums by its number of threads, and for vectors it cuts sums, too; the
  // primitive does neither with AVX-512, but rearranges the matrix first, which takes longer than
  // a product with a vector. Elsewhere the plain call is as fast or faster.
  const bool is_vector = shape.m == 1 || shape.n == 1;
  if (is_vector && products < kFewForTeamWithVector) return Method::kOneThread;
  if (is_vector) return ChooseForVector(shape);
  return shape.transpose_b && !shape.transpose_a ? Method::kPrimitive : Method::kPlainCall;
}

// Multiplications of a product that is not cut: some tens of milliseconds of a core. While the
// library computes nobody can stop it.
constexpr int64_t kMostProducts = int64_t{1} << 32;

int64_t AtLeastOne(int64_t count, int64_t most) { return std::clamp<int64_t>(count, 1, most); }

// One call of the library on a piece of the operands: C += or = A * B.
ms::Status CallLibrary(const GemmShape& whole, const GemmShape& piece, const float* a,
                       const float* b, float* c, bool add) {
  const dnnl_status_t status =
      dnnl_sgemm(whole.transpose_a ? 'T' : 'N', whole.transpose_b ? 'T' : 'N', piece.m, piece.n,
                 piece.k, 1.0f, a, whole.transpose_a ? whole.m : whole.k, b,
                 whole.transpose_b ? whole.k : whole.n, add ? 1.0f : 0.0f, c, whole.n);
  if (status == dnnl_success) return ms::Status();
  return ms::Internal("dnnl_sgemm failed with status ", static_cast<int>(status), " on [", piece.m,
                      ",", piece.k, "] x [", piece.k, ",", piece.n, "]");
}

// A product that takes long. Sums are cut, which costs nothing, and the result where its parts are
// large enough for what the library rearranges first to be little. The cuts depend on the shape
// alone.
ms::Status CallLibraryInPieces(ms::Frame& frame, const GemmShape& shape, const float* a,
                               const float* b, float* c) {
  constexpr int64_t kMostColumns = 2048;
  constexpr int64_t kShortSum = 1024;
  const int64_t columns = std::min(shape.n, kMostColumns);
  const int64_t rows =
      AtLeastOne(kMostProducts / (columns * std::min(shape.k, kShortSum)), shape.m);
  const int64_t terms = AtLeastOne(kMostProducts / (columns * rows), shape.k);
  for (int64_t row = 0; row < shape.m; row += rows) {
    for (int64_t column = 0; column < shape.n; column += columns) {
      for (int64_t term = 0; term < shape.k; term += terms) {
        GemmShape piece = shape;
        piece.m = std::min(rows, shape.m - row);
        piece.n = std::min(columns, shape.n - column);
        piece.k = std::min(terms, shape.k - term);
        MS_TRY(frame.CheckCancelled());
        MS_TRY(CallLibrary(
            shape, piece, a + (shape.transpose_a ? term * shape.m + row : row * shape.k + term),
            b + (shape.transpose_b ? column * shape.k + term : term * shape.n + column),
            c + row * shape.n + column, term > 0));
      }
    }
  }
  return ms::Status();
}

// How a primitive's product that takes long is cut: into few columns, whose part of the right
// operand is soon rearranged. Sums stay whole.
void CutForPrimitives(const GemmShape& shape, int64_t* rows, int64_t* columns) {
  constexpr int64_t kMostRows = 4096;
  constexpr int64_t kFewColumns = 64;
  *rows = shape.m;
  *columns = shape.n;
  if (shape.m * shape.n * shape.k <= kMostProducts || !shape.transpose_b) return;
  *rows = AtLeastOne(kMostProducts / (shape.k * std::min(kFewColumns, shape.n)),
                     std::min(kMostRows, shape.m));
  *columns = AtLeastOne(kMostProducts / (shape.k * *rows), shape.n);
}

dnnl::memory::desc MatrixDesc(int64_t rows, int64_t columns, bool transposed) {
  using Tag = dnnl::memory::format_tag;
  return dnnl::memory::desc({rows, columns}, kFloat, transposed ? Tag::ba : Tag::ab);
}

dnnl::memory::desc RightDesc(const GemmShape& shape) {
  return MatrixDesc(shape.k, shape.n, shape.transpose_b);
}

// The result's rows are `stride` elements apart.
dnnl::matmul::primitive_desc MakePrimitiveDesc(const GemmShape& shape,
                                               const dnnl::memory::desc& right, int64_t stride) {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return dnnl::matmul::primitive_desc(
      dnnl::matmul::desc(MatrixDesc(shape.m, shape.k, shape.transpose_a), right,
                         dnnl::memory::desc({shape.m, shape.n}, kFloat, {stride, 1})),
      attributes, LibraryEngine());
}

// Whether a product whose right operand lies in blocks, as `arranged` likes it, has the bits of
// `plain`, which gets it as a matrix: the library's batch-reduced products arrange a matrix in the
// same blocks first. Its other products take no blocks, and sum a matrix in another order than its
// transposed.
bool ComputesAlike(const dnnl::matmul::primitive_desc& plain,
                   const dnnl::matmul::primitive_desc& arranged) {
  const dnnl_memory_desc_t weights = arranged.weights_desc().data;
  return weights.format_kind == dnnl_blocked && weights.format_desc.blocking.inner_nblks > 0 &&
         std::strcmp(plain.impl_info_str(), arranged.impl_info_str()) == 0;
}

}  // namespace

struct Gemm::Primitive {
  Primitive(const GemmShape& gemm_shape, int64_t result_stride, int thread_count)
      : shape(gemm_shape), stride(result_stride), threads(thread_count) {
    LibraryThreads team(threads);
    description = MakePrimitiveDesc(shape, RightDesc(shape), stride);
    primitive = LibraryPrimitive(description);
  }

  void Prepare() const {
    LibraryThreads team(threads);
    primitive.Prepare();
  }

  uint64_t scratch_bytes() const { return description.scratchpad_desc().get_size(); }

  // As Gemm::KeepRight. Shares the copy of `other`, which may be null, where that will do.
  void KeepWeights(const float* b, const Primitive* other) {
    LibraryThreads team(threads);
    const dnnl::memory::desc any({shape.k, shape.n}, kFloat, dnnl::memory::format_tag::any);
    const dnnl::matmul::primitive_desc arranged = MakePrimitiveDesc(shape, any, stride);
    if (!ComputesAlike(description, arranged)) return;
    if (other != nullptr && other->kept_right &&
        other->kept_right.get_desc() == arranged.weights_desc()) {
      kept_right = other->kept_right;
    } else {
      kept_right = dnnl::memory(arranged.weights_desc(), LibraryEngine());
      dnnl::memory from = LibraryMemory(RightDesc(shape), b);
      dnnl::stream stream(LibraryEngine());
      dnnl::reorder(from, kept_right).execute(stream, from, kept_right);
      stream.wait();
    }
    description = arranged;
    primitive = LibraryPrimitive(description);
  }

  void Run(const float* a, const float* b, float* c, void* scratch) const {
    LibraryThreads team(threads);
    dnnl::stream stream(LibraryEngine());
    primitive.Execute(
        stream,
        {{DNNL_ARG_SRC, LibraryMemory(description.src_desc(), a)},
         {DNNL_ARG_WEIGHTS, kept_right ? kept_right : LibraryMemory(description.weights_desc(), b)},
         {DNNL_ARG_DST, LibraryMemory(description.dst_desc(), c)},
         {DNNL_ARG_SCRATCHPAD, LibraryMemory(description.scratchpad_desc(), scratch)}});
    stream.wait();
  }

  const GemmShape shape;
  const int64_t stride;
  const int threads;
  dnnl::matmul::primitive_desc description;
  LibraryPrimitive primitive;
  dnnl::memory kept_right;  // empty when B may change, or the library likes it as it is
};

Gemm::Gemm(const GemmShape& shape, int threads) : shape_(shape), rows_(shape.m), columns_(shape.n) {
  if (!shape.transpose_a && !shape.transpose_b && StripGemm::Suits(shape.m, shape.n, shape.k)) {
    strips_ = std::make_unique<StripGemm>(shape.m, shape.n, shape.k);
    return;
  }
  if (Choose(shape) != Method::kPrimitive) return;
  CutForPrimitives(shape, &rows_, &columns_);
  for (int i = 0; i < 4; ++i) {
    GemmShape piece = shape;
    piece.m = i / 2 == 0 ? rows_ : shape.m % std::max<int64_t>(rows_, 1);
    piece.n = i % 2 == 0 ? columns_ : shape.n % std::max<int64_t>(columns_, 1);
    if (i > 0 && (piece.m == 0 || piece.n == 0)) continue;
    primitives_[i] = WideAndSingle<Primitive>(
        threads, [&](int count) { return std::make_unique<Primitive>(piece, shape.n, count); });
  }
}

Gemm::~Gemm() = default;

void Gemm::KeepRight(const float* b) {
  if (strips_ != nullptr) {
    strips_->KeepRight(b);
    return;
  }
  if (IsRowForStrips(shape_)) {
    kept_right_ = KeepStrips({b, shape_.k, shape_.n, false});
    return;
  }
  // Columns are filled up to whole blocks, which a few of them are not worth.
  constexpr int64_t kFewColumns = 16;
  const bool is_cut = rows_ < shape_.m || columns_ < shape_.n;
  if (shape_.n >= kFewColumns && !is_cut) primitives_[0].KeepWeights(b);
}

uint64_t Gemm::scratch_bytes() const {
  if (strips_ != nullptr) return strips_->scratch_bytes();
  uint64_t most = 0;
  for (const auto& primitives : primitives_) most = std::max(most, primitives.scratch_bytes());
  return most;
}

ms::Status Gemm::Run(ms::Frame& frame, const float* a, const float* b, float* c, void* scratch,
                     int threads) const {
  if (strips_ != nullptr) return strips_->Run(frame, a, b, c, scratch);
  if (kept_right_ != nullptr) return RunRow(frame, a, c);
  if (!primitives_[0]) return RunPlainGemm(frame, shape_, a, b, c, threads);
  if (rows_ < shape_.m || columns_ < shape_.n) return RunPieces(frame, a, b, c, scratch, threads);
  primitives_[0].For(threads).Run(a, b, c, scratch);
  return ms::Status();
}

ms::Status Gemm::RunRow(ms::Frame& frame, const float* a, float* c) const {
  const float* const all = kept_right_->data()->values;
  return ForEachStripBlock(frame, 1, shape_.k, shape_.n, [&](const StripBlock& block) {
    MultiplyStrips({a, shape_.k, 1, all + block.column * shape_.k, shape_.k, block.columns,
                    c + block.column, shape_.n});
  });
}

ms::Status Gemm::RunPieces(ms::Frame& frame, const float* a, const float* b, float* c,
                           void* scratch, int threads) const {
  for (int64_t row = 0; row < shape_.m; row += rows_) {
    const int last_rows = shape_.m - row < rows_ ? 2 : 0;
    for (int64_t column = 0; column < shape_.n; column += columns_) {
      MS_TRY(frame.CheckCancelled());
      const int last_columns = shape_.n - column < columns_ ? 1 : 0;
      primitives_[last_rows + last_columns].For(threads).Run(
          a + row * shape_.k, b + column * shape_.k, c + row * shape_.n + column, scratch);
    }
  }
  return ms::Status();
}

ms::Status RunPlainGemm(ms::Frame& frame, const GemmShape& shape, const float* a, const float* b,
                        float* c, int threads) {
  if (shape.m == 0 || shape.n == 0) return ms::Status();
  if (shape.k == 0) {
    std::fill(c, c + shape.m * shape.n, 0.0f);
    return ms::Status();
  }
  // Of a vector only the length matters, however it is stored.
  const float* const vector = shape.m == 1 ? a : b;
  const float* const matrix = shape.m == 1 ? b : a;
  const Method method = Choose(shape);
  if (method == Method::kRowTimesMatrix) {
    const int64_t columns = shape.m * shape.n;
    const bool is_small = shape.k * columns < kFewForTeamWithVector;
    RowTimesMatrix(vector, matrix, shape.k, columns, is_small ? 1 : threads, c);
    return ms::Status();
  }
  if (method == Method::kMatrixTimesColumn) {
    MatrixTimesColumn(matrix, vector, shape.m * shape.n, shape.k, threads, c);
    return ms::Status();
  }
  LibraryThreads team(method == Method::kOneThread ? 1 : threads);
  const bool takes_long = shape.m * shape.n * shape.k > kMostProducts;
  if (takes_long) return CallLibraryInPieces(frame, shape, a, b, c);
  return CallLibrary(shape, shape, a, b, c, false);
}

ms::Status RunGemm(ms::Frame& frame, const GemmShape& shape, const float* a, const float* b,
                   float* c) {
  const int threads = LibraryThreadCount(frame);
  const Gemm gemm(shape, threads);
  ms::View scratch;
  if (gemm.scratch_bytes() > 0) MS_TRY(frame.Temp(gemm.scratch_bytes(), &scratch));
  return gemm.Run(frame, a, b, c, gemm.scratch_bytes() > 0 ? scratch.raw() : nullptr, threads);
}

}  // namespace millstream::kernels
