#ifndef TRIVIUM_TESTS_CLIENT_FAKE_SERVER_H_
#define TRIVIUM_TESTS_CLIENT_FAKE_SERVER_H_

#include <atomic>
#include <chrono>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "grpcpp/grpcpp.h"
#include "trivium/v1/inference.grpc.pb.h"
#include "trivium/v1/models.grpc.pb.h"

namespace trivium {

// A server of the API in this process that "translates" by putting <> around
// a text. The text "bad" is refused. Hooks change what a test needs changed.
class FakeServer : public v1::Inference::Service,
                   public v1::Models::Service,
                   public grpc::health::v1::Health::Service {
 public:
  FakeServer();
  ~FakeServer() override { Stop(); }

  void Stop() {
    server_->Shutdown(std::chrono::system_clock::now());
    server_->Wait();
  }

  const std::string& address() const { return address_; }

  std::atomic<int> translate_calls{0}, encode_calls{0}, tokenize_calls{0};
  // Read them when no call runs.
  std::string last_priority, last_conversation;  // as its metadata has them
  v1::EncodeRequest last_encode;
  v1::TranslateRequest last_translate;
  v1::ScoreRequest last_score;
  v1::RerankRequest last_rerank;
  v1::GenerateRequest last_generate;
  v1::TranslateStreamRequest::Start last_start;
  int largest_attention_bytes = 0;
  // What every call answers first; OK: it goes on.
  grpc::Status refusal;
  // Calls after so many are refused, as by a server that is full.
  std::atomic<int> calls_left{std::numeric_limits<int>::max()};
  grpc::health::v1::HealthCheckResponse::ServingStatus health =
      grpc::health::v1::HealthCheckResponse::SERVING;
  // A TranslateStream holds its results back until it has these many and then
  // sends them last first; 0: at once, in order.
  int reverse = 0;
  // A TranslateStream ends with OK after this many items; -1: with its items.
  int end_after = -1;
  // Calls that get no answer until the client goes away.
  bool hang = false;
  // A Generate that goes no further than its first piece.
  std::atomic<bool> hang_in_generate{false};
  std::string chat_refusal = "";  // if set, why no model takes chats
  std::string newline = "";       // appended to every translation
  // What the models tell of themselves.
  v1::Design design = v1::DESIGN_ENCODER_DECODER;
  uint64_t max_response_bytes = 4 << 20;
  uint32_t kv_head_count = 0;
  std::vector<uint32_t> attention_windows;
  v1::BeamTrace trace;  // what a traced translation gets

  // The attention that the fake's models pay: any number that tells its place.
  static float Weight(int layer, int head, int query, int key);
  // The fake's pieces are words, each with the space after it.
  static std::vector<std::string> Pieces(const std::string& text);
  // INVALID_ARGUMENT with the field's name.
  static grpc::Status BadRequest(const std::string& field);

  grpc::Status Encode(grpc::ServerContext* context,
                      const v1::EncodeRequest* request,
                      v1::EncodeResponse* response) override;

  // Each label's score tells something of the input.
  grpc::Status Classify(grpc::ServerContext* context,
                        const v1::ClassifyRequest* request,
                        v1::ClassifyResponse* response) override;

  // The later documents first; the score is the index. The document "bad" is
  // refused.
  grpc::Status Rerank(grpc::ServerContext* context,
                      const v1::RerankRequest* request,
                      v1::RerankResponse* response) override;

  // A span over the whole text.
  grpc::Status ClassifyTokens(grpc::ServerContext* context,
                              const v1::ClassifyTokensRequest* request,
                              v1::ClassifyTokensResponse* response) override;

  // Every context answers with itself; `top` more times with nothing.
  grpc::Status Answer(grpc::ServerContext* context,
                      const v1::AnswerRequest* request,
                      v1::AnswerResponse* response) override;

  // The total tells how long context and target are.
  grpc::Status Score(grpc::ServerContext* context,
                     const v1::ScoreRequest* request,
                     v1::ScoreResponse* response) override;

  // Two masks a text, of which each has two candidates.
  grpc::Status FillMask(grpc::ServerContext* context,
                        const v1::FillMaskRequest* request,
                        v1::FillMaskResponse* response) override;

  grpc::Status Translate(grpc::ServerContext* context,
                         const v1::TranslateRequest* request,
                         v1::TranslateResponse* response) override;

  grpc::Status TranslateStream(
      grpc::ServerContext* context,
      grpc::ServerReaderWriter<v1::TranslateStreamResponse,
                               v1::TranslateStreamRequest>* stream) override;

  // "one two", two tokens, or with max_new_tokens 1 the first of them.
  grpc::Status Generate(
      grpc::ServerContext* context, const v1::GenerateRequest* request,
      grpc::ServerWriter<v1::GenerateResponse>* writer) override;

  grpc::Status Tokenize(grpc::ServerContext* context,
                        const v1::TokenizeRequest* request,
                        v1::TokenizeResponse* response) override;

  grpc::Status ListModels(grpc::ServerContext* context,
                          const v1::ListModelsRequest*,
                          v1::ListModelsResponse* response) override;

  grpc::Status GetModel(grpc::ServerContext* context,
                        const v1::GetModelRequest* request,
                        v1::Model* response) override;

  grpc::Status Check(grpc::ServerContext* context,
                     const grpc::health::v1::HealthCheckRequest*,
                     grpc::health::v1::HealthCheckResponse* response) override;

 private:
  static constexpr int kLayers = 3, kHeads = 2;

  grpc::Status Begin(grpc::ServerContext* context);

  // Calls come on several threads.
  template <typename Message>
  void Keep(const Message& message, Message* last) {
    MutexLock lock(&last_mutex_);
    *last = message;
  }

  v1::TranslateResult TranslationOf(const v1::Input& input) const;
  // Row q sees `seen` + q keys.
  v1::Attention Attend(const v1::AttentionSelection& selection, int queries,
                       int keys, int seen);
  v1::Model ModelNamed(const std::string& name) const;

  Mutex last_mutex_;
  std::unique_ptr<grpc::Server> server_;
  std::string address_;
};

}  // namespace trivium

#endif  // TRIVIUM_TESTS_CLIENT_FAKE_SERVER_H_
