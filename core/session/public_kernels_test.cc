// The types that kernels on the CPU take, compared with those of the public kernel registrations
// (public_kernels.txt).
#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "core/testing/session_fixture.h"
#include "framework/dtype.h"
#include "framework/op_registry.h"
#include "framework/plugin/kernel_registry.h"
#include "gmock/gmock.h"

namespace millstream {
namespace {

// Types that kernels do not take though public ones do.
struct Exception {
  const char* reason;
  const char* types;
  const char* attributes;
};
constexpr Exception kExceptions[] = {
    {"the definition of the reference refuses integers, so that its kernels never run",
     "int32 int64", "Acos.T"},
    {"no variant has a conjugate", "variant", "Conj.T"},
    {"bool has no subtraction", "bool", "ResourceScatterNdSub.T"},
};

std::vector<absl::string_view> Words(absl::string_view text) {
  return absl::StrSplit(text, absl::ByAnyChar(" \n"), absl::SkipEmpty());
}

// "op.attribute type"
std::set<std::string> ExcludedTypes() {
  std::set<std::string> found;
  for (const Exception& exception : kExceptions) {
    for (absl::string_view attribute : Words(exception.attributes)) {
      for (absl::string_view type : Words(exception.types)) {
        found.insert(absl::StrCat(attribute, " ", type));
      }
    }
  }
  return found;
}

// The types by "op.attribute". The list has paragraphs "TYPES: ATTRIBUTES".
std::map<std::string, DataTypeList> PublicTypes() {
  std::map<std::string, DataTypeList> found;
  std::ifstream file("core/session/public_kernels.txt");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  for (absl::string_view paragraph : absl::StrSplit(text, "\n\n")) {
    const std::pair<absl::string_view, absl::string_view> halves =
        absl::StrSplit(paragraph, absl::MaxSplits(':', 1));
    if (absl::StartsWith(paragraph, "#")) continue;
    DataTypeList types;
    for (absl::string_view name : Words(halves.first)) {
      types.push_back(ParseDataType(name));
      EXPECT_NE(types.back(), DataType::kInvalid) << name;
    }
    for (absl::string_view name : Words(halves.second)) found[std::string(name)] = types;
  }
  return found;
}

bool Takes(const KernelRegistration& kernel, absl::string_view attribute, DataType type) {
  if (kernel.device_type != "CPU" && kernel.device_type != kAnyDevice) return false;
  return absl::c_all_of(kernel.constraints, [&](const KernelRegistration::Constraint& constraint) {
    return constraint.attr != attribute || absl::c_linear_search(constraint.types, type);
  });
}

class PublicKernelsTest : public SessionTest {
 protected:
  PublicKernelsTest() { StartSession(); }
};

TEST_F(PublicKernelsTest, EachTypeOfAPublicKernelHasAKernelHere) {
  const std::set<std::string> excluded = ExcludedTypes();
  std::set<std::string> missing;
  int pairs = 0;
  for (const auto& [name, types] : PublicTypes()) {
    const std::vector<std::string> parts = absl::StrSplit(name, '.');
    ASSERT_EQ(parts.size(), 2u) << name;
    ASSERT_NE(OpRegistry::Global()->FindOrNull(parts[0]), nullptr) << name;
    const auto kernels = KernelRegistry::Global()->KernelsOf(parts[0]);
    // Ops that the runtime replaces (references, handles) have no kernel of their own.
    if (kernels.empty()) continue;
    for (const DataType type : types) {
      ++pairs;
      const bool is_taken = absl::c_any_of(kernels, [&, attribute = parts[1]](const auto* kernel) {
        return Takes(*kernel, attribute, type);
      });
      if (!is_taken) missing.insert(absl::StrCat(name, " ", DataTypeSpecName(type)));
    }
  }
  EXPECT_GT(pairs, 4000) << "the list was read";
  std::vector<std::string> unexpected, needless;
  std::set_difference(missing.begin(), missing.end(), excluded.begin(), excluded.end(),
                      std::back_inserter(unexpected));
  std::set_difference(excluded.begin(), excluded.end(), missing.begin(), missing.end(),
                      std::back_inserter(needless));
  EXPECT_THAT(unexpected, ::testing::IsEmpty()) << "no kernel, and no exception";
  EXPECT_THAT(needless, ::testing::IsEmpty()) << "exceptions that have a kernel";
  RecordProperty("pairs", pairs);
}

}  // namespace
}  // namespace millstream
