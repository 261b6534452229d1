// Settings of a channel or a server of gRPC.
#ifndef MILLSTREAM_DISTRIBUTED_RUNTIME_GRPC_ARGUMENTS_H_
#define MILLSTREAM_DISTRIBUTED_RUNTIME_GRPC_ARGUMENTS_H_

#include <grpc/grpc.h>

#include <vector>

namespace millstream::network {

class Arguments {
 public:
  // Those that both ends of a connection have: messages of any size, and no compression.
  Arguments() {
    Set(GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, -1);
    Set(GRPC_ARG_MAX_SEND_MESSAGE_LENGTH, -1);
    Set(GRPC_ARG_ENABLE_PER_MESSAGE_COMPRESSION, 0);
    Set(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);
    Set(GRPC_ARG_ENABLE_CHANNELZ, 0);
  }
  void Set(const char* name, int value) {
    grpc_arg argument{};
    argument.type = GRPC_ARG_INTEGER;
    argument.key = const_cast<char*>(name);
    argument.value.integer = value;
    list_.push_back(argument);
  }
  // Valid as long as the object, until the next Set.
  grpc_channel_args Get() { return {list_.size(), list_.data()}; }

 private:
  std::vector<grpc_arg> list_;
};

}  // namespace millstream::network

#endif  // MILLSTREAM_DISTRIBUTED_RUNTIME_GRPC_ARGUMENTS_H_
