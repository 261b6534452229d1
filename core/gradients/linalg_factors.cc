// Gradients of factors, singular values, eigenvalues, least squares and functions of
// matrices. ^H is the adjoint. See M. Giles: Collected Matrix Derivative Results for Forward and
// Reverse Mode Algorithmic Differentiation, 2008; J. Townsend: Differentiating the Singular Value
// Decomposition, 2016; S. Walter, L. Lehmann: Algorithmic Differentiation of Linear Algebra
// Functions with Application in Optimum Experimental Design, 2010.
#include <cmath>
#include <vector>

#include "core/gradients/gradient_registry.h"
#include "core/gradients/math_helpers.h"
#include "core/gradients/shape_helpers.h"

namespace millstream {
namespace {

// What the functions below are made of: matrices are the last two dimensions of tensors.
class Matrices {
 public:
  explicit Matrices(GraphBuilder* builder) : builder_(builder) {}

  Output Product(Output x, Output y) const { return Multiply(x, false, y, false); }
  Output AdjointProduct(Output x, Output y) const { return Multiply(x, true, y, false); }
  Output ProductAdjoint(Output x, Output y) const { return Multiply(x, false, y, true); }

  Output Adjoint(Output x) const {
    const PartialShape shape = builder_->ShapeOf(x);
    if (shape.known_rank()) {
      std::vector<int32_t> order;
      for (int i = 0; i + 2 < shape.rank(); ++i) order.push_back(i);
      order.push_back(shape.rank() - 1);
      order.push_back(shape.rank() - 2);
      return builder_->Op("ConjugateTranspose", {x, builder_->Int32Vector(order)});
    }
    // x^H I, for an I of the size of x x^H.
    const Output square = Multiply(x, false, x, true);
    const Output ones = builder_->Op("OnesLike", {builder_->Op("MatrixDiagPart", {square})});
    return Multiply(x, true, Diagonal(ones), false);
  }

  Output Diagonal(Output vectors) const { return builder_->Op("MatrixDiag", {vectors}); }
  Output Add(Output x, Output y) const { return builder_->Op("AddV2", {x, y}); }
  Output Subtract(Output x, Output y) const { return builder_->Op("Sub", {x, y}); }
  Output Times(Output x, Output y) const { return builder_->Op("Mul", {x, y}); }

  // The lower triangle if `lower`, else the upper one.
  Output Triangle(Output x, bool lower) const {
    const Output all = builder_->ScalarOf(DataType::kInt64, -1);
    const Output none = builder_->ScalarOf(DataType::kInt64, 0);
    return builder_->Op("MatrixBandPart", {x, lower ? all : none, lower ? none : all});
  }

  Output WithHalfDiagonal(Output x) const {
    const Output half = builder_->ScalarOf(x.dtype(), 0.5);
    const Output diagonal = Times(builder_->Op("MatrixDiagPart", {x}), half);
    return builder_->Op("MatrixSetDiag", {x, diagonal});
  }

  // Rows for vectors, so that they scale columns; or columns, so that they scale rows.
  Output AsRow(Output vectors) const {
    return builder_->Op("ExpandDims", {vectors, builder_->Int32(-2)});
  }
  Output AsColumn(Output vectors) const {
    return builder_->Op("ExpandDims", {vectors, builder_->Int32(-1)});
  }

  // Dimension -1 or -2 as a vector of one element.
  Output SizeOf(Output x, int dim) const {
    const Output shape = builder_->Op("Shape", {x});
    const Output begin = builder_->Int32Vector({dim});
    // The end of the last dimension is the vector's own.
    return builder_->Op(
        "StridedSlice",
        {shape, begin, builder_->Int32Vector({dim + 1}), builder_->Int32Vector({1})},
        {{"end_mask", int64_t{dim == -1 ? 1 : 0}}});
  }

  // The columns from `begin` on, or those before `end`, vectors of one element.
  Output ColumnsFrom(Output x, Output begin) const {
    return SliceColumns(x, begin, builder_->Int32Vector({0}), 2);
  }
  Output ColumnsBefore(Output x, Output end) const {
    return SliceColumns(x, builder_->Int32Vector({0}), end, 0);
  }

  // The first row as vectors, and the matrices of the others.
  Output FirstRow(Output x) const { return SliceRows(x, 0, 4, 2); }
  Output OtherRows(Output x) const { return SliceRows(x, 1, 6, 0); }

  // Matrices beside one another (axis -1) or below one another (-2).
  Output Join(Output x, Output y, int axis) const {
    const Node* const node = builder_->Variadic("ConcatV2", {{x, y}, {builder_->Int32(axis)}});
    return node == nullptr ? Output() : Output{node, 0};
  }

  GraphBuilder* builder() const { return builder_; }

 private:
  Output Multiply(Output x, bool adjoint_x, Output y, bool adjoint_y) const {
    return builder_->Op("BatchMatMulV2", {x, y}, {{"adj_x", adjoint_x}, {"adj_y", adjoint_y}});
  }

  Output SliceColumns(Output x, Output begin, Output end, int64_t end_mask) const {
    const Output zero = builder_->Int32Vector({0});
    return builder_->Op("StridedSlice",
                        {x, ConcatVectors(builder_, {zero, begin}),
                         ConcatVectors(builder_, {zero, end}), builder_->Int32Vector({1, 1})},
                        {{"ellipsis_mask", int64_t{1}}, {"end_mask", end_mask}});
  }

  // The row `begin`, or all from there on, as the masks say: 2 stands for rows, 4 for columns.
  Output SliceRows(Output x, int32_t begin, int64_t end_mask, int64_t shrink_axis_mask) const {
    return builder_->Op(
        "StridedSlice",
        {x, builder_->Int32Vector({0, begin, 0}), builder_->Int32Vector({0, begin + 1, 0}),
         builder_->Int32Vector({1, 1, 1})},
        {{"ellipsis_mask", int64_t{1}},
         {"begin_mask", int64_t{4}},
         {"end_mask", end_mask},
         {"shrink_axis_mask", shrink_axis_mask}});
  }

  GraphBuilder* const builder_;
};

// Of a wide A = [X Y] = Q [U V], Y = Q V gives Q the gradient Y dV^H, and Y has Q dV. For the rest
// dX = (dQ + Q (T + T^H)) U^-H, where T is the upper triangle of dU U^H - Q^H dQ with half of its
// diagonal.
Status QrGradient(GradientContext* context) {
  const Matrices m(context->builder());
  GraphBuilder* const builder = context->builder();
  const Output q = context->output(0);
  const Output r = context->output(1);
  MS_ASSIGN_OR_RETURN(const bool full, context->Attr<bool>("full_matrices"));
  const PartialShape shape = builder->ShapeOf(r);
  const bool is_square =
      shape.known_rank() && shape.dim(-1) != kUnknownDim && shape.dim(-1) == shape.dim(-2);
  if (full && !is_square) {
    return absl::UnimplementedError(
        "QrGrad not implemented when full_matrices is true and the matrices are not known to be "
        "square");
  }
  Output u = r;
  Output du = context->dy(1);
  Output dq = context->dy(0);
  Output dy;
  if (!is_square) {
    const Output size = m.SizeOf(r, -2);
    const Output dv = m.ColumnsFrom(du, size);
    dq = m.Add(dq, m.ProductAdjoint(m.Product(q, m.ColumnsFrom(r, size)), dv));
    dy = m.Product(q, dv);
    u = m.ColumnsBefore(r, size);
    du = m.ColumnsBefore(du, size);
  }
  const Output difference = m.Subtract(m.ProductAdjoint(du, u), m.AdjointProduct(q, dq));
  const Output t = m.WithHalfDiagonal(m.Triangle(difference, false));
  const Output sum = m.Add(dq, m.Product(q, m.Add(t, m.Adjoint(t))));
  // sum U^-H = (U^-1 sum^H)^H
  const Output solved =
      builder->Op("MatrixTriangularSolve", {u, m.Adjoint(sum)}, {{"lower", false}});
  const Output dx = m.Adjoint(solved);
  context->SetDx(0, is_square ? dx : m.Join(dx, dy, -1));
  return absl::OkStatus();
}

// P A = L U: P dA = L^-H T U^-H, where T has what L^H dL has below the diagonal and dU U^H
// elsewhere. L, with ones on its diagonal, and U are one tensor, and so are dL and dU.
Status LuGradient(GradientContext* context) {
  const Matrices m(context->builder());
  GraphBuilder* const builder = context->builder();
  const Output factors = context->output(0);
  const Output gradients = context->dy(0);
  const Output diagonal = builder->Op("MatrixDiagPart", {factors});
  const Output zeros = builder->Op("ZerosLike", {diagonal});
  const auto below_diagonal = [&](Output x) {
    return builder->Op("MatrixSetDiag", {m.Triangle(x, true), zeros});
  };
  const Output l = builder->Op("MatrixSetDiag",
                               {m.Triangle(factors, true), builder->Op("OnesLike", {diagonal})});
  const Output u = m.Triangle(factors, false);
  const Output of_l = below_diagonal(m.AdjointProduct(l, below_diagonal(gradients)));
  const Output of_u = m.Triangle(m.ProductAdjoint(m.Triangle(gradients, false), u), false);
  const Output left = builder->Op("MatrixTriangularSolve", {l, m.Add(of_l, of_u)},
                                  {{"lower", true}, {"adjoint", true}});
  // left U^-H = (U^-1 left^H)^H
  const Output ordered =
      m.Adjoint(builder->Op("MatrixTriangularSolve", {u, m.Adjoint(left)}, {{"lower", false}}));
  const Output size = builder->Op("Reshape", {m.SizeOf(factors, -1), builder->Int32Vector({})});
  const Output order =
      builder->Op("OneHot", {context->output(1), size, builder->ScalarOf(factors.dtype(), 1),
                             builder->ScalarOf(factors.dtype(), 0)});
  context->SetDx(0, m.AdjointProduct(order, ordered));
  return absl::OkStatus();
}

// The gradient of a self-adjoint matrix of which the lower triangle is read.
Output OfLowerTriangle(const Matrices& m, Output gradient) {
  return m.WithHalfDiagonal(m.Triangle(m.Add(gradient, m.Adjoint(gradient)), true));
}

// SelfAdjointEig, whose eigenvalues are the first row of its output, with the vectors below: dA as
// under SelfAdjointEigenGradient. F is 0 for equal values, so that those without a gradient of
// their vectors have one.
Status JoinedEigenGradient(GradientContext* context) {
  const Matrices m(context->builder());
  GraphBuilder* const builder = context->builder();
  const Output e = m.FirstRow(context->output(0));
  const Output v = m.OtherRows(context->output(0));
  const Output differences = m.Subtract(m.AsRow(e), m.AsColumn(e));
  const Output one = builder->ScalarOf(context->input(0).dtype(), 1);
  const Output f = builder->Op("DivNoNan", {one, differences});
  const Output of_vectors = m.Times(f, m.AdjointProduct(v, m.OtherRows(context->dy(0))));
  const Output middle = m.Add(m.Diagonal(m.FirstRow(context->dy(0))), of_vectors);
  context->SetDx(0, OfLowerTriangle(m, m.ProductAdjoint(m.Product(v, middle), v)));
  return absl::OkStatus();
}

// dA = V (diag(de) + F * V^H dV) V^H with F_ij = 1 / (e_j - e_i), and 0 on the diagonal.
Status SelfAdjointEigenGradient(GradientContext* context) {
  const Matrices m(context->builder());
  GraphBuilder* const builder = context->builder();
  MS_ASSIGN_OR_RETURN(const bool has_vectors, context->Attr<bool>("compute_v"));
  const Output de = context->dy(0);
  if (!has_vectors) {
    const Node* const eigen =
        builder->NodeOf("SelfAdjointEigV2", {context->input(0)}, {{"compute_v", true}});
    if (eigen == nullptr) return builder->status();
    const Output v{eigen, 1};
    context->SetDx(0, OfLowerTriangle(m, m.ProductAdjoint(m.Times(v, m.AsRow(de)), v)));
    return absl::OkStatus();
  }
  const Output e = context->output(0);
  const Output v = context->output(1);
  Output middle = m.Diagonal(de);
  if (context->has_dy(1)) {
    const Output differences = m.Subtract(m.AsRow(e), m.AsColumn(e));
    const Output zeros = builder->Op("ZerosLike", {e});
    const Output f =
        builder->Op("MatrixSetDiag", {builder->Op("Reciprocal", {differences}), zeros});
    middle = m.Add(middle, m.Times(f, m.AdjointProduct(v, context->dy(1))));
  }
  context->SetDx(0, OfLowerTriangle(m, m.ProductAdjoint(m.Product(v, middle), v)));
  return absl::OkStatus();
}

// The gradient of the first vectors of a square factor, of which the others, `rest`, are determined
// by being orthogonal to them.
Output OfFirstVectors(const Matrices& m, Output vectors, Output gradient, Output size) {
  const Output first = m.ColumnsBefore(vectors, size);
  const Output rest = m.ColumnsFrom(vectors, size);
  const Output of_rest = m.ColumnsFrom(gradient, size);
  return m.Subtract(m.ColumnsBefore(gradient, size),
                    m.Product(rest, m.AdjointProduct(of_rest, first)));
}

// U [ (skew(U^H dU) S + S skew(V^H dV)) / E + diag(ds) ] V^H, with skew(X) = X - X^H and
// E_ij = s_j^2 - s_i^2, and what of dU and dV is orthogonal to U and V. Equal values have no such
// part. The vectors of complex matrices have a free phase: it is chosen such that both have one
// half.
Output SvdMiddle(GradientContext* context, const Matrices& m, Output s, Output of_u, Output of_v) {
  GraphBuilder* const builder = context->builder();
  const Output squares = builder->Op("Square", {s});
  const Output differences = m.Subtract(m.AsRow(squares), m.AsColumn(squares));
  const Output zero = builder->ScalarOf(s.dtype(), 0);
  const Output is_zero =
      builder->Op("Cast", {builder->Op("Equal", {differences, zero})}, {{"DstT", s.dtype()}});
  const Output skew_u = m.Subtract(of_u, m.Adjoint(of_u));
  const Output skew_v = m.Subtract(of_v, m.Adjoint(of_v));
  const Output sum = m.Add(m.Times(skew_u, m.AsRow(s)), m.Times(m.AsColumn(s), skew_v));
  const Output divided = builder->Op("RealDiv", {sum, m.Add(differences, is_zero)});
  const Output one = builder->ScalarOf(s.dtype(), 1);
  Output middle = m.Times(divided, m.Subtract(one, is_zero));
  middle = m.Add(middle, m.Diagonal(context->dy(0)));
  if (!IsComplex(s.dtype())) return middle;
  const Output phases = builder->Op("MatrixDiagPart", {skew_u});
  const Output twice = m.Times(s, builder->ScalarOf(s.dtype(), 2));
  return m.Add(middle, m.Diagonal(builder->Op("RealDiv", {phases, twice})));
}

Status SvdGradient(GradientContext* context) {
  const Matrices m(context->builder());
  GraphBuilder* const builder = context->builder();
  MS_ASSIGN_OR_RETURN(const bool has_vectors, context->Attr<bool>("compute_uv"));
  MS_ASSIGN_OR_RETURN(const bool full, context->Attr<bool>("full_matrices"));
  if (!has_vectors) {
    const Node* const svd = builder->NodeOf("Svd", {context->input(0)});
    if (svd == nullptr) return builder->status();
    const Output u{svd, 1};
    context->SetDx(0, m.ProductAdjoint(m.Times(u, m.AsRow(context->dy(0))), Output{svd, 2}));
    return absl::OkStatus();
  }
  const Output s = context->output(0);
  Output u = context->output(1);
  Output v = context->output(2);
  Output du = context->dy(1);
  Output dv = context->dy(2);
  if (full) {
    const PartialShape shape = builder->ShapeOf(context->input(0));
    const bool known =
        shape.known_rank() && shape.dim(-1) != kUnknownDim && shape.dim(-2) != kUnknownDim;
    if (!known || std::abs(shape.dim(-1) - shape.dim(-2)) > 1) {
      return absl::UnimplementedError(
          "svd gradient is not implemented for abs(m - n) > 1 or unknown inner shapes when "
          "full_matrices is True");
    }
    const Output size = m.SizeOf(s, -1);
    du = OfFirstVectors(m, u, du, size);
    dv = OfFirstVectors(m, v, dv, size);
    u = m.ColumnsBefore(u, size);
    v = m.ColumnsBefore(v, size);
  }
  const Output of_u = m.AdjointProduct(u, du);
  const Output of_v = m.AdjointProduct(v, dv);
  const Output middle = SvdMiddle(context, m, s, of_u, of_v);
  const Output row = m.AsRow(s);
  const Output rest_u = builder->Op("RealDiv", {m.Subtract(du, m.Product(u, of_u)), row});
  const Output rest_v = builder->Op("RealDiv", {m.Subtract(dv, m.Product(v, of_v)), row});
  const Output left = m.Add(m.Product(u, middle), rest_u);
  context->SetDx(0, m.Add(m.ProductAdjoint(left, v), m.ProductAdjoint(u, rest_v)));
  return absl::OkStatus();
}

// x = M^-1 A^H b with M = A^H A + l2 I. With z = M^-1 dx, db = A z and
// dA = (b - A x) z^H - db x^H. For a wide matrix N = A A^H + l2 I has an inverse, and
// (b - A x) z^H = N^-1 b (dx - A^H db)^H.
class LeastSquaresGradient {
 public:
  explicit LeastSquaresGradient(GradientContext* context)
      : context_(context),
        m_(context->builder()),
        a_(context->input(0)),
        b_(context->input(1)),
        l2_(context->builder()->Op("Cast", {context->input(2)}, {{"DstT", a_.dtype()}})) {}

  Status Run() {
    MS_ASSIGN_OR_RETURN(const bool fast, context_->Attr<bool>("fast"));
    if (!fast) return absl::UnimplementedError("Gradient not defined for fast=False");
    GraphBuilder* const builder = context_->builder();
    const PartialShape shape = builder->ShapeOf(a_);
    const bool known =
        shape.known_rank() && shape.dim(-1) != kUnknownDim && shape.dim(-2) != kUnknownDim;
    if (!known) {
      const Output is_tall = builder->Op("GreaterEqual", {m_.SizeOf(a_, -2), m_.SizeOf(a_, -1)});
      tall_ = builder->Op("Cast", {is_tall}, {{"DstT", a_.dtype()}});
      wide_ = m_.Subtract(builder->ScalarOf(a_.dtype(), 1), tall_);
    }
    const Output dx = context_->dy(0);
    const Output db =
        known && shape.dim(-2) >= shape.dim(-1) ? m_.Product(a_, Solve(true, known, dx))
        : known                                 ? Solve(false, known, m_.Product(a_, dx))
                : builder->Op("MatrixSolveLs", {m_.Adjoint(a_), dx, context_->input(2)});
    Output first;
    if (known) {
      first = shape.dim(-2) >= shape.dim(-1) ? OfTall(known, dx) : OfWide(known, dx, db);
    } else {
      first = m_.Add(m_.Times(OfTall(known, dx), tall_), m_.Times(OfWide(known, dx, db), wide_));
    }
    context_->SetDx(0, m_.Subtract(first, m_.ProductAdjoint(db, context_->output(0))));
    context_->SetDx(1, db);
    return absl::OkStatus();
  }

 private:
  // M^-1 right if `tall`, else N^-1 right. Where it is not known which of both has an inverse, the
  // identity stands for the other one: what it gives is multiplied by 0.
  Output Solve(bool tall, bool known, Output right) {
    GraphBuilder* const builder = context_->builder();
    Output product = tall ? m_.AdjointProduct(a_, a_) : m_.ProductAdjoint(a_, a_);
    Output diagonal = m_.Add(builder->Op("MatrixDiagPart", {product}), l2_);
    if (!known) {
      const Output is_it = tall ? tall_ : wide_;
      product = m_.Times(product, is_it);
      diagonal = m_.Add(m_.Times(diagonal, is_it), tall ? wide_ : tall_);
    }
    return builder->Op("MatrixSolve", {builder->Op("MatrixSetDiag", {product, diagonal}), right});
  }

  Output OfTall(bool known, Output dx) {
    const Output residual = m_.Subtract(b_, m_.Product(a_, context_->output(0)));
    return m_.ProductAdjoint(residual, Solve(true, known, dx));
  }
  Output OfWide(bool known, Output dx, Output db) {
    return m_.ProductAdjoint(Solve(false, known, b_), m_.Subtract(dx, m_.AdjointProduct(a_, db)));
  }

  GradientContext* const context_;
  const Matrices m_;
  const Output a_;
  const Output b_;
  const Output l2_;
  Output tall_;  // 1 if there are as many rows as columns or more, else 0; only if not known
  Output wide_;  // 1 - tall_
};

Status MatrixSolveLsGradient(GradientContext* context) {
  return LeastSquaresGradient(context).Run();
}

// The derivative of f at A^H in the direction dY, which is the upper right part of
// f([A^H dY; 0 A^H]) (N. Higham: Functions of Matrices, 2008, section 3.2).
Status MatrixFunctionGradient(GradientContext* context) {
  const Matrices m(context->builder());
  GraphBuilder* const builder = context->builder();
  const Output adjoint = m.Adjoint(context->input(0));
  const Output zeros = builder->Op("ZerosLike", {adjoint});
  const Output blocks = m.Join(m.Join(adjoint, context->dy(0), -1), m.Join(zeros, adjoint, -1), -2);
  const Output applied = builder->Op(context->call().op->name, {blocks});
  const Output size = m.SizeOf(adjoint, -1);
  const Output zero = builder->Int32Vector({0});
  context->SetDx(
      0, builder->Op("StridedSlice",
                     {applied, ConcatVectors(builder, {zero, zero, size}),
                      ConcatVectors(builder, {zero, size, zero}), builder->Int32Vector({1, 1, 1})},
                     {{"ellipsis_mask", int64_t{1}}, {"end_mask", int64_t{4}}}));
  return absl::OkStatus();
}

MILLSTREAM_GRADIENT("Lu", LuGradient);
MILLSTREAM_GRADIENT("Qr", QrGradient);
MILLSTREAM_GRADIENT("SelfAdjointEig", JoinedEigenGradient);
MILLSTREAM_GRADIENT("SelfAdjointEigV2", SelfAdjointEigenGradient);
MILLSTREAM_GRADIENT("Svd", SvdGradient);
MILLSTREAM_GRADIENT("MatrixSolveLs", MatrixSolveLsGradient);
MILLSTREAM_GRADIENT("BatchSelfAdjointEig", JoinedEigenGradient);
MILLSTREAM_GRADIENT("BatchSelfAdjointEigV2", SelfAdjointEigenGradient);
MILLSTREAM_GRADIENT("BatchSvd", SvdGradient);
MILLSTREAM_GRADIENT("BatchMatrixSolveLs", MatrixSolveLsGradient);
MILLSTREAM_GRADIENT("MatrixExponential", MatrixFunctionGradient);
MILLSTREAM_GRADIENT("MatrixSquareRoot", MatrixFunctionGradient);
MILLSTREAM_GRADIENT("MatrixLogarithm", MatrixFunctionGradient);

}  // namespace
}  // namespace millstream
