#include "framework/plugin/check/op_specs.h"

#include <cstdio>
#include <cstdlib>
#include <optional>

#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "framework/plugin/check/op_spec_lines.h"

namespace millstream::plugin_check {
namespace {

void Add(const OpSpec& spec, OpRegistry* ops) {
  StatusOr<OpDef> op = spec.Build();
  const Status status = op.ok() ? ops->Register(*std::move(op)) : op.status();
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  std::abort();  // The build made the lines of ops that are known to be right.
}

}  // namespace

OpRegistry& KnownOps() {
  static OpRegistry* const ops = [] {
    auto* registry = new OpRegistry;
    std::optional<OpSpec> spec;
    for (const absl::string_view line : absl::StrSplit(kOpSpecLines, '\n', absl::SkipEmpty())) {
      const absl::string_view text = line.substr(1);
      switch (line.front()) {
        case 'N':
          if (spec.has_value()) Add(*spec, registry);
          spec.emplace(text);
          break;
        case 'I': spec->Input(text); break;
        case 'O': spec->Output(text); break;
        default: spec->Attr(text);
      }
    }
    if (spec.has_value()) Add(*spec, registry);
    return registry;
  }();
  return *ops;
}

}  // namespace millstream::plugin_check
