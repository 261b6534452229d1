// Prints the signatures of all ops: the new text of signatures.golden.txt after a deliberate
// change.
#include <cstdio>

#include "framework/ops/signature_text.h"

int main() {
  std::fputs(millstream::AllSignaturesText().c_str(), stdout);
  return 0;
}
