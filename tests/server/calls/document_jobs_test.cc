#include "server/calls/document_jobs.h"

#include <string>
#include <utility>

#include "gtest/gtest.h"
#include "server/errors/status.h"
#include "tests/server/calls/handlers_fixture.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using State = DocumentJob::Progress::State;

class DocumentJobsTest : public HandlersTest {
 protected:
  void TearDown() override {
    jobs_.CancelAll();
    Settle();
    // What the pools still hold of a job goes before the overload manager.
    Settle();
  }
  // Waits until the pools have done what is queued now.
  void Settle() {
    WaitFor(&tokenizing_);
    WaitFor(&delivery_);
  }

  static DocumentJob::Order Order(const std::string& data,
                                  const std::string& format = "text") {
    DocumentJob::Order order;
    order.start.set_format(format);
    order.data = data;
    order.file_name = "a.txt";
    return order;
  }
  absl::StatusOr<DocumentJobs::Ticket> Start(const std::string& owner,
                                             DocumentJob::Order order) {
    return jobs_.Start(environment_, owner, std::move(order));
  }
  DocumentJobs::Ticket Started(const std::string& data) {
    const auto ticket = Start("me", Order(data));
    EXPECT_TRUE(ticket.ok()) << ticket.status();
    return ticket.value_or(DocumentJobs::Ticket());
  }
  State StateOf(const DocumentJobs::Ticket& ticket) {
    const auto progress = jobs_.Look("me", ticket.id, ticket.key);
    EXPECT_TRUE(progress.ok()) << progress.status();
    return progress.ok() ? progress->state : State::kFailed;
  }
  // Waits until the job has ended, in which nothing but the pools has a part.
  State End(const DocumentJobs::Ticket& ticket) {
    while (StateOf(ticket) < State::kDone) Settle();
    Settle();
    return StateOf(ticket);
  }

  OverloadManager overload_{{.limit_bytes = 1 << 30,
                             .memory = [] { return int64_t{0}; },
                             .trim = [] {}},
                            &metrics_,
                            /*watch=*/false};
  DocumentJobs jobs_{{.most_jobs = 4,
                      .most_of_owner = 3,
                      .most_bytes = 1000,
                      .time = absl::Minutes(30)},
                     &overload_,
                     &clock_};
};

TEST_F(DocumentJobsTest, ADocumentIsTranslatedWhileNobodyWaits) {
  const auto ticket = Started("Good morning.\n\nGood night.\n");
  batcher_.Wait(1);
  EXPECT_EQ(StateOf(ticket), State::kTranslating);
  EXPECT_GT(overload_.account()->total(), 0);
  EXPECT_TRUE(
      absl::IsUnavailable(jobs_.Take("me", ticket.id, ticket.key).status()));
  batcher_.Answer(0);
  batcher_.Answer(1);
  EXPECT_EQ(End(ticket), State::kDone);
  // The translation is all that is held.
  EXPECT_EQ(overload_.account()->total(), 27);
  const auto taken = jobs_.Take("me", ticket.id, ticket.key);
  ASSERT_TRUE(taken.ok()) << taken.status();
  EXPECT_EQ(taken->data, "Good morning.\n\nGood night.\n");
  EXPECT_EQ(taken->file_name, "a.txt");
  EXPECT_EQ(taken->type, "text/plain");
  EXPECT_EQ(overload_.account()->total(), 0);
  // Once.
  EXPECT_TRUE(
      absl::IsNotFound(jobs_.Take("me", ticket.id, ticket.key).status()));
}

TEST_F(DocumentJobsTest, OnlyItsOwnerWithItsKeyHasADocument) {
  const auto ticket = Started("Hello.\n");
  for (const auto& [owner, id, key] :
       {std::tuple<std::string, std::string, std::string>{"you", ticket.id,
                                                          ticket.key},
        {"me", ticket.id, "0"},
        {"me", ticket.key, ticket.key}}) {
    EXPECT_TRUE(absl::IsNotFound(jobs_.Look(owner, id, key).status()));
    EXPECT_TRUE(absl::IsNotFound(jobs_.Take(owner, id, key).status()));
  }
}

TEST_F(DocumentJobsTest, FailuresAreKeptForTheClient) {
  const auto ticket = Start("me", Order("{", "json"));
  ASSERT_TRUE(ticket.ok()) << ticket.status();
  EXPECT_EQ(End(*ticket), State::kFailed);
  const auto progress = jobs_.Look("me", ticket->id, ticket->key);
  EXPECT_THAT(progress->status, InvalidAt("data"));
  EXPECT_THAT(jobs_.Take("me", ticket->id, ticket->key).status(),
              InvalidAt("data"));
}

TEST_F(DocumentJobsTest, DocumentsAreBoundedInNumberAndBytes) {
  EXPECT_THAT(Start("me", Order(std::string(501, 'x'))).status(),
              InvalidAt("data"));
  for (int i = 0; i < 3; ++i) Started("Hello.\n");
  const absl::Status status = Start("me", Order("x")).status();
  EXPECT_TRUE(absl::IsResourceExhausted(status));
  EXPECT_TRUE(RetryDelay(status).has_value());
  EXPECT_TRUE(Start("you", Order(std::string(400, 'x'))).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(Start("they", Order("x")).status()));
}

TEST_F(DocumentJobsTest, ATranslationIsKeptForAWhile) {
  const auto ticket = Started("12\n");
  EXPECT_EQ(End(ticket), State::kDone);
  clock_.Advance(absl::Minutes(29));
  EXPECT_EQ(StateOf(ticket), State::kDone);
  clock_.Advance(absl::Minutes(1));
  EXPECT_TRUE(
      absl::IsNotFound(jobs_.Look("me", ticket.id, ticket.key).status()));
  EXPECT_EQ(overload_.account()->total(), 0);
}

TEST_F(DocumentJobsTest, ACancelledJobFails) {
  const auto ticket = Started("Hello.\n");
  batcher_.Wait(0);
  jobs_.CancelAll();
  batcher_.Wait(0).observer->OnDone(absl::CancelledError("gone"));
  EXPECT_EQ(End(ticket), State::kFailed);
}

TEST_F(DocumentJobsTest, ADocumentHasTheTimeOfStreams) {
  const auto ticket = Started("Hello.\n");
  batcher_.Wait(0);
  clock_.Advance(environment_.limits.default_stream_deadline);
  batcher_.Wait(0).observer->OnDone(absl::CancelledError("late"));
  EXPECT_EQ(End(ticket), State::kFailed);
  EXPECT_THAT(jobs_.Take("me", ticket.id, ticket.key).status(),
              IsError(absl::StatusCode::kDeadlineExceeded, "split it"));
}

TEST_F(DocumentJobsTest, MemoryThatIsShortEndsJobs) {
  DocumentJob job(environment_, &overload_, Order("Hello.\n"));
  job.Shed();  // before it starts
  auto shared =
      std::make_shared<DocumentJob>(environment_, &overload_, Order("12\n"));
  shared->Start();
  while (!shared->ended()) Settle();
  EXPECT_EQ(shared->progress().state, State::kDone);
  shared->Shed();
  EXPECT_EQ(shared->progress().state, State::kFailed);
  EXPECT_TRUE(absl::IsResourceExhausted(shared->Take().status()));
  EXPECT_EQ(shared->bytes(), 0);
  Settle();
}

}  // namespace
}  // namespace trivium
