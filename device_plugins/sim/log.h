// The host's log.
#ifndef MILLSTREAM_DEVICE_PLUGINS_SIM_LOG_H_
#define MILLSTREAM_DEVICE_PLUGINS_SIM_LOG_H_

#include <string>

#include "framework/plugin/plugin.hpp"

namespace millstream::sim {

// For what the host did wrong in a call that cannot answer with a status. Does nothing without a
// host.
inline void Warn(const std::string& text) {
  const MS_HostBase* const host = ms::host_tables.base;
  if (host != nullptr) host->log(host, MS_LOG_WARNING, ms::ToAbi(text));
}

}  // namespace millstream::sim

#endif  // MILLSTREAM_DEVICE_PLUGINS_SIM_LOG_H_
