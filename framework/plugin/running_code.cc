#include "framework/plugin/running_code.h"

namespace millstream {

__thread const RunningCode* running_code __attribute__((tls_model("initial-exec"))) = nullptr;

}  // namespace millstream
