#include "kernels/nn/winograd_blocks.h"

#include <algorithm>
#include <array>

namespace millstream::kernels {
namespace {

constexpr int64_t kLine = 16;         // floats of a cache line
constexpr int64_t kSetsOfWay = 1024;  // floats that are as far apart share the places of a cache

// A block has whole tiles of the product's rows where it can. Its transformed input has about this
// many numbers (0.6 MiB), a group's sums at most 0.4 MiB: they share a second cache of 1 MiB.
constexpr int64_t kTileRows = 12;
constexpr int64_t kMostRows = 96;
constexpr int64_t kNumbersOfBlock = 160 * 1024;

// The product's loops are fastest on pairs of strips.
constexpr int64_t kPairColumns = 2 * kStripColumns;
constexpr int64_t kPairsOfGroup = 2;
constexpr int64_t kGroupColumns = kPairsOfGroup * kPairColumns;
// A part of one pair could have fewer channels than the output's transform takes.
constexpr int64_t kFewestPairsOfPart = 2;

constexpr int64_t kChannelsOfFilterPart = 32;

int64_t CeilOfRatio(int64_t a, int64_t b) { return (a + b - 1) / b; }

bool HasWindowsOfTiles(const ConvShape& shape) {
  constexpr Extents kOnes = {1, 1, 1};
  constexpr Extents kFilter = {3, 3, 1};
  return shape.dims == 2 && !shape.channels_first && shape.groups == 1 && shape.filter == kFilter &&
         shape.stride == kOnes && shape.dilation == kOnes && !shape.HasNoProducts();
}

int64_t TilesOf(const ConvShape& shape) {
  return shape.batch * CeilOfRatio(shape.output[0], 2) * CeilOfRatio(shape.output[1], 2);
}

// Transforming a number of a tile takes as long as kTransform multiplications, and a number of the
// filter kNumber: filters of many channels come from memory or from a cache that the cores share,
// and the transformed one has 16 numbers where the filter has 9. A core's 48 multiplications in a
// nanosecond take as long as 24 bytes.
constexpr double kTransform = 5;
constexpr double kNumber = 8;

// What a pair of an input and an output channel costs, in multiplications.
double CostOf(const ConvShape& shape) {
  const auto in = static_cast<double>(shape.in_channels);
  const auto out = static_cast<double>(shape.out_channels);
  const auto tiles = static_cast<double>(TilesOf(shape));
  return kWinogradPositions * (tiles * (1 + kTransform / in + kTransform / out) + kNumber);
}

double DirectCostOf(const ConvShape& shape) {
  constexpr double kTaps = 9;
  return kTaps * (static_cast<double>(shape.batch * Product(shape.output)) + kNumber);
}

}  // namespace

bool WinogradBlocks::Suits(const ConvShape& shape) {
  constexpr int64_t kFewestChannels = 32;
  constexpr double kWorthIt = 0.85;
  // Of an image, in and out. Larger ones were not measured.
  constexpr int64_t kMostNumbers = int64_t{1} << 19;
  if (!HasWindowsOfTiles(shape) || TilesOf(shape) < kTileRows) return false;
  if (shape.in_channels < kFewestChannels || shape.out_channels < kFewestChannels) return false;
  if (Product(shape.input) > kMostNumbers / shape.in_channels) return false;
  if (Product(shape.output) > kMostNumbers / shape.out_channels) return false;
  return CostOf(shape) <= kWorthIt * DirectCostOf(shape);
}

WinogradBlocks::WinogradBlocks(const ConvShape& shape, int64_t threads)
    : shape_(shape),
      tiles_down_(CeilOfRatio(shape.output[0], 2)),
      tiles_across_(CeilOfRatio(shape.output[1], 2)),
      tiles_(TilesOf(shape)),
      strips_(StripsOf(shape.out_channels)),
      pairs_(CeilOfRatio(strips_, 2)),
      zeros_(static_cast<size_t>(shape.in_channels)) {
  // One line more than the channels fill, so that rows do not share the places of a cache.
  row_step_ = (CeilOfRatio(shape.in_channels, kLine) + 1) * kLine;
  Cut(threads);
  input_step_ = block_ * row_step_;
  if (input_step_ % kSetsOfWay == 0) input_step_ += kLine;
  sums_step_ = block_ * kGroupColumns + kLine;
}

int64_t WinogradBlocks::MostRows() const {
  const int64_t fitting = kNumbersOfBlock / (kWinogradPositions * row_step_);
  return std::clamp(fitting / kTileRows * kTileRows, kTileRows, kMostRows);
}

// One thread takes the fewest pieces. For several, the cut is taken after which they are expected
// to be ready first: threads take pieces in turn, and the input is transformed once for each part.
void WinogradBlocks::Cut(int64_t threads) {
  // Of a piece: threads that come late are made up for where pieces are small.
  constexpr double kLate = 0.05;
  const int64_t fewest = CeilOfRatio(tiles_, MostRows());
  block_ = CeilOfRatio(tiles_, fewest);
  parts_ = 1;
  double least = 0;
  for (int64_t blocks = fewest; threads > 1 && blocks < fewest + threads; ++blocks) {
    const int64_t block = CeilOfRatio(tiles_, blocks);
    if (blocks > fewest && block < kTileRows) break;
    for (int64_t parts = 1; parts == 1 || parts <= pairs_ / kFewestPairsOfPart; ++parts) {
      const auto turns = static_cast<double>(CeilOfRatio(blocks * parts, threads));
      const double cost = (turns + kLate) * PieceCost(block, CeilOfRatio(pairs_, parts));
      if (least > 0 && cost >= least) continue;
      least = cost;
      block_ = block;
      parts_ = parts;
    }
  }
  blocks_ = CeilOfRatio(tiles_, block_);
}

// In multiplications for each input channel, position and column of a pair.
double WinogradBlocks::PieceCost(int64_t tiles, int64_t pairs) const {
  const auto rows = static_cast<double>(tiles);
  const double of_output = 1 + kTransform / static_cast<double>(shape_.in_channels);
  return static_cast<double>(pairs) * (rows * of_output + kNumber) +
         rows * kTransform / static_cast<double>(kPairColumns);
}

int64_t WinogradBlocks::filter_size() const {
  return kWinogradPositions * StripsSize(shape_.in_channels, shape_.out_channels);
}

int64_t WinogradBlocks::piece_products() const {
  return kWinogradPositions * block_ * shape_.in_channels * CeilOfRatio(pairs_, parts_) *
         kPairColumns;
}

int64_t WinogradBlocks::channel_blocks() const {
  return CeilOfRatio(shape_.in_channels, kChannelsOfFilterPart);
}

int64_t WinogradBlocks::FirstStrip(int64_t pair) const { return std::min(2 * pair, strips_); }

// Later parts have a pair more rather than less.
WinogradBlocks::Pairs WinogradBlocks::PairsOfPart(int64_t part) const {
  const int64_t first = part * pairs_ / parts_;
  return {first, (part + 1) * pairs_ / parts_ - first};
}

void WinogradBlocks::TransformFilter(const float* filter, int64_t part, float* transformed) const {
  const int64_t pair = part / channel_blocks();
  const int64_t first_in = part % channel_blocks() * kChannelsOfFilterPart;
  const WinogradFilter columns{filter,
                               shape_.in_channels,
                               shape_.out_channels,
                               first_in,
                               std::min(first_in + kChannelsOfFilterPart, shape_.in_channels),
                               FirstStrip(pair),
                               FirstStrip(pair + 1)};
  TransformWinogradFilter(columns, transformed + kWinogradPositions * columns.first_strip *
                                                     shape_.in_channels * kStripColumns);
}

// Where the pairs are odd in number the first is alone, so that the last group has more than one
// strip however few columns the last strip has.
void WinogradBlocks::RunPiece(const Operands& operands, int64_t piece, float* workspace) const {
  const Pairs pairs = PairsOfPart(piece % parts_);
  const int64_t first_tile = piece / parts_ * block_;
  const Rows rows{first_tile, std::min(block_, tiles_ - first_tile)};
  TransformInput(operands.input, rows, workspace);
  Pairs group{pairs.first, pairs.count % kPairsOfGroup};
  if (group.count == 0) group.count = kPairsOfGroup;
  while (group.first < pairs.first + pairs.count) {
    RunGroup(operands, rows, group, workspace);
    group = {group.first + group.count, kPairsOfGroup};
  }
}

WinogradBlocks::Tile WinogradBlocks::TileAt(int64_t index) const {
  const int64_t of_image = tiles_down_ * tiles_across_;
  return {index / of_image, index % of_image / tiles_across_, index % tiles_across_};
}

void WinogradBlocks::TransformInput(const float* input, const Rows& rows,
                                    float* transformed) const {
  const int64_t height = shape_.input[0];
  const int64_t width = shape_.input[1];
  for (int64_t i = 0; i < rows.count; ++i) {
    const Tile tile = TileAt(rows.first_tile + i);
    const int64_t top = 2 * tile.row - shape_.before[0];
    const int64_t left = 2 * tile.column - shape_.before[1];
    WinogradPixels pixels;
    for (int64_t p = 0; p < kWinogradPositions; ++p) {
      const int64_t y = top + p / 4;
      const int64_t x = left + p % 4;
      const bool is_inside = y >= 0 && y < height && x >= 0 && x < width;
      pixels[p] = is_inside ? input + ((tile.image * height + y) * width + x) * shape_.in_channels
                            : zeros_.data();
    }
    TransformWinogradInput(pixels, shape_.in_channels, input_step_, transformed + i * row_step_);
  }
}

void WinogradBlocks::RunGroup(const Operands& operands, const Rows& rows, const Pairs& group,
                              float* workspace) const {
  float* const sums = workspace + kWinogradPositions * input_step_;
  const int64_t first = FirstStrip(group.first);
  const int64_t strips = FirstStrip(group.first + group.count) - first;
  std::array<const float*, kMostRows> starts;
  for (int64_t i = 0; i < rows.count; ++i) starts[i] = workspace + i * row_step_;
  // A pair after the other, so that the filter is read from its first number to its last.
  for (int64_t strip = first; strip < first + strips; strip += 2) {
    for (int64_t p = 0; p < kWinogradPositions; ++p) {
      const int64_t offset = p * input_step_;
      // All columns of the strips, with the zeros at the end.
      const int64_t count = std::min<int64_t>(2, first + strips - strip);
      const int64_t strip_size = shape_.in_channels * kStripColumns;
      const float* const filter =
          operands.filter + (kWinogradPositions * strip + p * count) * strip_size;
      const WindowProduct product{
          filter, count * kStripColumns, &offset, 1, shape_.in_channels, kGroupColumns, {}};
      MultiplyWindows(product, starts.data(), rows.count, 0, count,
                      sums + p * sums_step_ + (strip - first) * kStripColumns);
    }
  }

  const int64_t column = first * kStripColumns;
  WinogradTile tile{};
  tile.position_step = sums_step_;
  tile.channels = std::min(strips * kStripColumns, shape_.out_channels - column);
  tile.epilogue = operands.epilogue;
  if (tile.epilogue.bias != nullptr) tile.epilogue.bias += column;
  for (int64_t i = 0; i < rows.count; ++i) {
    const Tile at = TileAt(rows.first_tile + i);
    tile.sums = sums + i * kGroupColumns;
    for (int64_t q = 0; q < 4; ++q) {
      const int64_t y = 2 * at.row + q / 2;
      const int64_t x = 2 * at.column + q % 2;
      const bool is_inside = y < shape_.output[0] && x < shape_.output[1];
      const int64_t pixel = (at.image * shape_.output[0] + y) * shape_.output[1] + x;
      tile.places[q] = is_inside ? pixel * operands.output.step + column : -1;
    }
    TransformWinogradOutput(tile, operands.output.pixels);
  }
}

}  // namespace millstream::kernels
