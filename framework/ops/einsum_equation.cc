#include "framework/ops/einsum_equation.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"

namespace millstream {
namespace {

StatusOr<std::string> ParseSubscripts(absl::string_view text) {
  std::string subscripts;
  while (!text.empty()) {
    if (text.substr(0, 3) == "...") {
      if (HasLabel(subscripts, kEinsumEllipsis)) {
        return errors::InvalidArgument("subscripts have more than one ellipsis");
      }
      subscripts.push_back(kEinsumEllipsis);
      text.remove_prefix(3);
      continue;
    }
    if (!absl::ascii_isalpha(static_cast<unsigned char>(text.front()))) {
      return errors::InvalidArgument("expected letters and \"...\" as subscripts, got '",
                                     text.substr(0, 1), "'");
    }
    subscripts.push_back(text.front());
    text.remove_prefix(1);
  }
  return subscripts;
}

}  // namespace

StatusOr<EinsumEquation> ParseEinsumEquation(absl::string_view text) {
  const std::string dense = absl::StrReplaceAll(text, {{" ", ""}});
  const std::vector<absl::string_view> sides = absl::StrSplit(dense, "->");
  if (sides.size() != 2) {
    return errors::InvalidArgument("Expecting exactly one '->' in einsum equation: ", text);
  }
  EinsumEquation equation;
  for (const absl::string_view input : absl::StrSplit(sides[0], ',')) {
    MS_ASSIGN_OR_RETURN(std::string subscripts, ParseSubscripts(input));
    equation.inputs.push_back(std::move(subscripts));
  }
  MS_ASSIGN_OR_RETURN(equation.output, ParseSubscripts(sides[1]));
  for (const char label : equation.output) {
    bool is_known = false;
    for (const std::string& input : equation.inputs) is_known |= HasLabel(input, label);
    if (!is_known) {
      return errors::InvalidArgument("the output of '", text, "' has the label '",
                                     std::string(1, label), "', which no input has");
    }
  }
  return equation;
}

}  // namespace millstream
