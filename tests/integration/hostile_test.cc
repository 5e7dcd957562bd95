// Bytes that are no messages, sent past the generated stubs.

#include <functional>
#include <random>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/grpcpp.h"
#include "tests/integration/server_process.h"

namespace trivium {
namespace {

constexpr const char* kMethods[] = {"/trivium.v1.Inference/Encode",
                                    "/trivium.v1.Inference/Translate",
                                    "/trivium.v1.Inference/Generate",
                                    "/trivium.v1.Inference/Tokenize",
                                    "/trivium.v1.Inference/TranslateStream",
                                    "/trivium.v1.Models/ListModels",
                                    "/trivium.v1.Models/GetModel"};

class HostileTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { server_ = new ServerProcess(); }
  static void TearDownTestSuite() {
    EXPECT_TRUE(server_->running()) << "the server died";
    delete server_;
  }

  // Sends the messages and gives how the call ended.
  grpc::Status Call(const std::string& method,
                    const std::vector<std::string>& messages) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() +
                         std::chrono::seconds(60));
    grpc::CompletionQueue queue;
    const auto call = stub_.PrepareCall(&context, method, &queue);
    const auto wait = [&queue] {
      void* tag = nullptr;
      bool ok = false;
      return queue.Next(&tag, &ok) && ok;
    };
    call->StartCall(nullptr);
    wait();
    for (const std::string& message : messages) {
      const grpc::Slice slice(message);
      call->Write(grpc::ByteBuffer(&slice, 1), nullptr);
      if (!wait()) break;
    }
    call->WritesDone(nullptr);
    wait();
    grpc::ByteBuffer answer;
    bool more = true;
    while (more) {
      call->Read(&answer, nullptr);
      more = wait();
    }
    grpc::Status status;
    call->Finish(&status, nullptr);
    wait();
    queue.Shutdown();
    return status;
  }

  static void ExpectClientsFault(const grpc::Status& status,
                                 const std::string& what) {
    const auto code = status.error_code();
    EXPECT_TRUE(code == grpc::StatusCode::OK ||
                code == grpc::StatusCode::INVALID_ARGUMENT ||
                code == grpc::StatusCode::NOT_FOUND ||
                code == grpc::StatusCode::FAILED_PRECONDITION ||
                code == grpc::StatusCode::RESOURCE_EXHAUSTED)
        << what << ": " << code << " " << status.error_message();
  }

  static ServerProcess* server_;
  grpc::GenericStub stub_{grpc::CreateChannel(
      server_->address(), grpc::InsecureChannelCredentials())};
};

ServerProcess* HostileTest::server_ = nullptr;

TEST_F(HostileTest, RandomBytesAreTheClientsFault) {
  std::mt19937 random(17);
  for (int round = 0; round < 60; ++round) {
    std::string bytes(random() % 200, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    for (const char* method : kMethods) {
      ExpectClientsFault(Call(method, {bytes}), method);
    }
  }
}

TEST_F(HostileTest, TruncatedMessagesAreTheClientsFault) {
  v1::TranslateRequest request;
  request.set_model("en-de");
  request.add_inputs()->set_text("Hi.");
  request.mutable_options()->mutable_decoding()->set_max_new_tokens(2);
  const std::string whole = request.SerializeAsString();
  for (size_t size = 0; size < whole.size(); ++size) {
    ExpectClientsFault(
        Call("/trivium.v1.Inference/Translate", {whole.substr(0, size)}),
        "cut at " + std::to_string(size));
  }
}

TEST_F(HostileTest, NoMessageAtAllIsAnswered) {
  for (const char* method : kMethods) {
    ExpectClientsFault(Call(method, {}), method);
  }
}

TEST_F(HostileTest, InvalidUtf8IsInvalidInEveryTextField) {
  const std::string bad = "a\xff\xfe";
  const auto expect_invalid = [&](const char* method,
                                  const google::protobuf::Message& message) {
    const grpc::Status status = Call(method, {message.SerializeAsString()});
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT)
        << method << " " << status.error_message();
  };
  const std::vector<std::function<void(v1::TranslateRequest*)>> changes = {
      [&](auto* r) { r->set_model(bad); },
      [&](auto* r) { r->add_inputs()->set_text(bad); },
      [&](auto* r) { r->add_inputs()->mutable_pair()->set_first(bad); },
      [&](auto* r) { r->add_inputs()->set_target_prefix(bad); },
      [&](auto* r) { r->mutable_options()->set_source_language(bad); },
      [&](auto* r) { r->mutable_options()->set_target_language(bad); },
      [&](auto* r) {
        r->mutable_options()->mutable_decoding()->add_stop(bad);
      }};
  for (const auto& change : changes) {
    v1::TranslateRequest request;
    change(&request);
    expect_invalid("/trivium.v1.Inference/Translate", request);
  }
  v1::EncodeRequest encode;
  encode.add_inputs()->set_text(bad);
  expect_invalid("/trivium.v1.Inference/Encode", encode);
  v1::GenerateRequest generate;
  generate.mutable_input()->set_text(bad);
  expect_invalid("/trivium.v1.Inference/Generate", generate);
  v1::TokenizeRequest tokenize;
  tokenize.add_texts(bad);
  expect_invalid("/trivium.v1.Inference/Tokenize", tokenize);
  v1::GetModelRequest get;
  get.set_name(bad);
  expect_invalid("/trivium.v1.Models/GetModel", get);
}

TEST_F(HostileTest, StreamsOutOfOrderAreInvalid) {
  const char* method = "/trivium.v1.Inference/TranslateStream";
  v1::TranslateStreamRequest start, item;
  start.mutable_start();
  item.mutable_item()->mutable_input()->set_text("Hi.");
  for (const std::vector<std::string>& messages :
       std::vector<std::vector<std::string>>{
           {item.SerializeAsString()},
           {""},
           {start.SerializeAsString(), start.SerializeAsString()},
           {start.SerializeAsString(), ""},
           {start.SerializeAsString(), "\xff\xff"}}) {
    EXPECT_EQ(Call(method, messages).error_code(),
              grpc::StatusCode::INVALID_ARGUMENT);
  }
}

TEST_F(HostileTest, OversizedMessagesAreRefused) {
  for (const char* method : kMethods) {
    ExpectClientsFault(Call(method, {std::string(9 << 20, '\0')}), method);
  }
}

}  // namespace
}  // namespace trivium
