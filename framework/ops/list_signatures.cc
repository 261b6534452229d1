// Prints the signatures of all ops, or writes them into signatures.golden.txt of the source tree
// after a deliberate change:
//
//     ./bazelw run //framework/ops:list_signatures -- --update
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

#include "framework/ops/signature_text.h"

namespace millstream {
namespace {

constexpr char kGolden[] = "framework/ops/signatures.golden.txt";

int Update() {
  const char* root = std::getenv("BUILD_WORKSPACE_DIRECTORY");
  if (root == nullptr) {
    std::fputs(
        "list_signatures: --update needs BUILD_WORKSPACE_DIRECTORY, which `bazel run` sets\n",
        stderr);
    return 1;
  }
  const std::string path = std::string(root) + "/" + kGolden;
  std::ofstream file(path);
  file << AllSignaturesText();
  file.close();
  if (!file) {
    std::fprintf(stderr, "list_signatures: cannot write %s\n", path.c_str());
    return 1;
  }
  std::printf("%s is written\n", path.c_str());
  return 0;
}

int Main(int argc, char** argv) {
  if (argc == 1) {
    std::fputs(AllSignaturesText().c_str(), stdout);
    return 0;
  }
  if (argc == 2 && std::string_view(argv[1]) == "--update") return Update();
  std::fputs("usage: list_signatures [--update]\n", stderr);
  return 2;
}

}  // namespace
}  // namespace millstream

int main(int argc, char** argv) { return millstream::Main(argc, argv); }
