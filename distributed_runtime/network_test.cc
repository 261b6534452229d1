#include "distributed_runtime/network.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "distributed_runtime/handler_thread.h"
#include "distributed_runtime/network_table.h"
#include "distributed_runtime/transport.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::HasSubstr;

constexpr int32_t kUnavailable = 14;

// A library whose calls end at once, by the message that the address is.
millstream_network_table Table() {
  millstream_network_table table{};
  table.version = kMillstreamNetworkVersion;
  table.connect = [](const char* address) -> void* { return new std::string(address); };
  table.disconnect = [](void* channel) { delete static_cast<std::string*>(channel); };
  table.start = [](void* channel, const char*, int32_t, millstream_slice* slices, size_t n, int64_t,
                   millstream_call_done done, void* user) -> void* {
    for (size_t i = 0; i < n; ++i) slices[i].release(slices[i].owner);
    done(user, kUnavailable, static_cast<std::string*>(channel)->c_str(), nullptr, 0);
    return nullptr;
  };
  table.cancel = [](void*) {};
  table.free_call = [](void*) {};
  table.set_log = [](millstream_network_log) {};
  return table;
}

TEST(NetworkTest, ALibraryOfAnotherVersionIsRefusedByBothVersions) {
  for (const uint32_t version : {kMillstreamNetworkVersion - 1, kMillstreamNetworkVersion + 1}) {
    // Of which nothing else may be used.
    millstream_network_table table{};
    table.version = version;
    const Status status = NetworkOf(&table, "/a/library.so").status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
    const std::string text(status.message());
    EXPECT_THAT(text, HasSubstr("/a/library.so"));
    EXPECT_THAT(text, HasSubstr(absl::StrCat("has the version ", version)));
    EXPECT_THAT(text, HasSubstr(absl::StrCat("needs version ", kMillstreamNetworkVersion)));
  }
  EXPECT_EQ(NetworkOf(nullptr, "/a/library.so").status().code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST(NetworkTest, AnErrorSaysWhetherThereWasAConnection) {
  static const millstream_network_table table = Table();
  const auto network = NetworkOf(&table, "/a/library.so");
  ASSERT_TRUE(network.ok()) << network.status();
  for (const bool was_there : {true, false}) {
    const std::string message = was_there ? MILLSTREAM_NETWORK_PEER_LOST : "refused";
    const auto channel = (*network)->Connect(message);
    ASSERT_TRUE(channel.ok()) << channel.status();
    const Status status =
        CallAndWait(channel->get(), "Ask", Payload(), absl::InfiniteFuture()).status();
    EXPECT_TRUE(absl::IsUnavailable(status)) << status;
    EXPECT_EQ(IsPeerLost(status), was_there);
    EXPECT_THAT(std::string(status.message()), HasSubstr(message));
  }
}

// A library with one server, which has a request while a thread helps.
class Serving {
 public:
  static millstream_network_table Table() {
    millstream_network_table table = millstream::Table();
    table.serve = [](const char*, millstream_handle_request handle, void* user, int32_t*) {
      handle_ = handle;
      user_ = user;
      return user;
    };
    table.stop = [](void*) {};
    table.help = [](millstream_is_done is_done, void* user) {
      while (is_done(user) == 0) Request();
    };
    table.keep_thread = [] { ++kept_; };
    return table;
  }
  static void Request() { handle_(user_, nullptr, "Ask", nullptr, 0); }
  static int kept() { return kept_; }

 private:
  inline static millstream_handle_request handle_ = nullptr;
  inline static void* user_ = nullptr;
  inline static int kept_ = 0;
};

// Keeps the thread that calls it, if it may.
class Keeper final : public RequestHandler {
 public:
  void Handle(absl::string_view method, Payload request, Respond respond) override {
    ++requests_;
    keeps_ += HandlerThread::Keep() ? 1 : 0;
    // Who is kept waits for the next request by reading it.
    if (keeps_ == 1 && requests_ == 1) HandlerThread::Help([this] { return requests_ == 2; });
  }
  int requests() const { return requests_; }
  int keeps() const { return keeps_; }

 private:
  int requests_ = 0;
  int keeps_ = 0;
};

TEST(NetworkTest, AHandlerKeepsTheThreadUnlessThatHelps) {
  static const millstream_network_table table = Serving::Table();
  const auto network = NetworkOf(&table, "/a/library.so");
  ASSERT_TRUE(network.ok()) << network.status();
  const auto keeper = std::make_shared<Keeper>();
  const auto server = (*network)->Serve("host:1", keeper);
  ASSERT_TRUE(server.ok()) << server.status();
  const auto channel = (*network)->Connect("host:2");
  ASSERT_TRUE(channel.ok()) << channel.status();
  Serving::Request();
  EXPECT_EQ(keeper->requests(), 2);
  EXPECT_EQ(keeper->keeps(), 1) << "the second one came while the thread helped";
  (*channel)->Help([&] { return keeper->requests() == 4; });
  EXPECT_EQ(keeper->keeps(), 1);
  Serving::Request();
  EXPECT_EQ(keeper->keeps(), 2);
  EXPECT_EQ(Serving::kept(), 2);
}

}  // namespace
}  // namespace millstream
