#include "distributed_runtime/grpc/credentials.h"

#include <arpa/inet.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

namespace millstream::network {
namespace {

constexpr size_t kLeastTokenSize = 16;

std::string Variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// False if there is no such file, or it is empty.
bool ReadFile(const std::string& path, std::string* out) {
  std::ifstream file(path, std::ios::binary);
  out->assign(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  return file.good() && !out->empty();
}

bool IsToken(const std::string& text) {
  if (text.size() < kLeastTokenSize) return false;
  for (const char c : text) {
    if (c <= ' ' || c > '~') return false;
  }
  return true;
}

// Names other than "localhost" are not resolved: they may mean another address elsewhere.
bool IsLoopback(const std::string& address) {
  if (address.rfind("unix:", 0) == 0) return true;
  const std::string host = address.substr(0, address.rfind(':'));
  if (host == "localhost" || host == "[::1]") return true;
  in_addr parsed;
  constexpr unsigned kLoopbackNetwork = 127;
  return inet_pton(AF_INET, host.c_str(), &parsed) == 1 &&
         ntohl(parsed.s_addr) >> 24 == kLoopbackNetwork;
}

bool IsInsecureAllowed() { return Variable("MILLSTREAM_CLUSTER_INSECURE") == "1"; }

}  // namespace

bool Credentials::Read() {
  const std::string folder = Variable("MILLSTREAM_CLUSTER_CREDENTIALS");
  if (folder.empty()) return true;
  const int certificates = ReadFile(folder + "/ca.crt", &authority_) +
                           ReadFile(folder + "/tls.crt", &certificate_) +
                           ReadFile(folder + "/tls.key", &key_);
  has_certificates_ = certificates == 3;
  if (certificates != 0 && !has_certificates_) return false;
  if (!ReadFile(folder + "/token", &token_)) {
    token_.clear();
    // A file that is there and cannot be read must not mean that there is no token.
    return has_certificates_ && !std::ifstream(folder + "/token").is_open();
  }
  token_.erase(token_.find_last_not_of(" \r\n\t") + 1);
  return IsToken(token_);
}

bool Credentials::MayServe(const std::string& address) const {
  return has_certificates_ || IsLoopback(address) || IsInsecureAllowed();
}

std::string Credentials::AuthorizationFor(const std::string& address) const {
  return MayServe(address) ? Authorization() : "";
}

std::string Credentials::Authorization() const { return token_.empty() ? "" : "Bearer " + token_; }

ChannelCredentials Credentials::ForChannel() const {
  if (!has_certificates_) return ChannelCredentials(grpc_insecure_credentials_create());
  grpc_ssl_pem_key_cert_pair pair{key_.c_str(), certificate_.c_str()};
  return ChannelCredentials(
      grpc_ssl_credentials_create_ex(authority_.c_str(), &pair, nullptr, nullptr));
}

ServerCredentials Credentials::ForServer() const {
  if (!has_certificates_) return ServerCredentials(grpc_insecure_server_credentials_create());
  grpc_ssl_pem_key_cert_pair pair{key_.c_str(), certificate_.c_str()};
  return ServerCredentials(grpc_ssl_server_credentials_create_ex(
      authority_.c_str(), &pair, 1, GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY,
      nullptr));
}

}  // namespace millstream::network
