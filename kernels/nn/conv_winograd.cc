#include "kernels/nn/conv_winograd.h"

#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

#include "kernels/common/parallel.h"

namespace millstream::kernels {
namespace {

constexpr int64_t kLine = 16;  // floats of a cache line

}  // namespace

ConvWinograd::ConvWinograd(const ConvShape& shape, int threads)
    : blocks_(shape, threads), lanes_(std::clamp<int64_t>(threads, 1, blocks_.pieces())) {}

void ConvWinograd::KeepFilter(const float* filter) {
  std::vector<StripRow> transformed(static_cast<size_t>(blocks_.filter_size() / kStripColumns));
  for (int64_t part = 0; part < blocks_.filter_parts(); ++part) {
    blocks_.TransformFilter(filter, part, transformed.data()->values);
  }
  kept_ = KeepComputedStrips(std::move(transformed));
}

int64_t ConvWinograd::workspace_step() const {
  return (blocks_.workspace_size() + kLine - 1) / kLine * kLine;
}

uint64_t ConvWinograd::scratch_bytes() const {
  const int64_t filter = kept_ != nullptr ? 0 : blocks_.filter_size();
  return static_cast<uint64_t>(lanes_ * workspace_step() + filter) * sizeof(float);
}

ms::Status ConvWinograd::Run(ms::Frame& frame, const float* input, const float* filter,
                             const ProductEpilogue& epilogue, const ConvOutput& output,
                             void* scratch) const {
  auto* const workspaces = static_cast<float*>(scratch);
  WinogradBlocks::Operands operands{input, nullptr, epilogue, output};
  if (kept_ != nullptr) {
    operands.filter = kept_->data()->values;
  } else {
    float* const transformed = workspaces + lanes_ * workspace_step();
    MS_TRY(TransformFilter(frame, filter, transformed));
    operands.filter = transformed;
  }
  return RunPieces(frame, operands, workspaces);
}

ms::Status ConvWinograd::TransformFilter(ms::Frame& frame, const float* filter,
                                         float* transformed) const {
  constexpr int64_t kPicoseconds = 300;
  const int64_t parts = blocks_.filter_parts();
  return ParallelRows(frame, parts, blocks_.filter_size() / parts, kPicoseconds,
                      [&](int64_t begin, int64_t end) {
                        for (int64_t part = begin; part < end; ++part) {
                          blocks_.TransformFilter(filter, part, transformed);
                        }
                      });
}

// As StoppableFor, but a thread has the same workspace for all pieces that it takes.
ms::Status ConvWinograd::RunPieces(ms::Frame& frame, const WinogradBlocks::Operands& operands,
                                   float* workspaces) const {
  constexpr int64_t kProductsPerNanosecond = 40;
  constexpr int64_t kNanosecondsBetweenChecks = 10 * 1000 * 1000;
  const int64_t cost = blocks_.piece_products() / kProductsPerNanosecond + 1;
  const int64_t turn = std::max<int64_t>(kNanosecondsBetweenChecks / cost, 1) * lanes_;
  for (int64_t first = 0; first < blocks_.pieces(); first += turn) {
    if (first > 0) MS_TRY(frame.CheckCancelled());
    const int64_t last = std::min(first + turn, blocks_.pieces());
    const int64_t lanes = std::min(lanes_, last - first);
    const auto lane_cost = static_cast<uint64_t>((last - first) * cost / lanes);
    std::atomic<int64_t> next = first;
    frame.ParallelFor(static_cast<uint64_t>(lanes), lane_cost, [&](uint64_t begin, uint64_t end) {
      for (uint64_t lane = begin; lane < end; ++lane) {
        float* const workspace = workspaces + static_cast<int64_t>(lane) * workspace_step();
        for (int64_t piece = next++; piece < last; piece = next++) {
          blocks_.RunPiece(operands, piece, workspace);
        }
      }
    });
  }
  return ms::Status();
}

}  // namespace millstream::kernels
