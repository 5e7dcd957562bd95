#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "fmt/format.h"
#include "server/limits/client_id.h"
#include "tests/server/transports/http/http_api_fixture.h"

namespace trivium {
namespace {

using testing::HasSubstr;

// Records whose calls ask for admission as they start. The first one waits
// until the test lets it go.
class StartsBatcher : public PuppetBatcher {
 public:
  Submission CheckAdmission(const ServedModel* model, Sender sender,
                            CallId call, absl::Time deadline) override {
    if (model != nullptr) {
      MutexLock lock(&mutex_);
      clients_.push_back(sender.client);
      while (!go_) changed_.Wait(&mutex_);
    }
    return PuppetBatcher::CheckAdmission(model, sender, call, deadline);
  }
  void Go() {
    MutexLock lock(&mutex_);
    go_ = true;
    changed_.SignalAll();
  }
  std::vector<ClientId> clients() const {
    MutexLock lock(&mutex_);
    return clients_;
  }

 private:
  mutable Mutex mutex_;
  CondVar changed_;
  bool go_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<ClientId> clients_ ABSL_GUARDED_BY(mutex_);
};

class FairStartsTest : public HttpApiTest {
 protected:
  FairStartsTest() {
    environment_.batcher = &starts_;
    environment_.limits.client_key_header = "x-client";
  }
  // Sends a request. Returns when its call exists.
  void Ask(const std::string& client) {
    HttpSocket& socket = sockets_.emplace_back(api_->port());
    socket.Send(fmt::format(
        "POST {} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        "x-client: {}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{}",
        kTranslate, client, std::string(kAbc).size(), kAbc));
    const std::string expected =
        fmt::format("trivium_requests_in_flight{{rpc=\"Translate\"}} {}\n",
                    sockets_.size());
    while (metrics_.Text().find(expected) == std::string::npos) {
      absl::SleepFor(absl::Milliseconds(1));
    }
  }
  static ClientId Client(const std::string& key) {
    CallContext context;
    context.client_key = key;
    return ClientOf(context);
  }

  StartsBatcher starts_;
  std::deque<HttpSocket> sockets_;
};

TEST_F(FairStartsTest, ACallWaitsForOneOfAnotherClientsMany) {
  Start();
  for (int i = 0; i < 20; ++i) Ask("greedy");
  Ask("honest");
  // Once the network's thread has brought this one, the others are queued.
  Ask("last");
  starts_.Go();
  for (HttpSocket& socket : sockets_) {
    EXPECT_THAT(socket.Receive(), HasSubstr("200 OK"));
  }
  std::vector<ClientId> expected(22, Client("greedy"));
  expected[1] = Client("honest");
  expected[2] = Client("last");
  EXPECT_EQ(starts_.clients(), expected);
}

}  // namespace
}  // namespace trivium
