#include "client/translate_in_order.h"

#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "client/client.h"
#include "gmock/gmock.h"
#include "tests/client/fake_server.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using ::testing::ElementsAre;

// A source of the texts in a list. "invalid" fails locally, "stop" ends the
// source with an error, and "wait" blocks until interrupted.
class ListSource : public InputSource {
 public:
  explicit ListSource(std::vector<std::string> texts)
      : texts_(std::move(texts)) {}

  absl::StatusOr<std::optional<Item>> Next() override {
    MutexLock lock(&mutex_);
    if (interrupted_ || next_ == texts_.size()) return std::nullopt;
    const std::string text = texts_[next_++];
    if (text == "stop") return absl::UnknownError("source broke");
    while (text == "wait" && !interrupted_) changed_.Wait(&mutex_);
    if (interrupted_) return std::nullopt;
    Item item;
    if (text == "invalid") item.error = absl::InvalidArgumentError("invalid");
    item.input.set_text(text);
    return item;
  }

  void Interrupt() override {
    MutexLock lock(&mutex_);
    interrupted_ = true;
    changed_.SignalAll();
  }

 private:
  const std::vector<std::string> texts_;
  Mutex mutex_;
  CondVar changed_;
  size_t next_ ABSL_GUARDED_BY(mutex_) = 0;
  bool interrupted_ ABSL_GUARDED_BY(mutex_) = false;
};

class TranslateInOrderTest : public testing::Test {
 protected:
  absl::Status Run(std::vector<std::string> texts) {
    Client::Options options;
    options.address = server_.address();
    const auto client = *Client::Create(options);
    ListSource source(std::move(texts));
    const auto stream = client->StartTranslateStream({});
    return TranslateInOrder(
        *stream, source, options_,
        [this](const v1::TranslateStreamResponse& response) {
          if (emitted_.size() == fail_at_) return absl::AbortedError("full");
          emitted_.push_back(response.has_error()
                                 ? "!" + response.error().message()
                                 : response.result().hypotheses(0).text());
          return absl::OkStatus();
        });
  }

  FakeServer server_;
  OrderedTranslationOptions options_;
  size_t fail_at_ = 1 << 30;
  std::vector<std::string> emitted_;
};

TEST_F(TranslateInOrderTest, EmitsInTheOrderOfTheTexts) {
  server_.reverse = 7;
  std::vector<std::string> texts, expected;
  for (int i = 0; i < 1000; ++i) {
    texts.push_back(std::to_string(i));
    expected.push_back("<" + texts.back() + ">");
  }
  EXPECT_TRUE(Run(texts).ok());
  EXPECT_EQ(emitted_, expected);
}

TEST_F(TranslateInOrderTest, WorksWithSmallWindows) {
  options_.window = 1;
  EXPECT_TRUE(Run({"a", "b", "invalid", "c"}).ok());
  EXPECT_THAT(emitted_, ElementsAre("<a>", "<b>", "!invalid", "<c>"));
}

TEST_F(TranslateInOrderTest, AcceptsNoTexts) {
  EXPECT_TRUE(Run({}).ok());
  EXPECT_TRUE(emitted_.empty());
}

TEST_F(TranslateInOrderTest, LetsABadTextFailAlone) {
  EXPECT_TRUE(Run({"a", "bad", "invalid", "b"}).ok());
  EXPECT_THAT(emitted_,
              ElementsAre("<a>", "!input.text is bad", "!invalid", "<b>"));
}

TEST_F(TranslateInOrderTest, EmitsWhatWasSentBeforeTheSourceBroke) {
  EXPECT_EQ(Run({"a", "b", "stop", "c"}), absl::UnknownError("source broke"));
  EXPECT_THAT(emitted_, ElementsAre("<a>", "<b>"));
}

TEST_F(TranslateInOrderTest, InterruptsAWaitingSourceIfTheOutputBreaks) {
  fail_at_ = 0;
  EXPECT_EQ(Run({"a", "wait"}), absl::AbortedError("full"));
}

TEST_F(TranslateInOrderTest, InterruptsAWaitingSourceIfTheStreamIsRefused) {
  server_.refusal = FakeServer::BadRequest("start.model");
  EXPECT_THAT(Run({"a", "wait"}),
              IsError(absl::StatusCode::kInvalidArgument, "start.model"));
}

TEST_F(TranslateInOrderTest, ReportsAStreamThatEndsEarly) {
  server_.end_after = 2;
  EXPECT_EQ(Run({"a", "b", "wait"}).code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(emitted_, ElementsAre("<a>", "<b>"));
}

TEST_F(TranslateInOrderTest, CancelsTheStreamOfAServerThatStalls) {
  server_.reverse = 100;  // holds all results back
  options_.stall_timeout = absl::Milliseconds(50);
  EXPECT_THAT(Run({"a", "wait"}),
              IsError(absl::StatusCode::kDeadlineExceeded, "0.05 s"));
}

}  // namespace
}  // namespace trivium
