#include "framework/plugin/check/op_specs.h"

#include <cstdio>
#include <cstdlib>
#include <optional>

namespace millstream::plugin_check {
namespace {

struct SpecLine {
  char kind;  // N: an op's name; I, O, A: an input, output, attribute of it
  const char* text;
};
constexpr SpecLine kLines[] = {
#include "framework/plugin/check/op_specs.inc"
};

void Add(const OpSpec& spec, OpRegistry* ops) {
  StatusOr<OpDef> op = spec.Build();
  const Status status = op.ok() ? ops->Register(*std::move(op)) : op.status();
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  std::abort();  // The build made the lines of ops that are known to be right.
}

}  // namespace

const OpRegistry& StandardOps() {
  static const OpRegistry* const ops = [] {
    auto* registry = new OpRegistry;
    std::optional<OpSpec> spec;
    for (const SpecLine& line : kLines) {
      switch (line.kind) {
        case 'N':
          if (spec.has_value()) Add(*spec, registry);
          spec.emplace(line.text);
          break;
        case 'I': spec->Input(line.text); break;
        case 'O': spec->Output(line.text); break;
        default: spec->Attr(line.text);
      }
    }
    if (spec.has_value()) Add(*spec, registry);
    return registry;
  }();
  return *ops;
}

}  // namespace millstream::plugin_check
