// EditDistance.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <string_view>
#include <vector>

#include "framework/plugin/plugin.hpp"
#include "kernels/array/indices.h"
#include "kernels/common/narrow_float.h"
#include "kernels/sparse/sparse_input.h"

namespace millstream::kernels {
namespace {

// Whether two elements, numbers or texts, are equal.
class Elements {
 public:
  Elements(const ms::View& a, const ms::View& b) : a_(a), b_(b) {}

  ms::Status AreEqual(int64_t i, int64_t j, bool* equal) const {
    switch (a_.dtype()) {
      case MS_STRING: {
        std::string_view x;
        std::string_view y;
        MS_TRY(a_.GetString(i, &x));
        MS_TRY(b_.GetString(j, &y));
        *equal = x == y;
        break;
      }
      case MS_FLOAT32: *equal = Numbers<float>(i, j); break;
      case MS_FLOAT64: *equal = Numbers<double>(i, j); break;
      case MS_FLOAT16: *equal = Numbers<Float16>(i, j); break;
      case MS_BFLOAT16: *equal = Numbers<BFloat16>(i, j); break;
      case MS_COMPLEX64:
        *equal = Numbers<float>(2 * i, 2 * j) && Numbers<float>(2 * i + 1, 2 * j + 1);
        break;
      case MS_COMPLEX128:
        *equal = Numbers<double>(2 * i, 2 * j) && Numbers<double>(2 * i + 1, 2 * j + 1);
        break;
      default: *equal = Bytes(i, j); break;
    }
    return ms::Status();
  }

 private:
  template <typename T>
  bool Numbers(int64_t i, int64_t j) const {
    return static_cast<double>(a_.data<T>()[i]) == static_cast<double>(b_.data<T>()[j]);
  }
  bool Bytes(int64_t i, int64_t j) const {
    const auto size = static_cast<int64_t>(ms::ElementSize(a_.dtype()));
    return std::memcmp(a_.data<char>() + i * size, b_.data<char>() + j * size,
                       static_cast<size_t>(size)) == 0;
  }

  const ms::View& a_;
  const ms::View& b_;
};

// The elements of a sparse tensor, sequence after sequence.
struct Sequences {
  std::vector<int64_t> elements;
  std::vector<int64_t> places;  // of the sequence of each element in the output
};

Sequences ReadSequences(const SparseInput& sparse, const ms::Shape& output) {
  std::vector<int64_t> places;
  for (int64_t k = 0; k < sparse.count(); ++k) {
    places.push_back(PlaceOfIndex(sparse.index(k), output, output.rank()));
  }
  Sequences sequences;
  sequences.elements.resize(places.size());
  std::iota(sequences.elements.begin(), sequences.elements.end(), 0);
  std::stable_sort(sequences.elements.begin(), sequences.elements.end(), [&](int64_t a, int64_t b) {
    return places[static_cast<size_t>(a)] < places[static_cast<size_t>(b)];
  });
  for (const int64_t k : sequences.elements) {
    sequences.places.push_back(places[static_cast<size_t>(k)]);
  }
  return sequences;
}

class EditDistance {
 public:
  ms::Status Init(const ms::KernelInfo& info) { return info.Attr("normalize", &normalize_); }

  ms::Status Compute(ms::Frame& frame) const {
    SparseInput a;
    SparseInput b;
    MS_TRY(
        ReadSparse(frame, 0, {"hypothesis_indices", "hypothesis_values", "hypothesis_shape"}, &a));
    MS_TRY(ReadSparse(frame, 3, {"truth_indices", "truth_values", "truth_shape"}, &b));
    if (a.rank() == 0 || a.rank() != b.rank()) {
      return ms::InvalidArgument("hypothesis_shape and truth_shape must have as many elements, at ",
                                 "least one, but have ", a.rank(), " and ", b.rank());
    }
    MS_TRY(CheckIndices(a, false));
    MS_TRY(CheckIndices(b, false));
    ms::Shape shape;
    for (uint32_t d = 0; d + 1 < a.rank(); ++d) shape.Append(std::max(a.shape[d], b.shape[d]));
    ms::View output;
    MS_TRY(frame.Output(0, shape, &output));
    std::fill_n(output.data<float>(), output.size(), 0.0f);
    const Sequences hypotheses = ReadSequences(a, shape);
    const Sequences truths = ReadSequences(b, shape);
    const Elements elements(a.values, b.values);
    size_t i = 0;
    size_t j = 0;
    while (i < hypotheses.places.size() || j < truths.places.size()) {
      const int64_t place = std::min(PlaceAt(hypotheses, i), PlaceAt(truths, j));
      const size_t i_end = EndOf(hypotheses, i, place);
      const size_t j_end = EndOf(truths, j, place);
      float distance = 0;
      MS_TRY(Distance(frame, elements, hypotheses.elements.data() + i, i_end - i,
                      truths.elements.data() + j, j_end - j, &distance));
      if (normalize_) distance /= static_cast<float>(j_end - j);
      output.data<float>()[place] = distance;
      i = i_end;
      j = j_end;
    }
    return ms::Status();
  }

 private:
  static int64_t PlaceAt(const Sequences& sequences, size_t i) {
    return i < sequences.places.size() ? sequences.places[i] : std::numeric_limits<int64_t>::max();
  }
  static size_t EndOf(const Sequences& sequences, size_t i, int64_t place) {
    while (PlaceAt(sequences, i) == place) ++i;
    return i;
  }

  // By the table of distances between beginnings, a row at a time.
  static ms::Status Distance(const ms::Frame& frame, const Elements& elements, const int64_t* a,
                             size_t a_size, const int64_t* b, size_t b_size, float* distance) {
    std::vector<int64_t> row(b_size + 1);
    std::iota(row.begin(), row.end(), 0);
    for (size_t i = 1; i <= a_size; ++i) {
      if (i % 64 == 0) MS_TRY(frame.CheckCancelled());
      int64_t diagonal = row[0];
      row[0] = static_cast<int64_t>(i);
      for (size_t j = 1; j <= b_size; ++j) {
        bool equal = false;
        MS_TRY(elements.AreEqual(a[i - 1], b[j - 1], &equal));
        const int64_t change = diagonal + (equal ? 0 : 1);
        diagonal = row[j];
        row[j] = std::min({row[j] + 1, row[j - 1] + 1, change});
      }
    }
    *distance = static_cast<float>(row[b_size]);
    return ms::Status();
  }

  bool normalize_ = true;
};

const ms::Registered edit_distance =
    ms::Register<EditDistance>("EditDistance", ms::KernelOptions()
                                                   .Types("T", MovableTypes())
                                                   .HostArg("hypothesis_indices")
                                                   .HostArg("hypothesis_shape")
                                                   .HostArg("truth_indices")
                                                   .HostArg("truth_shape"));

}  // namespace
}  // namespace millstream::kernels
