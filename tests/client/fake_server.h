#ifndef TRIVIUM_TESTS_CLIENT_FAKE_SERVER_H_
#define TRIVIUM_TESTS_CLIENT_FAKE_SERVER_H_

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "fmt/format.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
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
  FakeServer() {
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(),
                             &port);
    builder.RegisterService(static_cast<v1::Inference::Service*>(this));
    builder.RegisterService(static_cast<v1::Models::Service*>(this));
    builder.RegisterService(
        static_cast<grpc::health::v1::Health::Service*>(this));
    server_ = builder.BuildAndStart();
    address_ = fmt::format("127.0.0.1:{}", port);
  }
  ~FakeServer() override { Stop(); }

  void Stop() {
    server_->Shutdown(std::chrono::system_clock::now());
    server_->Wait();
  }

  const std::string& address() const { return address_; }

  std::atomic<int> translate_calls{0}, encode_calls{0}, tokenize_calls{0};
  // Read them when no call runs.
  v1::EncodeRequest last_encode;
  v1::TranslateRequest last_translate;
  v1::GenerateRequest last_generate;
  v1::TranslateStreamRequest::Start last_start;
  // What every call answers first; OK: it goes on.
  grpc::Status refusal;
  grpc::health::v1::HealthCheckResponse::ServingStatus health =
      grpc::health::v1::HealthCheckResponse::SERVING;
  // A TranslateStream holds its results back until it has these many and then
  // sends them last first; 0: at once, in order.
  int reverse = 0;
  // A TranslateStream ends with OK after this many items; -1: with its items.
  int end_after = -1;
  // Calls that get no answer until the client goes away.
  bool hang = false;
  std::string newline = "";  // appended to every translation
  // What the models tell of themselves.
  v1::Design design = v1::DESIGN_ENCODER_DECODER;
  uint64_t max_response_bytes = 4 << 20;
  int largest_attention_bytes = 0;  // that was sent
  v1::BeamTrace trace;              // what a traced translation gets

  // The attention that the fake's models pay: any number that tells its place.
  static float Weight(int layer, int head, int query, int key) {
    return static_cast<float>((layer * 41 + head * 29 + query * 7 + key) %
                              101) /
           100;
  }
  // The fake's pieces are words, each with the space after it.
  static std::vector<std::string> Pieces(const std::string& text) {
    std::vector<std::string> pieces(1);
    for (const char c : text) {
      pieces.back() += c;
      if (c == ' ') pieces.emplace_back();
    }
    return pieces;
  }

  static grpc::Status BadRequest(const std::string& field) {
    google::rpc::BadRequest bad;
    auto* violation = bad.add_field_violations();
    violation->set_field(field);
    violation->set_description("is bad");
    google::rpc::Status status;
    status.set_code(3);
    status.set_message("the request is wrong");
    status.add_details()->PackFrom(bad);
    return grpc::Status(grpc::StatusCode::INVALID_ARGUMENT,
                        "the request is wrong", status.SerializeAsString());
  }

  grpc::Status Encode(grpc::ServerContext* context,
                      const v1::EncodeRequest* request,
                      v1::EncodeResponse* response) override {
    ++encode_calls;
    Keep(*request, &last_encode);
    if (grpc::Status status = Begin(context); !status.ok()) return status;
    for (int i = 0; i < request->inputs_size(); ++i) {
      const std::string& text = request->inputs(i).text();
      if (text == "bad") return BadRequest(fmt::format("inputs[{}].text", i));
      v1::EncodeResult* result = response->add_results();
      result->add_embedding(static_cast<float>(text.size()));
      result->add_embedding(0.1f);
      result->set_token_count(3);
      if (!request->tokens() && !request->has_attention()) continue;
      std::vector<std::string> pieces =
          Pieces(text + request->inputs(i).pair().first());
      if (request->inputs(i).has_pair()) {
        for (auto& piece : Pieces(request->inputs(i).pair().second())) {
          pieces.push_back(std::move(piece));
        }
      }
      const int tokens = static_cast<int>(pieces.size());
      result->set_token_count(tokens);
      if (request->tokens()) {
        result->mutable_pieces()->Add(pieces.begin(), pieces.end());
      }
      if (request->has_attention()) {
        *result->mutable_attention() =
            Attend(request->attention(), tokens, tokens, tokens);
      }
    }
    return grpc::Status::OK;
  }

  // Each label's score tells something of the input.
  grpc::Status Classify(grpc::ServerContext* context,
                        const v1::ClassifyRequest* request,
                        v1::ClassifyResponse* response) override {
    if (grpc::Status status = Begin(context); !status.ok()) return status;
    for (int i = 0; i < request->inputs_size(); ++i) {
      const v1::Input& input = request->inputs(i);
      if (input.text() == "bad") {
        return BadRequest(fmt::format("inputs[{}].text", i));
      }
      v1::Classification* result = response->add_results();
      for (const std::string& text :
           {input.has_pair() ? input.pair().first() : input.text(),
            input.pair().second()}) {
        v1::Label* label = result->add_labels();
        label->set_label("<" + text + ">");
        label->set_score(0.5f);
      }
    }
    return grpc::Status::OK;
  }

  // A span over the whole text.
  grpc::Status ClassifyTokens(grpc::ServerContext* context,
                              const v1::ClassifyTokensRequest* request,
                              v1::ClassifyTokensResponse* response) override {
    if (grpc::Status status = Begin(context); !status.ok()) return status;
    for (const v1::Input& input : request->inputs()) {
      auto* span = response->add_results()->add_spans();
      span->set_label("ALL");
      span->set_text(input.text());
      span->set_score(0.25f);
    }
    return grpc::Status::OK;
  }

  // Every context answers with itself; `top` more times with nothing.
  grpc::Status Answer(grpc::ServerContext* context,
                      const v1::AnswerRequest* request,
                      v1::AnswerResponse* response) override {
    if (grpc::Status status = Begin(context); !status.ok()) return status;
    for (const auto& input : request->inputs()) {
      v1::Answers* result = response->add_results();
      auto* answer = result->add_answers();
      answer->set_text(input.question() + "=" + input.context());
      answer->set_score(0.75f);
      if (!request->no_answer()) continue;
      for (uint32_t i = 0; i < request->top(); ++i) {
        result->add_answers()->set_no_answer(true);
      }
    }
    return grpc::Status::OK;
  }

  // Two masks a text, of which each has two candidates.
  grpc::Status FillMask(grpc::ServerContext* context,
                        const v1::FillMaskRequest* request,
                        v1::FillMaskResponse* response) override {
    if (grpc::Status status = Begin(context); !status.ok()) return status;
    for (const v1::Input& input : request->inputs()) {
      v1::FilledMasks* result = response->add_results();
      for (int mask = 0; mask < 2; ++mask) {
        v1::FilledMasks::Mask* filled = result->add_masks();
        for (const char* end : {"a", "b"}) {
          auto* candidate = filled->add_candidates();
          candidate->set_text(input.text() + end);
          candidate->set_score(1);
        }
      }
    }
    return grpc::Status::OK;
  }

  grpc::Status Translate(grpc::ServerContext* context,
                         const v1::TranslateRequest* request,
                         v1::TranslateResponse* response) override {
    ++translate_calls;
    Keep(*request, &last_translate);
    if (grpc::Status status = Begin(context); !status.ok()) return status;
    for (const v1::Input& input : request->inputs()) {
      v1::TranslateResult* result = response->add_results();
      *result = TranslationOf(input);
      const v1::TranslateOptions& options = request->options();
      v1::Hypothesis* hypothesis = result->mutable_hypotheses(0);
      const auto words = Pieces(input.text());
      const int tokens = static_cast<int>(words.size());
      if (options.tokens()) {
        hypothesis->set_token_count(tokens);
        result->set_source_token_count(tokens);
        for (const std::string& word : words) {
          result->add_source_pieces(word);
          hypothesis->add_pieces("<" + word + ">");
        }
        result->add_prefix_pieces("<s>");
      }
      if (options.has_cross_attention()) {
        *hypothesis->mutable_cross_attention() =
            Attend(options.cross_attention(), tokens, tokens, tokens);
      }
      if (options.has_decoder_attention()) {
        *hypothesis->mutable_decoder_attention() =
            Attend(options.decoder_attention(), tokens, tokens, 1);
      }
      if (options.decoding().trace()) *result->mutable_beam_trace() = trace;
    }
    return grpc::Status::OK;
  }

  grpc::Status TranslateStream(
      grpc::ServerContext* context,
      grpc::ServerReaderWriter<v1::TranslateStreamResponse,
                               v1::TranslateStreamRequest>* stream) override {
    if (grpc::Status status = Begin(context); !status.ok()) return status;
    v1::TranslateStreamRequest request;
    stream->Read(&request);
    Keep(request.start(), &last_start);
    std::vector<v1::TranslateStreamResponse> held;
    const auto flush = [&] {
      for (auto it = held.rbegin(); it != held.rend(); ++it) stream->Write(*it);
      held.clear();
    };
    for (int items = 0; items != end_after && stream->Read(&request); ++items) {
      v1::TranslateStreamResponse response;
      response.set_id(request.item().id());
      if (request.item().input().text() == "bad") {
        response.mutable_error()->set_code(3);
        response.mutable_error()->set_message("input.text is bad");
      } else {
        *response.mutable_result() = TranslationOf(request.item().input());
      }
      held.push_back(std::move(response));
      if (static_cast<int>(held.size()) >= reverse) flush();
    }
    flush();
    return grpc::Status::OK;
  }

  grpc::Status Generate(
      grpc::ServerContext* context, const v1::GenerateRequest* request,
      grpc::ServerWriter<v1::GenerateResponse>* writer) override {
    Keep(*request, &last_generate);
    if (grpc::Status status = Begin(context); !status.ok()) return status;
    if (request->input().text() == "bad") return BadRequest("input.text");
    const uint32_t count =
        std::max<uint32_t>(1, request->decoding().hypotheses());
    // The hypotheses' pieces interleave.
    for (const std::string& piece : {std::string("one"), " two" + newline}) {
      for (uint32_t i = 0; i < count; ++i) {
        v1::GenerateResponse response;
        response.set_index(count - 1 - i);
        response.mutable_piece()->set_text(
            piece + (count > 1 ? std::to_string(count - 1 - i) : ""));
        writer->Write(response);
      }
    }
    for (uint32_t i = 0; i < count; ++i) {
      v1::GenerateResponse response;
      response.set_index(i);
      response.mutable_done()->set_token_count(2);
      response.mutable_done()->set_source_token_count(5);
      writer->Write(response);
    }
    return grpc::Status::OK;
  }

  grpc::Status Tokenize(grpc::ServerContext* context,
                        const v1::TokenizeRequest* request,
                        v1::TokenizeResponse* response) override {
    ++tokenize_calls;
    if (grpc::Status status = Begin(context); !status.ok()) return status;
    for (const std::string& text : request->texts()) {
      v1::TokenizedText* result = response->add_results();
      for (const std::string& piece : Pieces(text)) {
        v1::Token* token = result->add_tokens();
        token->set_piece(piece);
        token->set_id(7);
      }
    }
    return grpc::Status::OK;
  }

  grpc::Status ListModels(grpc::ServerContext* context,
                          const v1::ListModelsRequest*,
                          v1::ListModelsResponse* response) override {
    *response->add_models() = ModelNamed("first");
    *response->add_models() = ModelNamed("second");
    return Begin(context);
  }

  grpc::Status GetModel(grpc::ServerContext* context,
                        const v1::GetModelRequest* request,
                        v1::Model* response) override {
    *response = ModelNamed(request->name());
    return Begin(context);
  }

  grpc::Status Check(grpc::ServerContext* context,
                     const grpc::health::v1::HealthCheckRequest*,
                     grpc::health::v1::HealthCheckResponse* response) override {
    response->set_status(health);
    return Begin(context);
  }

 private:
  static constexpr int kLayers = 3, kHeads = 2;

  grpc::Status Begin(grpc::ServerContext* context) {
    context->AddTrailingMetadata("x-request-id", "r-17");
    while (hang && !context->IsCancelled()) {
      std::this_thread::yield();
    }
    return refusal;
  }

  // Calls come on several threads.
  template <typename Message>
  void Keep(const Message& message, Message* last) {
    MutexLock lock(&last_mutex_);
    *last = message;
  }

  v1::TranslateResult TranslationOf(const v1::Input& input) const {
    v1::TranslateResult result;
    v1::Hypothesis* hypothesis = result.add_hypotheses();
    hypothesis->set_text("<" + input.text() + ">" + newline);
    hypothesis->set_token_count(4);
    result.set_source_token_count(3);
    return result;
  }

  // Row q sees `seen` + q keys.
  v1::Attention Attend(const v1::AttentionSelection& selection, int queries,
                       int keys, int seen) {
    const auto chosen = [](const auto& some, int all) {
      std::vector<int> numbers(some.begin(), some.end());
      for (int i = 0; some.empty() && i < all; ++i) numbers.push_back(i);
      return numbers;
    };
    const std::vector<int> layers = chosen(selection.layers(), kLayers);
    const std::vector<int> heads = chosen(selection.heads(), kHeads);
    const std::vector<int> rows = chosen(selection.rows(), queries);
    v1::Attention attention;
    attention.set_layers(static_cast<uint32_t>(layers.size()));
    attention.set_heads(static_cast<uint32_t>(heads.size()));
    attention.set_queries(static_cast<uint32_t>(rows.size()));
    attention.set_keys(static_cast<uint32_t>(keys));
    for (const int layer : layers) {
      for (const int head : heads) {
        for (const int row : rows) {
          for (int key = 0; key < keys; ++key) {
            attention.add_weights(
                key < seen + row ? Weight(layer, head, row, key) : 0);
          }
        }
      }
    }
    largest_attention_bytes =
        std::max(largest_attention_bytes, 4 * attention.weights_size());
    return attention;
  }

  v1::Model ModelNamed(const std::string& name) const {
    v1::Model model;
    model.set_name(name);
    model.set_family("marian");
    model.set_design(design);
    model.set_encoder_layers(kLayers);
    if (design != v1::DESIGN_ENCODER) model.set_decoder_layers(kLayers);
    model.set_heads(kHeads);
    model.mutable_limits()->set_max_response_bytes(max_response_bytes);
    model.set_precision(v1::PRECISION_INT8);
    model.add_source_languages()->set_bcp47("en");
    model.add_target_languages()->set_code("de");
    model.add_calls("Encode");
    model.add_calls("Translate");
    return model;
  }

  Mutex last_mutex_;
  std::unique_ptr<grpc::Server> server_;
  std::string address_;
};

}  // namespace trivium

#endif  // TRIVIUM_TESTS_CLIENT_FAKE_SERVER_H_
