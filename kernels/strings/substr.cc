// Substr.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "framework/plugin/plugin.hpp"
#include "kernels/array/indices.h"
#include "kernels/elementwise/broadcast.h"
#include "kernels/strings/utf8.h"

namespace millstream::kernels {
namespace {

// Bytes at the beginning of a text that continue a character are one together, though StringLength
// does not count it.
bool BeginsWithRest(std::string_view text) { return !text.empty() && !BeginsCharacter(text[0]); }
int64_t CountWithRest(std::string_view text) {
  return CountCharacters(text) + (BeginsWithRest(text) ? 1 : 0);
}
size_t StartOf(std::string_view text, int64_t i) {
  if (!BeginsWithRest(text)) return CharacterStart(text, i);
  return i == 0 ? 0 : CharacterStart(text, i - 1);
}

// Inputs: input; pos and len, of one shape, which is broadcast with that of input.
class Substr {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    std::string unit;
    MS_TRY(info.Attr("unit", &unit));
    in_characters_ = unit == "UTF8_CHAR";
    return ms::Status();
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View input = frame.input(0);
    const ms::View pos = frame.input(1);
    const ms::View len = frame.input(2);
    if (pos.shape() != len.shape()) {
      return ms::InvalidArgument("pos and len must have one shape, but have ",
                                 pos.shape().ToString(), " and ", len.shape().ToString());
    }
    if (!CanBroadcast(input.shape(), pos.shape())) {
      return ms::InvalidArgument("pos and len of shape ", pos.shape().ToString(),
                                 " do not broadcast against input of shape ",
                                 input.shape().ToString());
    }
    BroadcastPlan plan;
    MS_TRY(PlanBroadcast(input.shape(), pos.shape(), &plan));
    ms::View output;
    MS_TRY(frame.Output(0, plan.output, &output));
    if (output.size() == 0) return ms::Status();
    const int64_t columns = plan.columns();
    const int64_t input_step = plan.x_strides[plan.rank - 1];
    const int64_t pos_step = plan.y_strides[plan.rank - 1];
    ms::Status status;
    ForEachRowBlock(plan, 0, plan.rows(), [&](const RowBlock& block) {
      for (int64_t row = 0; row < block.rows; ++row) {
        for (int64_t i = 0; i < columns && status.ok(); ++i) {
          const int64_t from = block.y_offset + row * block.y_step + i * pos_step;
          status = CopyPart(input, block.x_offset + row * block.x_step + i * input_step,
                            IndexAt(pos, from), IndexAt(len, from), output,
                            block.output_offset + row * columns + i);
        }
      }
    });
    return status;
  }

 private:
  ms::Status CopyPart(const ms::View& input, int64_t i, int64_t pos, int64_t len,
                      const ms::View& output, int64_t k) const {
    std::string_view text;
    MS_TRY(input.GetString(i, &text));
    const int64_t size = in_characters_ ? CountWithRest(text) : static_cast<int64_t>(text.size());
    if (pos > size || pos < -size) {
      return ms::InvalidArgument("pos = ", pos, " is out of range for ",
                                 ElementName("input", input.shape(), i), ", which has ", size,
                                 in_characters_ ? " characters" : " bytes");
    }
    // The units do not agree in what a negative len means, in the reference either.
    if (len < 0) {
      if (in_characters_ && pos < 0) {
        return ms::InvalidArgument("len = ", len, " must not be negative where pos = ", pos,
                                   " counts characters from the end of ",
                                   ElementName("input", input.shape(), i));
      }
      len = in_characters_ ? 0 : size;
    }
    if (pos < 0) pos += size;
    len = std::min(len, size - pos);
    const size_t begin = in_characters_ ? StartOf(text, pos) : static_cast<size_t>(pos);
    text.remove_prefix(begin);
    const size_t end = in_characters_ ? StartOf(text, len) : static_cast<size_t>(len);
    return output.SetString(k, text.substr(0, end));
  }

  bool in_characters_ = false;
};

const ms::Registered substr =
    ms::Register<Substr>("Substr", ms::KernelOptions().Types("T", IndexTypes()));

}  // namespace
}  // namespace millstream::kernels
