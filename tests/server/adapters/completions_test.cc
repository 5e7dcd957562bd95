// Several prompts as one call, without a network: stalls and their absence.
#include "server/adapters/completions.h"

#include <gmock/gmock.h>

#include "internal/completions.pb.h"
#include "tests/server/calls/handlers_fixture.h"
#include "trivium/v1/inference.pb.h"

namespace trivium {
namespace {

class CompletionsTest : public HandlersTest {
 protected:
  // Two prompts, "abcd" each; the model repeats them.
  void Start() {
    internal::Completions both;
    for (int i = 0; i < 2; ++i) {
      both.add_requests()->mutable_input()->set_text("abcd");
    }
    transport_.Bring(both);
    handler_ = NewCompletions(environment_, CallContext(), &transport_);
    handler_->Start();
    batcher_.Wait(1);
  }
  // The transport has written the response `i`.
  v1::GenerateResponse Written(size_t i) {
    auto response = transport_.Response<v1::GenerateResponse>(i);
    handler_->OnWritten(true);
    WaitForDelivery();
    return response;
  }
  absl::Duration stall() const { return environment_.limits.stall_timeout; }
};

TEST_F(CompletionsTest, DoesNotBreakOffAPromptThatWaitsForItsSibling) {
  Start();
  batcher_.Answer(0);
  EXPECT_EQ(Written(0).piece().text(), "abcd");
  EXPECT_TRUE(Written(1).has_done());
  Tick(2 * stall());
  Tick(2 * stall());
  EXPECT_FALSE(batcher_.Wait(1).cancellation->cancelled());
  batcher_.Answer(1);
  EXPECT_EQ(Written(2).piece().text(), "abcd");
  EXPECT_TRUE(Written(3).has_done());
  EXPECT_TRUE(transport_.WaitForFinish().status.ok());
  // The client may take long for an answer that is one whole: the transport
  // sees whether it reads.
  Tick(2 * stall());
  Tick();
  EXPECT_FALSE(transport_.broken_off());
}

TEST_F(CompletionsTest, DoesNotBreakOffAResponseThatWaitsForSiblings) {
  Start();
  batcher_.Answer(0);
  batcher_.Answer(1);
  WaitForDelivery();
  // Each response takes the client nearly `stall`, so the last one waits for
  // much longer.
  for (int i = 0; i < 4; ++i) {
    Tick(stall() - absl::Milliseconds(40));
    Written(i);
  }
  EXPECT_TRUE(transport_.WaitForFinish().status.ok());
  EXPECT_FALSE(transport_.broken_off());
}

TEST_F(CompletionsTest, BreaksOffAClientThatReadsNothing) {
  Start();
  batcher_.Answer(0);
  EXPECT_EQ(transport_.Response<v1::GenerateResponse>(0).piece().text(),
            "abcd");
  Tick(stall());
  Tick();
  transport_.WaitForBreakOff();
  EXPECT_TRUE(batcher_.Wait(1).cancellation->cancelled());
  batcher_.Wait(1).observer->OnDone(absl::CancelledError("cancelled"));
  while (!transport_.finished()) {
    handler_->OnWritten(false);
    WaitForDelivery();
  }
  EXPECT_TRUE(absl::IsCancelled(transport_.WaitForFinish().status));
}

}  // namespace
}  // namespace trivium
