// Who may talk to the tasks of a cluster: certificates and a token, which are files of one folder.
#ifndef MILLSTREAM_DISTRIBUTED_RUNTIME_GRPC_CREDENTIALS_H_
#define MILLSTREAM_DISTRIBUTED_RUNTIME_GRPC_CREDENTIALS_H_

#include <grpc/grpc_security.h>

#include <memory>
#include <string>

namespace millstream::network {

struct ReleaseCredentials {
  void operator()(grpc_channel_credentials* of) const { grpc_channel_credentials_release(of); }
  void operator()(grpc_server_credentials* of) const { grpc_server_credentials_release(of); }
};
using ChannelCredentials = std::unique_ptr<grpc_channel_credentials, ReleaseCredentials>;
using ServerCredentials = std::unique_ptr<grpc_server_credentials, ReleaseCredentials>;

// What the folder MILLSTREAM_CLUSTER_CREDENTIALS holds. `ca.crt`, `tls.crt` and `tls.key` (PEM) are
// for mutual TLS: both ends have a certificate of that authority. `token` is a text that each
// request carries. Without the variable, there is neither.
class Credentials {
 public:
  // Reads the files. False if one cannot be read, or if the folder has neither certificates nor a
  // token: nothing may be sent then.
  bool Read();

  // Whether a server may listen at the address: with certificates, at loopback addresses, or if
  // MILLSTREAM_CLUSTER_INSECURE is 1.
  bool MayServe(const std::string& address) const;
  // What requests to the address carry: "Bearer TOKEN". "" without a token, and where it could be
  // read on the way.
  std::string AuthorizationFor(const std::string& address) const;
  // What requests must carry; "" if nothing.
  std::string Authorization() const;

  // REQUIRES: gRPC is initialized.
  ChannelCredentials ForChannel() const;
  ServerCredentials ForServer() const;

 private:
  bool has_certificates_ = false;
  std::string authority_;
  std::string certificate_;
  std::string key_;
  std::string token_;
};

}  // namespace millstream::network

#endif  // MILLSTREAM_DISTRIBUTED_RUNTIME_GRPC_CREDENTIALS_H_
