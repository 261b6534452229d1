#include "distributed_runtime/grpc/log.h"

#include <grpc/support/log.h>

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <set>
#include <string>
#include <utility>

namespace millstream::network {
namespace {

std::atomic<millstream_network_log> g_log{nullptr};

// True once for each place.
bool IsNew(const char* file, int line) {
  static std::mutex mutex;
  static auto* const places = new std::set<std::pair<std::string, int>>;
  const std::lock_guard<std::mutex> lock(mutex);
  return places->emplace(file, line).second;
}

void Take(gpr_log_func_args* arguments) {
  if (arguments->severity < GPR_LOG_SEVERITY_ERROR || !IsNew(arguments->file, arguments->line)) {
    return;
  }
  g_log.load()((std::string("gRPC: ") + arguments->message + " (logged once)").c_str());
}

}  // namespace

void SetLog(millstream_network_log log) {
  g_log.store(log);
  if (std::getenv("GRPC_VERBOSITY") == nullptr) gpr_set_log_function(&Take);
}

void LogOnce(const char* message, const char* file, int line) {
  const millstream_network_log log = g_log.load();
  if (log == nullptr || !IsNew(file, line)) return;
  log((std::string(message) + " (logged once)").c_str());
}

}  // namespace millstream::network
