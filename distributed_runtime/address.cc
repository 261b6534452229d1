#include "distributed_runtime/address.h"

#include <cstddef>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"

namespace millstream {
namespace {

constexpr int kLastPort = 65535;

}  // namespace

Status CheckAddress(absl::string_view address) {
  const size_t colon = address.rfind(':');
  if (colon == absl::string_view::npos || absl::StartsWith(address, "unix:")) {
    return absl::OkStatus();
  }
  const absl::string_view port = address.substr(colon + 1);
  const bool is_signed = absl::StartsWith(port, "-") || absl::StartsWith(port, "+");
  const absl::string_view digits = port.substr(is_signed ? 1 : 0);
  if (digits.empty() || !absl::c_all_of(digits, absl::ascii_isdigit)) return absl::OkStatus();
  int number = 0;
  if (!is_signed && absl::SimpleAtoi(digits, &number) && number <= kLastPort) {
    return absl::OkStatus();
  }
  return errors::InvalidArgument("the address ", address, " has the port ", port,
                                 ", expected 0 to ", kLastPort);
}

}  // namespace millstream
