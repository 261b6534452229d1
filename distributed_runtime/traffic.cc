#include "distributed_runtime/traffic.h"

#include <utility>

namespace millstream {
namespace {

class Counted final : public Channel {
 public:
  Counted(std::shared_ptr<Channel> channel, std::shared_ptr<Traffic> traffic)
      : channel_(std::move(channel)), traffic_(std::move(traffic)) {}

  std::shared_ptr<Call> Start(absl::string_view method, Payload request, absl::Time deadline,
                              Respond respond) override {
    traffic_->AddSent(request.size());
    return channel_->Start(method, std::move(request), deadline, Counting(std::move(respond)));
  }
  std::shared_ptr<Call> StartAwaited(absl::string_view method, Payload request, absl::Time deadline,
                                     Respond respond) override {
    traffic_->AddSent(request.size());
    return channel_->StartAwaited(method, std::move(request), deadline,
                                  Counting(std::move(respond)));
  }
  void Help(absl::FunctionRef<bool()> is_done) override { channel_->Help(is_done); }

 private:
  // What counts a response before it is passed on.
  Respond Counting(Respond respond) const {
    return
        [traffic = traffic_, respond = std::move(respond)](const Status& status, Payload response) {
          traffic->AddReceived(response.size());
          respond(status, std::move(response));
        };
  }

  const std::shared_ptr<Channel> channel_;
  const std::shared_ptr<Traffic> traffic_;
};

}  // namespace

std::shared_ptr<Channel> CountedChannel(std::shared_ptr<Channel> channel,
                                        std::shared_ptr<Traffic> traffic) {
  return std::make_shared<Counted>(std::move(channel), std::move(traffic));
}

Respond CountedRespond(Respond respond, std::shared_ptr<Traffic> traffic) {
  return [respond = std::move(respond), traffic = std::move(traffic)](const Status& status,
                                                                      Payload response) {
    traffic->AddSent(response.size());
    respond(status, std::move(response));
  };
}

}  // namespace millstream
