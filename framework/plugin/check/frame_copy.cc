#include "framework/plugin/check/frame_copy.h"

#include <cstddef>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace millstream::plugin_check {
namespace {

struct Field {
  const char* name;
  size_t offset;
  size_t size;
};

template <typename T>
constexpr size_t SizeOfField(T MS_Frame::*) {
  return sizeof(T);  // NOLINT: of a pointer as well
}
#define FRAME_FIELD(name) \
  { #name, offsetof(MS_Frame, name), SizeOfField(&MS_Frame::name) }
constexpr Field kFields[] = {
    FRAME_FIELD(head),           FRAME_FIELD(ctx),           FRAME_FIELD(inputs),
    FRAME_FIELD(outputs),        FRAME_FIELD(outputs_used),  FRAME_FIELD(shape_state),
    FRAME_FIELD(scratch),        FRAME_FIELD(n_in),          FRAME_FIELD(n_out),
    FRAME_FIELD(device_state),   FRAME_FIELD(stream_native), FRAME_FIELD(stream),
    FRAME_FIELD(correlation_id), FRAME_FIELD(flags),         FRAME_FIELD(step_id),
    FRAME_FIELD(device_ordinal), FRAME_FIELD(pad),           FRAME_FIELD(scratch_mem)};
#undef FRAME_FIELD

// Structs without implicit padding, see plugin.h.
template <typename T>
void AddChanges(const char* name, const std::vector<T>& before, const T* now,
                std::vector<std::string>* changes) {
  for (size_t i = 0; i < before.size(); ++i) {
    if (std::memcmp(&before[i], now + i, sizeof(T)) == 0) continue;
    changes->push_back(absl::StrCat(name, "[", i, "]"));
  }
}

}  // namespace

FrameCopy::FrameCopy(const MS_Frame& frame)
    : frame_(frame),
      copy_(frame),
      inputs_(frame.inputs, frame.inputs + frame.n_in),
      outputs_used_(frame.outputs_used, frame.outputs_used + frame.n_out / 64 + 1) {}

std::vector<std::string> FrameCopy::Changes(const std::vector<MS_TensorView>& outputs) const {
  std::vector<std::string> changes;
  const auto* const before = reinterpret_cast<const char*>(&copy_);
  const auto* const now = reinterpret_cast<const char*>(&frame_);
  for (const Field& field : kFields) {
    if (std::memcmp(before + field.offset, now + field.offset, field.size) == 0) continue;
    changes.emplace_back(field.name);
  }
  AddChanges("inputs", inputs_, copy_.inputs, &changes);
  AddChanges("outputs", outputs, copy_.outputs, &changes);
  AddChanges("outputs_used", outputs_used_, copy_.outputs_used, &changes);
  return changes;
}

}  // namespace millstream::plugin_check
