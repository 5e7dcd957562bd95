#include "tests/client/fake_server.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "fmt/format.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace trivium {
namespace {

// Returns the value of a metadata key; empty if there is none.
std::string Metadata(const grpc::ServerContext& context, const char* key) {
  const auto entry = context.client_metadata().find(key);
  if (entry == context.client_metadata().end()) return "";
  return {entry->second.data(), entry->second.size()};
}

}  // namespace

FakeServer::FakeServer() {
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

float FakeServer::Weight(int layer, int head, int query, int key) {
  return static_cast<float>((layer * 41 + head * 29 + query * 7 + key) % 101) /
         100;
}

std::vector<std::string> FakeServer::Pieces(const std::string& text) {
  std::vector<std::string> pieces(1);
  for (const char c : text) {
    pieces.back() += c;
    if (c == ' ') pieces.emplace_back();
  }
  return pieces;
}

grpc::Status FakeServer::BadRequest(const std::string& field) {
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

grpc::Status FakeServer::Encode(grpc::ServerContext* context,
                                const v1::EncodeRequest* request,
                                v1::EncodeResponse* response) {
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

grpc::Status FakeServer::Translate(grpc::ServerContext* context,
                                   const v1::TranslateRequest* request,
                                   v1::TranslateResponse* response) {
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

grpc::Status FakeServer::TranslateStream(
    grpc::ServerContext* context,
    grpc::ServerReaderWriter<v1::TranslateStreamResponse,
                             v1::TranslateStreamRequest>* stream) {
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

grpc::Status FakeServer::Generate(
    grpc::ServerContext* context, const v1::GenerateRequest* request,
    grpc::ServerWriter<v1::GenerateResponse>* writer) {
  Keep(*request, &last_generate);
  if (grpc::Status status = Begin(context); !status.ok()) return status;
  if (request->input().text() == "bad") return BadRequest("input.text");
  if (request->chat().messages_size() > 0 &&
      request->chat().messages().rbegin()->content() == "bad") {
    return BadRequest("chat");
  }
  const uint32_t count =
      std::max<uint32_t>(1, request->decoding().num_hypotheses());
  const v1::Input& input = request->input();
  const int prompt = input.has_ids()
                         ? input.ids().ids_size()
                         : static_cast<int>(Pieces(input.text()).size());
  std::vector<std::string> pieces = {"one", " two" + newline};
  if (request->decoding().max_new_tokens() == 1) pieces.pop_back();
  // The hypotheses' pieces interleave.
  for (const std::string& piece : pieces) {
    for (uint32_t i = 0; i < count; ++i) {
      v1::GenerateResponse response;
      response.set_index(count - 1 - i);
      response.mutable_piece()->set_text(
          piece + (count > 1 ? std::to_string(count - 1 - i) : ""));
      if (request->decoding().top_logprobs() > 0) {
        v1::TokenLogprob* token =
            response.mutable_piece()->add_logprobs()->mutable_token();
        token->set_id(static_cast<uint32_t>(piece.size()));
        token->set_piece(piece);
      }
      writer->Write(response);
    }
    while (hang_in_generate && !context->IsCancelled()) {
      std::this_thread::yield();
    }
  }
  // Tools are called until there is a result.
  if (!request->chat().tools().empty() &&
      request->chat().messages().rbegin()->role() != "tool") {
    v1::GenerateResponse response;
    response.mutable_piece()->set_reasoning("hm");
    auto* const call = response.mutable_piece()->add_tool_calls();
    call->set_name("sum");
    call->set_id("c1");
    call->set_arguments("{\"a\": ");
    writer->Write(response);
    response.Clear();
    response.mutable_piece()->add_tool_calls()->set_arguments("1}");
    writer->Write(response);
  }
  for (uint32_t i = 0; i < count; ++i) {
    v1::GenerateResponse response;
    response.set_index(i);
    v1::GenerateResponse::Done* done = response.mutable_done();
    done->set_token_count(static_cast<uint32_t>(pieces.size()));
    done->set_source_token_count(static_cast<uint32_t>(prompt));
    if (request->has_decoder_attention()) {
      const int read = prompt + static_cast<int>(pieces.size()) - 1;
      *done->mutable_decoder_attention() =
          Attend(request->decoder_attention(), read, read, 1);
    }
    writer->Write(response);
  }
  return grpc::Status::OK;
}

grpc::Status FakeServer::Tokenize(grpc::ServerContext* context,
                                  const v1::TokenizeRequest* request,
                                  v1::TokenizeResponse* response) {
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

grpc::Status FakeServer::ListModels(grpc::ServerContext* context,
                                    const v1::ListModelsRequest*,
                                    v1::ListModelsResponse* response) {
  *response->add_models() = ModelNamed("first");
  *response->add_models() = ModelNamed("second");
  return Begin(context);
}

grpc::Status FakeServer::GetModel(grpc::ServerContext* context,
                                  const v1::GetModelRequest* request,
                                  v1::Model* response) {
  *response = ModelNamed(request->name());
  return Begin(context);
}

grpc::Status FakeServer::Check(
    grpc::ServerContext* context, const grpc::health::v1::HealthCheckRequest*,
    grpc::health::v1::HealthCheckResponse* response) {
  response->set_status(health);
  return Begin(context);
}

grpc::Status FakeServer::Begin(grpc::ServerContext* context) {
  context->AddTrailingMetadata("x-request-id", "r-17");
  Keep(Metadata(*context, "trivium-priority"), &last_priority);
  Keep(Metadata(*context, "x-conversation"), &last_conversation);
  while (hang && !context->IsCancelled()) {
    std::this_thread::yield();
  }
  if (--calls_left < 0) {
    return {grpc::StatusCode::RESOURCE_EXHAUSTED, "no calls left"};
  }
  return refusal;
}

v1::TranslateResult FakeServer::TranslationOf(const v1::Input& input) const {
  v1::TranslateResult result;
  v1::Hypothesis* hypothesis = result.add_hypotheses();
  hypothesis->set_text("<" + input.text() + ">" + newline);
  hypothesis->set_token_count(4);
  result.set_source_token_count(3);
  return result;
}

v1::Attention FakeServer::Attend(const v1::AttentionSelection& selection,
                                 int queries, int keys, int seen) {
  const auto chosen = [](const auto& some, int all) {
    std::vector<int> numbers(some.begin(), some.end());
    for (int i = 0; some.empty() && i < all; ++i) numbers.push_back(i);
    return numbers;
  };
  const std::vector<int> layers = chosen(selection.layers(), kLayers);
  const std::vector<int> heads = chosen(selection.heads(), kHeads);
  const std::vector<int> rows = chosen(selection.rows(), queries);
  v1::Attention attention;
  attention.set_layer_count(static_cast<uint32_t>(layers.size()));
  attention.set_head_count(static_cast<uint32_t>(heads.size()));
  attention.set_query_count(static_cast<uint32_t>(rows.size()));
  attention.set_key_count(static_cast<uint32_t>(keys));
  for (const int layer : layers) {
    for (const int head : heads) {
      for (const int row : rows) {
        for (int key = 0; key < keys; ++key) {
          attention.add_weights(key < seen + row ? Weight(layer, head, row, key)
                                                 : 0);
        }
      }
    }
  }
  MutexLock lock(&last_mutex_);
  largest_attention_bytes =
      std::max(largest_attention_bytes, 4 * attention.weights_size());
  return attention;
}

v1::Model FakeServer::ModelNamed(const std::string& name) const {
  v1::Model model;
  model.set_name(name);
  model.set_family("marian");
  model.set_design(design);
  model.set_encoder_layer_count(kLayers);
  if (design != v1::DESIGN_ENCODER) model.set_decoder_layer_count(kLayers);
  model.set_head_count(kHeads);
  model.set_kv_head_count(kv_head_count);
  model.mutable_attention_windows()->Add(attention_windows.begin(),
                                         attention_windows.end());
  model.set_default_target_language("de");
  model.mutable_limits()->set_max_response_bytes(max_response_bytes);
  model.set_precision(v1::PRECISION_INT8);
  model.add_source_languages()->set_bcp47("en");
  model.add_target_languages()->set_code("de");
  model.add_calls("Encode");
  model.add_calls("Translate");
  model.set_chat_refusal(chat_refusal);
  if (chat_refusal.empty()) model.add_chat_templates("default");
  return model;
}

}  // namespace trivium
