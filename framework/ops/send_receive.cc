// Send and Receive, which transfer tensors between the devices of a partitioned graph. Only the
// runtime adds them. Their names and attributes are those of stored partitions.
#include "framework/op_registry.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

// The op cannot infer the shape of the received tensor. The partitioner knows it.
Status NothingKnown(ShapeContext*) { return absl::OkStatus(); }

#define MS_TRANSFER_ATTRS                   \
  Attr("tensor_name: string")               \
      .Attr("send_device: string")          \
      .Attr("send_device_incarnation: int") \
      .Attr("recv_device: string")          \
      .Attr("client_terminated: bool = false")

MILLSTREAM_OP("_Send")
    .Input("tensor: T")
    .Attr("T: type")
    .MS_TRANSFER_ATTRS.Stateful()
    .Shape(NothingKnown)
    .Doc("Sends tensor, by name, from send_device to recv_device.");

MILLSTREAM_OP("_HostSend")
    .Input("tensor: T")
    .Attr("T: type")
    .MS_TRANSFER_ATTRS.Stateful()
    .Shape(NothingKnown)
    .Doc("Sends tensor, which is in host memory, by name, from send_device to recv_device.");

MILLSTREAM_OP("_Recv")
    .Output("tensor: tensor_type")
    .Attr("tensor_type: type")
    .MS_TRANSFER_ATTRS.Stateful()
    .Shape(NothingKnown)
    .Doc("Gives the tensor that a _Send of the same name sends to recv_device.");

MILLSTREAM_OP("_HostRecv")
    .Output("tensor: tensor_type")
    .Attr("tensor_type: type")
    .MS_TRANSFER_ATTRS.Stateful()
    .Shape(NothingKnown)
    .Doc("Gives, in host memory, the tensor that a _HostSend of the same name sends.");

#undef MS_TRANSFER_ATTRS

}  // namespace
}  // namespace millstream
