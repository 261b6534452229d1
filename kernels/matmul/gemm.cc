#include "kernels/matmul/gemm.h"

#include <algorithm>
#include <dnnl.hpp>

#include "kernels/matmul/library_engine.h"
#include "kernels/matmul/library_primitive.h"
#include "kernels/matmul/library_threads.h"
#include "kernels/matmul/vector_product.h"

namespace millstream::kernels {
namespace {

constexpr auto kFloat = dnnl::memory::data_type::f32;

// How the library is asked. It depends on the shape alone, so that an execution without the permit
// for parallelism takes the same way as one that holds it.
enum class Method { kOneThread, kPlainCall, kPrimitive, kRowTimesMatrix, kMatrixTimesColumn };

// For a vector and a matrix of a million numbers or more.
Method ChooseForVector(const GemmShape& shape) {
  // Threads share out the results, of which there must be enough for all.
  constexpr int64_t kFewResults = 512;
  if (shape.m * shape.n < kFewResults) return Method::kPrimitive;
  const bool is_transposed = shape.m == 1 ? shape.transpose_b : !shape.transpose_a;
  return is_transposed ? Method::kMatrixTimesColumn : Method::kRowTimesMatrix;
}

Method Choose(const GemmShape& shape) {
  // A team costs a microsecond to start and more to wait for: small products are done sooner alone.
  constexpr int64_t kSmallProducts = 1 << 18;
  const int64_t products = shape.m * shape.n * shape.k;
  if (products < kSmallProducts) return Method::kOneThread;
  // With a transposed right operand the plain call packs in one thread (measured with two: up to
  // 40 % slower) and cuts sums by its number of threads, and for vectors it cuts sums, too; the
  // primitive does neither with AVX-512, but rearranges the matrix first, which takes longer than
  // a product with a vector. Elsewhere the plain call is as fast or faster.
  const bool is_vector = shape.m == 1 || shape.n == 1;
  if (is_vector && products < 4 * kSmallProducts) return Method::kOneThread;
  if (is_vector) return ChooseForVector(shape);
  return shape.transpose_b && !shape.transpose_a ? Method::kPrimitive : Method::kPlainCall;
}

dnnl::memory::desc MatrixDesc(int64_t rows, int64_t columns, bool transposed) {
  using Tag = dnnl::memory::format_tag;
  return dnnl::memory::desc({rows, columns}, kFloat, transposed ? Tag::ba : Tag::ab);
}

dnnl::memory::desc RightDesc(const GemmShape& shape) {
  return MatrixDesc(shape.k, shape.n, shape.transpose_b);
}

dnnl::matmul::primitive_desc MakePrimitiveDesc(const GemmShape& shape,
                                               const dnnl::memory::desc& right) {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return dnnl::matmul::primitive_desc(
      dnnl::matmul::desc(MatrixDesc(shape.m, shape.k, shape.transpose_a), right,
                         MatrixDesc(shape.m, shape.n, false)),
      attributes, LibraryEngine());
}

}  // namespace

struct Gemm::Primitive {
  Primitive(const GemmShape& gemm_shape, int thread_count)
      : shape(gemm_shape), threads(thread_count) {
    LibraryThreads team(threads);
    description = MakePrimitiveDesc(shape, RightDesc(shape));
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
    const dnnl::matmul::primitive_desc arranged = MakePrimitiveDesc(shape, any);
    const dnnl::memory::desc plain = RightDesc(shape);
    if (arranged.weights_desc() == plain) return;
    if (other != nullptr && other->kept_right &&
        other->kept_right.get_desc() == arranged.weights_desc()) {
      kept_right = other->kept_right;
    } else {
      kept_right = dnnl::memory(arranged.weights_desc(), LibraryEngine());
      dnnl::memory from = LibraryMemory(plain, b);
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
  const int threads;
  dnnl::matmul::primitive_desc description;
  LibraryPrimitive primitive;
  dnnl::memory kept_right;  // empty when B may change, or the library likes it as it is
};

Gemm::Gemm(const GemmShape& shape, int threads) : shape_(shape) {
  if (Choose(shape) != Method::kPrimitive) return;
  primitives_ = WideAndSingle<Primitive>(
      threads, [&](int count) { return std::make_unique<Primitive>(shape, count); });
}

Gemm::~Gemm() = default;

void Gemm::KeepRight(const float* b) {
  // Columns are filled up to whole blocks, which a few of them are not worth.
  constexpr int64_t kFewColumns = 16;
  if (shape_.n >= kFewColumns) primitives_.KeepWeights(b);
}

uint64_t Gemm::scratch_bytes() const { return primitives_.scratch_bytes(); }

ms::Status Gemm::Run(const float* a, const float* b, float* c, void* scratch, int threads) const {
  if (!primitives_) return RunPlainGemm(shape_, a, b, c, threads);
  primitives_.For(threads).Run(a, b, c, scratch);
  return ms::Status();
}

ms::Status RunPlainGemm(const GemmShape& shape, const float* a, const float* b, float* c,
                        int threads) {
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
    RowTimesMatrix(vector, matrix, shape.k, shape.m * shape.n, threads, c);
    return ms::Status();
  }
  if (method == Method::kMatrixTimesColumn) {
    MatrixTimesColumn(matrix, vector, shape.m * shape.n, shape.k, threads, c);
    return ms::Status();
  }
  LibraryThreads team(method == Method::kOneThread ? 1 : threads);
  const dnnl_status_t status =
      dnnl_sgemm(shape.transpose_a ? 'T' : 'N', shape.transpose_b ? 'T' : 'N', shape.m, shape.n,
                 shape.k, 1.0f, a, shape.transpose_a ? shape.m : shape.k, b,
                 shape.transpose_b ? shape.k : shape.n, 0.0f, c, shape.n);
  if (status != dnnl_success) {
    return ms::Internal("dnnl_sgemm failed with status ", static_cast<int>(status), " on [",
                        shape.m, ",", shape.k, "] x [", shape.k, ",", shape.n, "]");
  }
  return ms::Status();
}

ms::Status RunGemm(ms::Frame& frame, const GemmShape& shape, const float* a, const float* b,
                   float* c) {
  const int threads = LibraryThreadCount(frame);
  const Gemm gemm(shape, threads);
  ms::View scratch;
  if (gemm.scratch_bytes() > 0) MS_TRY(frame.Temp(gemm.scratch_bytes(), &scratch));
  return gemm.Run(a, b, c, gemm.scratch_bytes() > 0 ? scratch.raw() : nullptr, threads);
}

}  // namespace millstream::kernels
