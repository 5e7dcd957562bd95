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
  // To be read while no call runs.
  std::string last_priority, last_conversation;  // from the metadata
  v1::EncodeRequest last_encode;
  v1::TranslateRequest last_translate;
  v1::ScoreRequest last_score;
  v1::RerankRequest last_rerank;
  v1::SimilarityRequest last_similarity;
  v1::GenerateRequest last_generate;
  v1::TranslateStreamRequest::Start last_start;
  int largest_attention_bytes = 0;
  // The status that every call returns; OK: calls are answered.
  grpc::Status refusal;
  // Calls after this many are refused, as a full server does.
  std::atomic<int> calls_left{std::numeric_limits<int>::max()};
  grpc::health::v1::HealthCheckResponse::ServingStatus health =
      grpc::health::v1::HealthCheckResponse::SERVING;
  // A TranslateStream holds its results back until it has this many, then sends
  // them in reverse order; 0: sends them at once, in order.
  int reverse = 0;
  // A TranslateStream ends with OK after this many items; -1: after its last
  // item.
  int end_after = -1;
  // If true, calls get no answer until the client goes away.
  bool hang = false;
  // If true, a Generate stops after its first piece.
  std::atomic<bool> hang_in_generate{false};
  std::string chat_refusal = "";  // if set, why no model takes chats
  std::string newline = "";       // appended to every translation
  // What the models report of themselves.
  v1::Design design = v1::DESIGN_ENCODER_DECODER;
  uint64_t max_response_bytes = 4 << 20;
  uint32_t kv_head_count = 0;
  std::vector<uint32_t> attention_windows;
  v1::BeamTrace trace;  // returned with a traced translation

  // The attention weights of the fake's models: a number that identifies its
  // place.
  static float Weight(int layer, int head, int query, int key);
  // Pieces are words, each with the space after it.
  static std::vector<std::string> Pieces(const std::string& text);
  // Returns INVALID_ARGUMENT with the field's name.
  static grpc::Status BadRequest(const std::string& field);

  grpc::Status Encode(grpc::ServerContext* context,
                      const v1::EncodeRequest* request,
                      v1::EncodeResponse* response) override;

  // Each label's score depends on the input.
  grpc::Status Classify(grpc::ServerContext* context,
                        const v1::ClassifyRequest* request,
                        v1::ClassifyResponse* response) override;

  // Later documents come first; the score is the index. The document "bad" is
  // refused.
  grpc::Status Rerank(grpc::ServerContext* context,
                      const v1::RerankRequest* request,
                      v1::RerankResponse* response) override;

  // Every score is 0.5.
  grpc::Status Similarity(grpc::ServerContext* context,
                          const v1::SimilarityRequest* request,
                          v1::SimilarityResponse* response) override;

  // Returns one span over the whole text.
  grpc::Status ClassifyTokens(grpc::ServerContext* context,
                              const v1::ClassifyTokensRequest* request,
                              v1::ClassifyTokensResponse* response) override;

  // The first answer is the whole context; the others, up to `top`, are empty.
  grpc::Status Answer(grpc::ServerContext* context,
                      const v1::AnswerRequest* request,
                      v1::AnswerResponse* response) override;

  // The total encodes the lengths of context and target.
  grpc::Status Score(grpc::ServerContext* context,
                     const v1::ScoreRequest* request,
                     v1::ScoreResponse* response) override;

  // Returns two masks for each text, with two candidates each.
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

  // Generates "one two", two tokens, or only the first if max_new_tokens is 1.
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

  // Under a lock, since calls arrive on several threads.
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
