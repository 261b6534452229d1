// UnicodeScript.
#include <cstdint>

#include "framework/plugin/plugin.hpp"
#include "kernels/regex/regex.h"

namespace millstream::kernels {
namespace {

class UnicodeScript {
 public:
  ms::Status Compute(ms::Frame& frame) const {
    const millstream_regex_table* table = nullptr;
    MS_TRY(OpenRegexTable(&table));
    const ms::View input = frame.input(0);
    ms::View output;
    MS_TRY(frame.Output(0, input.shape(), &output));
    constexpr int64_t kCharactersAQuestion = 1 << 16;
    for (int64_t i = 0; i < input.size(); ++i) {
      if (i % kCharactersAQuestion == 0) MS_TRY(frame.CheckCancelled());
      output.data<int32_t>()[i] = table->script_of(input.data<int32_t>()[i]);
    }
    return ms::Status();
  }
};

const ms::Registered script = ms::Register<UnicodeScript>("UnicodeScript");

}  // namespace
}  // namespace millstream::kernels
