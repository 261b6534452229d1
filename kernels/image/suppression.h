// Boxes chosen by their scores, without those that overlap better ones.
#ifndef MILLSTREAM_KERNELS_IMAGE_SUPPRESSION_H_
#define MILLSTREAM_KERNELS_IMAGE_SUPPRESSION_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

namespace millstream::kernels {

// What two boxes share, of what both cover; 0 if one has no area. A box is two opposite corners.
inline float IntersectionOverUnion(const float* a, const float* b) {
  const auto area = [](const float* box) {
    return (std::max(box[0], box[2]) - std::min(box[0], box[2])) *
           (std::max(box[1], box[3]) - std::min(box[1], box[3]));
  };
  const float area_a = area(a);
  const float area_b = area(b);
  if (area_a <= 0 || area_b <= 0) return 0;
  const auto common = [&](int i) {
    const float begin = std::max(std::min(a[i], a[i + 2]), std::min(b[i], b[i + 2]));
    const float end = std::min(std::max(a[i], a[i + 2]), std::max(b[i], b[i + 2]));
    return std::max(end - begin, 0.0f);
  };
  const float shared = common(0) * common(1);
  return shared / (area_a + area_b - shared);
}

struct Rule {
  int64_t most = 0;                 // boxes at most
  float overlap = 0;                // above it a box is left out
  float score = 0;                  // boxes have a score above it
  float sigma = 0;                  // above 0: scores of boxes that overlap become smaller instead
  float (*round)(float) = nullptr;  // of scores, if they have a 16-bit type
};

struct Chosen {
  std::vector<int32_t> boxes;
  std::vector<float> scores;
};

// Chooses among `scores` by `overlap`, a function of two boxes' indices.
Chosen ChooseBoxes(const std::vector<float>& scores,
                   const std::function<float(int64_t, int64_t)>& overlap, const Rule& rule);

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_IMAGE_SUPPRESSION_H_
