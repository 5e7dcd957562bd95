// A request for which memory ends: at each allocation of ours, once. The
// request is answered or refused, and the next one has the bits that it always
// has. In the end nothing is held, and the server stops.
#include <google/protobuf/dynamic_message.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "server/startup.h"
#include "tests/integration/chat_folder.h"
#include "tests/integration/good_calls.h"
#include "tests/no_memory/failing_allocator.h"
#include "tests/support/http_get.h"

namespace trivium {
namespace {

namespace fs = std::filesystem;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using nlohmann::json;

// An answer, without what differs from time to time.
struct Answer {
  std::string status;  // "OK", or how it failed
  std::string content;
  std::string message = "";  // of the error
};

void ClearTimings(Message* message) {
  std::vector<const FieldDescriptor*> fields;
  message->GetReflection()->ListFields(*message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->name() == "timings" || field->name() == "id") {
      message->GetReflection()->ClearField(message, field);
    } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE &&
               !field->is_repeated()) {
      ClearTimings(message->GetReflection()->MutableMessage(message, field));
    }
  }
}

void ClearTimings(json* value) {
  if (value->is_object()) {
    for (const char* name :
         {"id", "created", "created_at", "timings", "total_duration",
          "load_duration", "prompt_eval_duration", "eval_duration", "usage",
          "system_fingerprint"}) {
      value->erase(name);
    }
  }
  if (value->is_structured()) {
    for (json& part : *value) ClearTimings(&part);
  }
}

class NoMemoryTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    const ClientThread client;
    std::set_terminate([] {
      std::fprintf(stderr, "ended at\n%s", FailingAllocator::Site().c_str());
      std::abort();
    });
    folder_ =
        fs::temp_directory_path() / ("no_memory." + std::to_string(getpid()));
    fs::create_directories(folder_);
    std::vector<std::string> flags = {"trivium-server",
                                      "--listen=127.0.0.1:0",
                                      "--http-listen=127.0.0.1:0",
                                      "--metrics-listen=127.0.0.1:0",
                                      "--workers=1",
                                      "--kv-cache-bytes=4MiB",
                                      "--prefix-cache-bytes=0",
                                      "--model=en-de=model/embedded"};
    for (std::string& flag : HeadModels(folder_.string())) {
      flags.push_back(std::move(flag));
    }
    MakeChatFolder(folder_ / "chat");
    flags.push_back("--model");
    flags.push_back("chat=" + (folder_ / "chat").string());
    std::vector<const char*> arguments;
    for (const std::string& flag : flags) arguments.push_back(flag.c_str());
    std::optional<int> exit_status;
    const Options options = ParseOptions(static_cast<int>(arguments.size()),
                                         arguments.data(), &exit_status);
    ASSERT_FALSE(exit_status.has_value());
    auto server = StartServer(options);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = server->release();
    grpc::ChannelArguments channel;
    channel.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 10);
    channel.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 10);
    channel.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 20);
    channel_ = grpc::CreateCustomChannel(
        "127.0.0.1:" + std::to_string(server_->port()),
        grpc::InsecureChannelCredentials(), channel);
  }
  static void TearDownTestSuite() {
    const ClientThread client;
    channel_.reset();
    // Waits for each open call.
    EXPECT_TRUE(server_->Drain());
    delete server_;
    fs::remove_all(folder_);
  }

  // Sends the messages of a call and reads all that comes.
  static Answer Send(const GoodCall& call) {
    grpc::GenericStub stub(channel_);
    grpc::CompletionQueue queue;
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() +
                         std::chrono::seconds(20));
    // A connection for which there was no memory ends.
    context.set_wait_for_ready(true);
    const auto stream = stub.PrepareCall(&context, call.method, &queue);
    void* tag = nullptr;
    bool ok = false;
    const auto next = [&] { return queue.Next(&tag, &ok) && ok; };
    stream->StartCall(nullptr);
    next();
    for (const std::string& bytes : call.Bytes()) {
      const grpc::Slice slice(bytes);
      stream->Write(grpc::ByteBuffer(&slice, 1), nullptr);
      if (!next()) break;
    }
    stream->WritesDone(nullptr);
    next();
    Answer answer;
    grpc::ByteBuffer bytes;
    while (stream->Read(&bytes, nullptr), next()) {
      answer.content += Content(call.method, bytes);
    }
    grpc::Status status;
    stream->Finish(&status, nullptr);
    next();
    queue.Shutdown();
    while (queue.Next(&tag, &ok)) {
    }
    answer.status = status.ok() ? "OK"
                                : std::to_string(status.error_code()) + " " +
                                      status.error_message();
    answer.message = status.error_message();
    if (status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED) {
      answer.status = "no memory";
    } else if (status.error_code() == grpc::StatusCode::UNAVAILABLE) {
      answer.status = "connection ended";
    }
    return answer;
  }

  static std::string Content(const std::string& method,
                             const grpc::ByteBuffer& bytes) {
    std::string name = method.substr(1);
    std::replace(name.begin(), name.end(), '/', '.');
    const auto* const descriptor =
        google::protobuf::DescriptorPool::generated_pool()->FindMethodByName(
            name);
    std::vector<grpc::Slice> slices;
    bytes.Dump(&slices).ok();
    std::string text;
    for (const grpc::Slice& slice : slices) {
      text.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
    }
    if (descriptor == nullptr) return text;
    std::unique_ptr<Message> message(
        google::protobuf::MessageFactory::generated_factory()
            ->GetPrototype(descriptor->output_type())
            ->New());
    message->ParseFromString(text);
    ClearTimings(message.get());
    return message->DebugString();
  }

  static Answer Post(const std::string& path, const std::string& body,
                     const std::string& headers) {
    const HttpResult result =
        HttpPost(server_->http_port(), path, body, headers);
    Answer answer;
    answer.status = result.status == 200 ? "OK" : std::to_string(result.status);
    if (result.status == 429 || result.status == 503) {
      answer.status = "no memory";
    } else if (result.status == 0) {
      answer.status = "connection ended";
    }
    std::string streamed;  // joined, since time decides what a chunk has
    for (size_t begin = 0; begin < result.body.size();) {
      size_t end = result.body.find('\n', begin);
      if (end == std::string::npos) end = result.body.size();
      std::string line = result.body.substr(begin, end - begin);
      begin = end + 1;
      if (line.empty()) continue;
      if (line.starts_with("data: ")) line = line.substr(6);
      json value = json::parse(line, nullptr, /*allow_exceptions=*/false);
      if (!value.is_discarded()) {
        // Of OpenAI's shape and of Ollama's.
        const json::json_pointer delta("/choices/0/delta/content");
        const json::json_pointer message("/message/content");
        const bool ollama = value.contains("done") && !value["done"];
        if (ollama || value.contains(delta)) {
          streamed += value[ollama ? message : delta].get<std::string>();
          continue;
        }
        ClearTimings(&value);
        line = value.dump();
      }
      answer.content += line + "\n";
    }
    answer.content += streamed;
    return answer;
  }

  // Sends the request with an allocation that fails, again and again, until
  // each has failed once.
  template <typename Request>
  static void FailEverywhere(const std::string& name, const Request& send) {
    const ClientThread client;
    send();  // what is made once
    const Answer good = send();
    ASSERT_EQ(good.status, "OK") << name << "\n" << good.content;
    FailingAllocator::Forget();
    int failed = 0, refused = 0;
    for (;; ++failed) {
      FailingAllocator::Arm();
      const Answer answer = send();
      if (!FailingAllocator::Disarm()) break;
      if (answer.status != "OK") {
        ++refused;
        // Streams tell it in their last piece.
        EXPECT_TRUE(answer.status == "no memory" ||
                    answer.status == "connection ended")
            << answer.status << " " << answer.message << " " << name << " at\n"
            << FailingAllocator::Site();
      }
      Answer next = send();
      // The client may hear only now that its connection has ended.
      for (int i = 0; i < 5 && next.status == "connection ended"; ++i) {
        usleep(20'000);
        next = send();
      }
      ASSERT_EQ(next.status, good.status)
          << name << ": " << next.message << " after\n"
          << FailingAllocator::Site();
      ASSERT_EQ(next.content, good.content) << name << " after\n"
                                            << FailingAllocator::Site();
    }
    std::printf("%s: %d sites, %d refused\n", name.c_str(), failed, refused);
    EXPECT_GT(failed, 20) << name;
    EXPECT_GT(refused, 5) << name;
    ExpectNothingHeld(name);
  }

  // Everything that the server counts as under way or held.
  static void ExpectNothingHeld(const std::string& name) {
    std::string held;
    for (int i = 0; i < 100; ++i) {
      held.clear();
      const std::string page =
          HttpGet(server_->metrics_port(), "/metrics").body;
      for (size_t begin = 0; begin < page.size();) {
        const size_t end = page.find('\n', begin);
        const std::string line = page.substr(begin, end - begin);
        begin = end + 1;
        const bool counts = line.starts_with("trivium_requests_in_flight{") ||
                            line.starts_with("trivium_held_bytes{") ||
                            line.starts_with("trivium_queue_") ||
                            line.starts_with("trivium_kv_blocks_used{") ||
                            line.starts_with("trivium_running_requests{");
        if (counts && !line.ends_with(" 0") &&
            line.find("wait_seconds") == std::string::npos) {
          held += line + "\n";
        }
      }
      if (held.empty()) return;
      usleep(50'000);
    }
    EXPECT_EQ(held, "") << name;
  }

  static inline fs::path folder_;
  static inline Server* server_ = nullptr;
  static inline std::shared_ptr<grpc::Channel> channel_;
};

TEST_F(NoMemoryTest, CallsOfTheApi) {
  for (const GoodCall& call : GoodCalls()) {
    // Answers of the models' management tell times.
    if (call.method.find("Models/") != std::string::npos) continue;
    FailEverywhere(call.method, [&] { return Send(call); });
    if (HasFatalFailure()) return;
  }
}

struct HttpCase {
  const char* path;
  const char* body;
  const char* headers = "Content-Type: application/json\r\n";
};

TEST_F(NoMemoryTest, CallsOverHttp) {
  for (const HttpCase& one : {
           HttpCase{"/v1/chat/completions",
                    R"({"model":"chat","max_tokens":6,"temperature":0,)"
                    R"("messages":[{"role":"user","content":"ab"}]})"},
           HttpCase{"/v1/chat/completions",
                    R"({"model":"chat","max_tokens":6,"temperature":0,)"
                    R"("stream":true,)"
                    R"("messages":[{"role":"user","content":"ab"}]})"},
           HttpCase{"/v1/completions",
                    R"({"model":"chat","max_tokens":4,"temperature":0,)"
                    R"("prompt":["ab","abc"]})"},
           HttpCase{"/v1/embeddings",
                    R"({"model":"en-de","input":["ab","c"]})"},
           HttpCase{"/translate",
                    R"({"q":"A house.","source":"en","target":"de"})"},
           HttpCase{"/api/chat",
                    R"({"model":"chat","options":{"num_predict":4,)"
                    R"("temperature":0},)"
                    R"("messages":[{"role":"user","content":"ab"}]})"},
           HttpCase{"/rerank", R"({"query":"ab","texts":["ab","cd"]})"},
       }) {
    FailEverywhere(one.path,
                   [&] { return Post(one.path, one.body, one.headers); });
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace trivium
