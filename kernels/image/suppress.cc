// NonMaxSuppression to NonMaxSuppressionV5, NonMaxSuppressionWithOverlaps and
// CombinedNonMaxSuppression.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "framework/plugin/plugin.hpp"
#include "kernels/common/narrow_float.h"
#include "kernels/common/parallel.h"
#include "kernels/common/type_table.h"
#include "kernels/image/pixels.h"
#include "kernels/image/suppression.h"

namespace millstream::kernels {
namespace {

float RoundToHalf(float x) { return Float16(x); }

// The value of argument `name`, a scalar of any floating-point type.
ms::Status ReadScalar(const ms::View& view, const char* name, float* value) {
  if (view.rank() != 0) {
    return ms::InvalidArgument(name, " must be a scalar, but has shape ", view.shape().ToString());
  }
  PixelFormatOf(view.dtype())->widen(view.raw(), 0, 1, value);
  return ms::Status();
}

ms::Status ReadCount(const ms::View& view, const char* name, int64_t least, int64_t* value) {
  if (view.rank() != 0) {
    return ms::InvalidArgument(name, " must be a scalar, but has shape ", view.shape().ToString());
  }
  *value = *view.data<int32_t>();
  if (*value >= least) return ms::Status();
  return ms::InvalidArgument(name, " = ", *value, " must be ", least, " or more");
}

ms::Status CheckShare(float value, const char* name) {
  if (value >= 0 && value <= 1) return ms::Status();
  return ms::InvalidArgument(name, " = ", value, " must be in [0, 1]");
}

// Boxes or overlaps, and as many scores.
ms::Status CheckCandidates(const ms::View& boxes, const ms::View& scores, bool overlaps) {
  const char* const name = overlaps ? "overlaps" : "boxes";
  if (boxes.rank() != 2 || boxes.dim(1) != (overlaps ? boxes.dim(0) : 4)) {
    return ms::InvalidArgument(name,
                               overlaps ? " must be a square matrix, but is "
                                        : " must have rows of 4 coordinates, but is ",
                               boxes.shape().ToString());
  }
  if (scores.rank() == 1 && scores.dim(0) == boxes.dim(0)) return ms::Status();
  return ms::InvalidArgument("scores must have ", boxes.dim(0), " elements, as many as ", name,
                             ", but is ", scores.shape().ToString());
}

std::vector<float> Widened(const ms::View& view) {
  std::vector<float> values(view.size());
  PixelFormatOf(view.dtype())->widen(view.raw(), 0, view.size(), values.data());
  return values;
}

// What an op has.
struct Form {
  uint32_t overlap_input;  // 0: an attribute
  uint32_t score_input;    // 0: none
  uint32_t sigma_input;    // 0: none
  bool overlaps;           // has a matrix in place of boxes
};

class Suppress {
 public:
  using Row = Form;
  explicit Suppress(const Row& form) : form_(form) {}

  ms::Status Init(const ms::KernelInfo& info) {
    if (form_.overlap_input == 0) MS_TRY(info.Attr("iou_threshold", &overlap_));
    is_half_ = info.input_dtype(1) == MS_FLOAT16;
    if (!info.HasAttr("pad_to_max_output_size")) return ms::Status();
    return info.Attr("pad_to_max_output_size", &pad_);
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View boxes = frame.input(0);
    MS_TRY(CheckCandidates(boxes, frame.input(1), form_.overlaps));
    Rule rule;
    MS_TRY(ReadRule(frame, &rule));
    const std::vector<float> values = Widened(boxes);
    const int64_t count = boxes.dim(0);
    const Chosen chosen = ChooseBoxes(
        Widened(frame.input(1)),
        [&](int64_t a, int64_t b) {
          if (form_.overlaps) return values[a * count + b];
          const float iou = IntersectionOverUnion(&values[4 * a], &values[4 * b]);
          return is_half_ ? RoundToHalf(iou) : iou;
        },
        rule);
    return Write(frame, chosen, pad_ ? rule.most : static_cast<int64_t>(chosen.boxes.size()));
  }

 private:
  ms::Status ReadRule(ms::Frame& frame, Rule* rule) const {
    MS_TRY(ReadCount(frame.input(2), "max_output_size", 0, &rule->most));
    rule->overlap = overlap_;
    rule->score = -std::numeric_limits<float>::infinity();
    if (form_.overlap_input > 0) {
      MS_TRY(ReadScalar(frame.input(form_.overlap_input),
                        form_.overlaps ? "overlap_threshold" : "iou_threshold", &rule->overlap));
    }
    if (!form_.overlaps) MS_TRY(CheckShare(rule->overlap, "iou_threshold"));
    if (form_.score_input > 0) {
      MS_TRY(ReadScalar(frame.input(form_.score_input), "score_threshold", &rule->score));
    }
    if (form_.sigma_input > 0) {
      MS_TRY(ReadScalar(frame.input(form_.sigma_input), "soft_nms_sigma", &rule->sigma));
      if (!(rule->sigma >= 0)) {
        return ms::InvalidArgument("soft_nms_sigma = ", rule->sigma, " must be 0 or more");
      }
    }
    if (is_half_) rule->round = &RoundToHalf;
    return ms::Status();
  }

  // Indices, scores and the number of boxes, as far as the op has such outputs.
  ms::Status Write(ms::Frame& frame, const Chosen& chosen, int64_t size) const {
    const uint32_t outputs = frame.num_outputs();
    ms::View indices;
    MS_TRY(frame.Output(0, {size}, &indices));
    std::fill_n(indices.data<int32_t>(), size, 0);
    std::copy(chosen.boxes.begin(), chosen.boxes.end(), indices.data<int32_t>());
    if (outputs == 3) {
      ms::View scores;
      MS_TRY(frame.Output(1, {size}, &scores));
      std::vector<float> padded = chosen.scores;
      padded.resize(size);
      PixelFormatOf(scores.dtype())->narrow(padded.data(), size, scores.raw(), 0);
    }
    if (outputs == 1) return ms::Status();
    ms::View count;
    MS_TRY(frame.Output(outputs - 1, {}, &count));
    *count.data<int32_t>() = static_cast<int32_t>(chosen.boxes.size());
    return ms::Status();
  }

  const Form form_;
  float overlap_ = 0;
  bool is_half_ = false;
  bool pad_ = false;
};

// ---- CombinedNonMaxSuppression ----

struct Detection {
  float score;
  int64_t box_class;
  int64_t box;
};

class CombinedSuppress {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    MS_TRY(info.Attr("pad_per_class", &pad_per_class_));
    return info.Attr("clip_boxes", &clip_);
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View boxes = frame.input(0);
    const ms::View scores = frame.input(1);
    MS_TRY(CheckShapes(boxes, scores));
    Rule rule;
    int64_t total;
    MS_TRY(ReadCount(frame.input(2), "max_output_size_per_class", 1, &rule.most));
    MS_TRY(ReadCount(frame.input(3), "max_total_size", 1, &total));
    MS_TRY(ReadScalar(frame.input(4), "iou_threshold", &rule.overlap));
    MS_TRY(CheckShare(rule.overlap, "iou_threshold"));
    MS_TRY(ReadScalar(frame.input(5), "score_threshold", &rule.score));
    if (pad_per_class_) total = std::min(total, rule.most * scores.dim(2));
    const int64_t batch = boxes.dim(0);
    Outputs outputs;
    MS_TRY(frame.Output(0, {batch, total, 4}, &outputs.boxes));
    MS_TRY(frame.Output(1, {batch, total}, &outputs.scores));
    MS_TRY(frame.Output(2, {batch, total}, &outputs.classes));
    MS_TRY(frame.Output(3, {batch}, &outputs.counts));
    return StoppableFor(frame, batch, 50 * scores.size() / std::max<int64_t>(batch, 1) + 1,
                        [&](uint64_t begin, uint64_t end) {
                          for (uint64_t n = begin; n < end; ++n) {
                            Write(boxes, n, Detect(boxes, scores, n, rule, total), total, outputs);
                          }
                        });
  }

 private:
  struct Outputs {
    ms::View boxes;
    ms::View scores;
    ms::View classes;
    ms::View counts;
  };

  static ms::Status CheckShapes(const ms::View& boxes, const ms::View& scores) {
    if (boxes.rank() != 4 || boxes.dim(3) != 4) {
      return ms::InvalidArgument("boxes must be [batch, boxes, classes, 4], but is ",
                                 boxes.shape().ToString());
    }
    if (scores.rank() != 3 || scores.dim(0) != boxes.dim(0) || scores.dim(1) != boxes.dim(1)) {
      return ms::InvalidArgument("scores must be [batch, boxes, classes] for boxes ",
                                 boxes.shape().ToString(), ", but is ", scores.shape().ToString());
    }
    if (boxes.dim(2) == 1 || boxes.dim(2) == scores.dim(2)) return ms::Status();
    return ms::InvalidArgument("third dimension of boxes must be either 1 or equal to the number ",
                               "of classes, ", scores.dim(2), ", but is ", boxes.dim(2));
  }

  static const float* BoxAt(const ms::View& boxes, int64_t n, int64_t box, int64_t box_class) {
    const int64_t kinds = boxes.dim(2);
    return boxes.data<float>() +
           4 * ((n * boxes.dim(1) + box) * kinds + (kinds == 1 ? 0 : box_class));
  }

  // The best of all classes of image n. Of equal scores the first class and box come first.
  static std::vector<Detection> Detect(const ms::View& boxes, const ms::View& scores, int64_t n,
                                       const Rule& rule, int64_t total) {
    const int64_t count = scores.dim(1);
    const int64_t classes = scores.dim(2);
    std::vector<Detection> found;
    // Scores without boxes have no size, and may say any number of classes.
    if (count == 0) return found;
    std::vector<float> own(count);
    for (int64_t c = 0; c < classes; ++c) {
      for (int64_t i = 0; i < count; ++i) {
        own[i] = scores.data<float>()[(n * count + i) * classes + c];
      }
      const Chosen chosen = ChooseBoxes(
          own,
          [&](int64_t a, int64_t b) {
            return IntersectionOverUnion(BoxAt(boxes, n, a, c), BoxAt(boxes, n, b, c));
          },
          rule);
      for (size_t i = 0; i < chosen.boxes.size(); ++i) {
        found.push_back({chosen.scores[i], c, chosen.boxes[i]});
      }
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const Detection& a, const Detection& b) { return a.score > b.score; });
    if (static_cast<int64_t>(found.size()) > total) found.resize(total);
    return found;
  }

  void Write(const ms::View& boxes, int64_t n, const std::vector<Detection>& found, int64_t total,
             const Outputs& outputs) const {
    float* const box = outputs.boxes.data<float>() + n * total * 4;
    float* const score = outputs.scores.data<float>() + n * total;
    float* const box_class = outputs.classes.data<float>() + n * total;
    std::fill_n(box, total * 4, 0.0f);
    std::fill_n(score, total, 0.0f);
    std::fill_n(box_class, total, 0.0f);
    for (size_t i = 0; i < found.size(); ++i) {
      const float* const from = BoxAt(boxes, n, found[i].box, found[i].box_class);
      for (int d = 0; d < 4; ++d) {
        box[4 * i + d] = clip_ ? std::max(std::min(from[d], 1.0f), 0.0f) : from[d];
      }
      score[i] = found[i].score;
      box_class[i] = static_cast<float>(found[i].box_class);
    }
    outputs.counts.data<int32_t>()[n] = static_cast<int32_t>(found.size());
  }

  bool pad_per_class_ = false;
  bool clip_ = true;
};

constexpr Form kV1 = {0, 0, 0, false};
constexpr Form kV2 = {3, 0, 0, false};
constexpr Form kV3 = {3, 4, 0, false};
constexpr Form kV5 = {3, 4, 5, false};
constexpr Form kOverlaps = {3, 4, 0, true};

ms::KernelOptions Counted() { return ms::KernelOptions().HostArg("max_output_size"); }

const ms::Registered v1 = ms::RegisterRow<Suppress>("NonMaxSuppression", kV1,
                                                    Counted().HostArg("boxes").HostArg("scores"));
ms::KernelOptions WithThreshold() {
  return Counted().HostArg("boxes").HostArg("scores").HostArg("iou_threshold");
}
ms::KernelOptions WithThresholds() { return WithThreshold().HostArg("score_threshold"); }
const ms::Registered v2 = ms::RegisterRow<Suppress>("NonMaxSuppressionV2", kV2, WithThreshold());
const ms::Registered v3 = ms::RegisterRow<Suppress>("NonMaxSuppressionV3", kV3, WithThresholds());
const ms::Registered v4 = ms::RegisterRow<Suppress>("NonMaxSuppressionV4", kV3, WithThresholds());
const ms::Registered v5 = ms::RegisterRow<Suppress>("NonMaxSuppressionV5", kV5,
                                                    WithThresholds().HostArg("soft_nms_sigma"));
const ms::Registered with_overlaps =
    ms::RegisterRow<Suppress>("NonMaxSuppressionWithOverlaps", kOverlaps,
                              Counted()
                                  .HostArg("overlaps")
                                  .HostArg("scores")
                                  .HostArg("overlap_threshold")
                                  .HostArg("score_threshold"));
const ms::Registered combined = ms::Register<CombinedSuppress>(
    "CombinedNonMaxSuppression", ms::KernelOptions()
                                     .HostArg("max_output_size_per_class")
                                     .HostArg("max_total_size")
                                     .HostArg("iou_threshold")
                                     .HostArg("score_threshold"));

}  // namespace
}  // namespace millstream::kernels
