#include "framework/plugin/op_names.h"

#include <algorithm>
#include <array>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"

namespace millstream {
namespace {

// Of Python 3, in the order of their bytes.
constexpr std::array<absl::string_view, 35> kKeywords = {
    "False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
    "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",  "for",
    "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
    "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield"};

// The parameter of every function of an op that names the node.
constexpr absl::string_view kNodeName = "name";

using Names = absl::flat_hash_set<std::string>;

Status Check(absl::string_view kind, const std::string& name, Names* taken) {
  if (std::binary_search(kKeywords.begin(), kKeywords.end(), name)) {
    return errors::InvalidArgument(kind, " \"", name,
                                   "\" is a keyword of Python, where it is a parameter's name");
  }
  if (absl::StartsWith(name, "_")) {
    return errors::InvalidArgument(kind, " \"", name,
                                   "\" begins with an underscore: such names are the runtime's");
  }
  if (taken->insert(name == "T" ? "t" : name).second) return absl::OkStatus();
  if (name == kNodeName) {
    return errors::InvalidArgument(kind, " \"", name, "\" has the name of the parameter that ",
                                   "names the node");
  }
  return errors::InvalidArgument(kind, " \"", name,
                                 "\" has the name of another argument or attribute");
}

}  // namespace

Status CheckParameterNames(const OpDef& op) {
  Names parameters = {std::string(kNodeName)};
  for (const ArgDef& input : op.inputs) {
    MS_RETURN_IF_ERROR(Check("input", input.name, &parameters));
  }
  for (const AttrDef& attr : op.attrs) {
    MS_RETURN_IF_ERROR(Check("attribute", attr.name, &parameters));
  }
  Names results;
  for (const ArgDef& output : op.outputs) {
    MS_RETURN_IF_ERROR(Check("output", output.name, &results));
  }
  return absl::OkStatus();
}

}  // namespace millstream
