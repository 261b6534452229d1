// ComputeAccidentalHits.
#include <cstdint>
#include <limits>
#include <unordered_map>
#include <vector>

#include "framework/plugin/plugin.hpp"

namespace millstream::kernels {
namespace {

struct Hit {
  int64_t row;
  int64_t place;
};

// Inputs: true_classes, sampled_candidates.
class AccidentalHits {
 public:
  ms::Status Init(const ms::KernelInfo& info) { return info.Attr("num_true", &num_true_); }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View classes = frame.input(0);
    const ms::View sampled = frame.input(1);
    if (classes.rank() != 2 || classes.dim(1) != num_true_) {
      return ms::InvalidArgument("true_classes must be a matrix of num_true = ", num_true_,
                                 " columns, but has shape ", classes.shape().ToString());
    }
    if (sampled.rank() != 1) {
      return ms::InvalidArgument("sampled_candidates must be a vector, but has shape ",
                                 sampled.shape().ToString());
    }
    if (classes.dim(0) > std::numeric_limits<int32_t>::max()) {
      return ms::InvalidArgument("true_classes has ", classes.dim(0),
                                 " rows, which indices cannot count");
    }
    return Write(frame, Find(classes, sampled));
  }

 private:
  static std::vector<Hit> Find(const ms::View& classes, const ms::View& sampled) {
    std::unordered_map<int64_t, int64_t> places;
    places.reserve(static_cast<size_t>(sampled.size()));
    for (int64_t i = 0; i < sampled.size(); ++i) places[sampled.data<int64_t>()[i]] = i;
    std::vector<Hit> hits;
    const int64_t columns = classes.dim(1);
    for (int64_t i = 0; i < classes.size(); ++i) {
      const auto found = places.find(classes.data<int64_t>()[i]);
      if (found != places.end()) hits.push_back({i / columns, found->second});
    }
    return hits;
  }

  static ms::Status Write(ms::Frame& frame, const std::vector<Hit>& hits) {
    const ms::Shape shape = {static_cast<int64_t>(hits.size())};
    ms::View indices;
    ms::View ids;
    ms::View weights;
    MS_TRY(frame.Output(0, shape, &indices));
    MS_TRY(frame.Output(1, shape, &ids));
    MS_TRY(frame.Output(2, shape, &weights));
    for (size_t i = 0; i < hits.size(); ++i) {
      indices.data<int32_t>()[i] = static_cast<int32_t>(hits[i].row);
      ids.data<int64_t>()[i] = hits[i].place;
      weights.data<float>()[i] = std::numeric_limits<float>::lowest();
    }
    return ms::Status();
  }

  int64_t num_true_ = 0;
};

const ms::Registered accidental_hits = ms::Register<AccidentalHits>("ComputeAccidentalHits");

}  // namespace
}  // namespace millstream::kernels
