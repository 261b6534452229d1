#include "framework/plugin/check/suite.h"

namespace millstream::plugin_check {

const CheckedPlugin* CheckContext::Comparison() const {
  if (reference != nullptr) return reference.get();
  return settings->reference.empty() ? nullptr : plugin.get();
}

absl::Span<const Suite> Suites() {
  static const Suite suites[] = {LoadSuite(),   OptionSuite(), RegistrySuite(), DeviceSuite(),
                                 MemorySuite(), CopySuite(),   StreamSuite(),   KernelSuite(),
                                 FaultSuite(),  ThreadSuite(), TraceSuite(),    SoakSuite()};
  return suites;
}

}  // namespace millstream::plugin_check
