#include "client/client.h"

#include <cmath>

#include "gmock/gmock.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "tests/client/fake_server.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using ::testing::HasSubstr;

std::unique_ptr<Client> Connect(const std::string& address,
                                absl::Duration timeout = absl::Seconds(30)) {
  Client::Options options;
  options.address = address;
  options.timeout = timeout;
  return *Client::Create(options);
}

TEST(ClientTest, RefusesOptionsThatCannotWork) {
  Client::Options options;
  options.address = "";
  EXPECT_EQ(Client::Create(options).status().code(),
            absl::StatusCode::kInvalidArgument);
  for (const absl::Duration timeout :
       {absl::ZeroDuration(), -absl::Seconds(1), absl::InfiniteDuration(),
        absl::Seconds(std::nan(""))}) {
    options = Client::Options();
    options.timeout = timeout;
    EXPECT_EQ(Client::Create(options).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
}

TEST(ClientTest, SendsThePriorityWithEveryCall) {
  FakeServer server;
  const auto ask = [&server](const std::string& priority) {
    Client::Options options;
    options.address = server.address();
    options.priority = priority;
    const auto client = *Client::Create(options);
    EXPECT_TRUE(client->Translate(v1::TranslateRequest()).ok());
    EXPECT_EQ(server.last_priority, priority);
    const auto nothing = [](const v1::GenerateResponse&) {
      return absl::OkStatus();
    };
    EXPECT_TRUE(client->Generate(v1::GenerateRequest(), nothing).ok());
    EXPECT_EQ(server.last_priority, priority);
    const auto stream =
        client->StartTranslateStream(v1::TranslateStreamRequest::Start());
    stream->WritesDone();
    v1::TranslateStreamResponse response;
    EXPECT_FALSE(stream->Read(&response));
    EXPECT_TRUE(stream->Finish().ok());
    EXPECT_EQ(server.last_priority, priority);
  };
  ask("");
  ask("batch");
  EXPECT_EQ(Client::Create({.priority = "urgent"}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(ClientTest, SendsTheConversationWithAChat) {
  FakeServer server;
  const auto client = Connect(server.address());
  v1::GenerateRequest request;
  const auto ask = [&] {
    const auto nothing = [](const v1::GenerateResponse&) {
      return absl::OkStatus();
    };
    EXPECT_TRUE(client->Generate(request, nothing).ok());
    return server.last_conversation;
  };
  const auto add = [&request](const char* role, const char* content) {
    v1::Chat::Message* const message = request.mutable_chat()->add_messages();
    message->set_role(role);
    message->set_content(content);
  };
  EXPECT_EQ(ask(), "");  // no chat
  add("system", "be brief");
  add("user", "Hi");
  // The same value as the Python client's.
  EXPECT_EQ(ask(), "ca59675d");
  add("assistant", "Hello.");
  add("user", "Who are you?");
  EXPECT_EQ(ask(), "ca59675d");
  request.mutable_chat()->mutable_messages(1)->set_content("Ho");
  EXPECT_NE(ask(), "ca59675d");
}

TEST(ClientTest, CallsEveryMethod) {
  FakeServer server;
  const auto client = Connect(server.address());
  v1::TranslateRequest translate;
  translate.add_inputs()->set_text("a");
  EXPECT_EQ(client->Translate(translate)->results(0).hypotheses(0).text(),
            "<a>");
  v1::EncodeRequest encode;
  encode.add_inputs()->set_text("abc");
  EXPECT_EQ(client->Encode(encode)->results(0).embedding(0), 3);
  v1::TokenizeRequest tokenize;
  tokenize.add_texts("t");
  EXPECT_EQ(client->Tokenize(tokenize)->results(0).tokens(0).id(), 7u);
  EXPECT_EQ(client->ListModels()->models_size(), 2);
  EXPECT_EQ(client->GetModel("m")->name(), "m");
  EXPECT_EQ(client->Health("")->status(),
            grpc::health::v1::HealthCheckResponse::SERVING);
  std::string text;
  EXPECT_TRUE(client
                  ->Generate(v1::GenerateRequest(),
                             [&](const v1::GenerateResponse& response) {
                               text += response.piece().text();
                               return absl::OkStatus();
                             })
                  .ok());
  EXPECT_EQ(text, "one two");
}

TEST(ClientTest, NamesTheFieldAndTheRequestInErrors) {
  FakeServer server;
  server.refusal = FakeServer::BadRequest("inputs[3].text");
  const absl::Status status =
      Connect(server.address())->Encode(v1::EncodeRequest()).status();
  EXPECT_THAT(status,
              IsError(absl::StatusCode::kInvalidArgument, "inputs[3].text"));
  EXPECT_THAT(status, IsError(absl::StatusCode::kInvalidArgument, "r-17"));
}

TEST(ClientTest, SaysInErrorsWhenToTryAgain) {
  google::rpc::RetryInfo retry;
  retry.mutable_retry_delay()->set_nanos(250'000'000);
  google::rpc::Status details;
  details.add_details()->PackFrom(retry);
  FakeServer server;
  server.refusal = grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "full",
                                details.SerializeAsString());
  const absl::Status status =
      Connect(server.address())->Translate(v1::TranslateRequest()).status();
  EXPECT_THAT(status, IsError(absl::StatusCode::kResourceExhausted, "0.25 s"));
}

TEST(ClientTest, IgnoresUnreadableDetails) {
  FakeServer server;
  server.refusal =
      grpc::Status(grpc::StatusCode::NOT_FOUND, "gone", "\xff\xff\xff");
  EXPECT_THAT(Connect(server.address())->GetModel("x"),
              IsError(absl::StatusCode::kNotFound, "gone"));
}

TEST(ClientTest, NamesTheAddressWhereNoServerAnswers) {
  std::string address;
  {
    FakeServer server;
    address = server.address();
  }
  const absl::Status status = Connect(address)->ListModels().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  // The rest of the text is gRPC's.
  EXPECT_THAT(status.message(), HasSubstr(address));
}

TEST(ClientTest, EndsHangingCallsAtTheirDeadline) {
  FakeServer server;
  server.hang = true;
  const auto client = Connect(server.address(), absl::Milliseconds(50));
  const absl::Status unary = client->ListModels().status();
  EXPECT_EQ(unary.code(), absl::StatusCode::kDeadlineExceeded);
  // The rest of the text is gRPC's.
  EXPECT_THAT(unary.message(), HasSubstr("0.05 s"));
  EXPECT_EQ(client
                ->Generate(v1::GenerateRequest(),
                           [](const v1::GenerateResponse&) {
                             return absl::OkStatus();
                           })
                .code(),
            absl::StatusCode::kDeadlineExceeded);
}

TEST(ClientTest, EndsGenerateOnAnErrorOfTheCallback) {
  FakeServer server;
  int events = 0;
  const absl::Status status =
      Connect(server.address())
          ->Generate(v1::GenerateRequest(), [&](const v1::GenerateResponse&) {
            ++events;
            return absl::AbortedError("no");
          });
  EXPECT_EQ(status, absl::AbortedError("no"));
  EXPECT_EQ(events, 1);
}

}  // namespace
}  // namespace trivium
