// Each hypothesis has a GeneratedText, which counts the tokens that it was
// given. While the model runs, AddTokens makes messages of new tokens. AddEnd
// makes messages of all that were not streamed, so each hypothesis is told
// whole, however much of it was streamed. The last messages come in this order:
// the prompt's log-probabilities; for each hypothesis its rest and its `done`.
// The last `done` has the usage of all.
#include "server/calls/generation.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "base/status.h"
#include "server/errors/status.h"

namespace trivium {
namespace {

// Few enough that every message is far below the response limit.
constexpr size_t kMaxTokensPerPiece = 64;

absl::Status CheckPromptLogprobs(const v1::GenerateRequest& request,
                                 const Model& model,
                                 const RequestLimits& limits) {
  if (!request.has_prompt_logprobs()) return absl::OkStatus();
  if (model.info().design != Design::kDecoder) {
    return InvalidField("prompt_logprobs",
                        "is of a prompt, and this model has a source instead; "
                        "Score tells how probable a translation is");
  }
  const uint32_t most = static_cast<uint32_t>(limits.max_top_logprobs);
  if (request.prompt_logprobs() <= most) return absl::OkStatus();
  return InvalidField("prompt_logprobs",
                      fmt::format("is {}; it must be in 0 .. {}",
                                  request.prompt_logprobs(), most));
}

}  // namespace

int64_t Generation::text_bytes() const {
  if (!request_.has_chat()) return TextBytes(request_.input());
  // A template is a program, so it must not run on the transport's thread.
  return std::max<int64_t>(request_.chat().ByteSizeLong(),
                           kInlineTextBytes + 1);
}

absl::Status Generation::Open(Transport* transport) {
  const Environment& environment = call_->environment();
  const RequestLimits& limits = environment.limits;
  TRIVIUM_RETURN_IF_ERROR(call_->Open(transport, &request_));
  const Model& model = *call_->model().model;
  if (model.info().design == Design::kEncoder) {
    return absl::FailedPreconditionError(fmt::format(
        "the model '{}' has no decoder, so it cannot Generate; GetModel tells "
        "the calls it serves",
        call_->model().name));
  }
  TRIVIUM_ASSIGN_OR_RETURN(options_.direction,
                           ConvertDirection(request_, "", model));
  TRIVIUM_ASSIGN_OR_RETURN(decoding_,
                           ConvertDecoding(request_.decoding(), "decoding",
                                           options_.direction, model, limits));
  if (decoding_.options.trace) {
    return InvalidField("decoding.trace",
                        "is for Translate: a stream of text has no trace");
  }
  TRIVIUM_RETURN_IF_ERROR(CheckSalt(request_.cache_salt()));
  TRIVIUM_RETURN_IF_ERROR(CheckPromptLogprobs(request_, model, limits));
  if (request_.has_decoder_attention()) {
    TRIVIUM_ASSIGN_OR_RETURN(
        attention_, ConvertDecoderSelection(request_.decoder_attention(),
                                            "decoder_attention", model.info()));
  }
  if (request_.has_chat()) {
    if (request_.has_input()) {
      return InvalidField("chat", "is set beside input; send only one of them");
    }
    if (request_.truncate()) {
      return InvalidField("truncate",
                          "is not for chats, whose end is what is answered; "
                          "send fewer messages");
    }
  } else if (model.info().design == Design::kDecoder &&
             request_.input().input_case() == v1::Input::INPUT_NOT_SET) {
    return InvalidField("input", "is empty; set text or ids, or send a chat");
  }
  options_.model = &model;
  options_.limits = &limits;
  TRIVIUM_RETURN_IF_ERROR(
      ConvertTruncation(request_, "", environment, call_->model(), &options_));
  options_.decodes = true;
  options_.check_alive = call_->alive_check();
  // Without a tokenizer, the ids are the answer.
  show_ids_ = request_.tokens() || model.tokenizer() == nullptr;
  return absl::OkStatus();
}

absl::StatusOr<Request> Generation::Prepare() {
  if (request_.has_chat()) {
    TRIVIUM_ASSIGN_OR_RETURN(
        input_, ConvertChat(request_.chat(), "chat",
                            call_->environment().clock->Now(), options_));
  } else {
    TRIVIUM_ASSIGN_OR_RETURN(input_,
                             ConvertInput(request_.input(), "input", options_));
  }
  const Model& model = *options_.model;
  const std::vector<int32_t> prompt =
      prompted() ? input_.prefix : std::vector<int32_t>();
  for (int i = 0; i < hypotheses(); ++i) {
    texts_.emplace_back(model.tokenizer(), prompt, decoding_.stop,
                        decoding_.options.stop_ids);
  }
  Request request;
  if (input_.blank) return request;
  TRIVIUM_ASSIGN_OR_RETURN(request.decoding,
                           ForInput(decoding_, input_, options_.direction,
                                    /*per_source=*/false, field(), model));
  request.default_max_new_tokens = decoding_.default_max_new_tokens;
  request.source = input_.source;
  request.prefix = input_.prefix;
  request.salt = request_.cache_salt();
  // The first token has no context, so it has no probability.
  if (request_.has_prompt_logprobs() && input_.prefix.size() > 1) {
    request.scoring =
        Scoring{.top_logprobs = static_cast<int>(request_.prompt_logprobs())};
  }
  if (attention_) AskForAttention(&request);
  request.stop = decoding_.matcher;
  if (prompted() && request.stop != nullptr) {
    request.stop = std::make_shared<StopStringMatcher>(
        decoding_.stop,
        [tokenizer = model.tokenizer(), prompt](std::span<const int32_t> ids) {
          ContinuedText text(*tokenizer, prompt);
          std::string whole;
          for (const int32_t id : ids) whole += text.Push(id);
          return whole + text.Finish();
        });
  }
  // Alternatives are known only once a hypothesis is complete, so the text that
  // comes with them is not streamed.
  request.stream = decoding_.options.top_logprobs == 0;
  return request;
}

void Generation::AskForAttention(Request* request) {
  const ModelInfo& info = options_.model->info();
  const int64_t read = static_cast<int64_t>(request->prefix.size()) +
                       request->decoding->max_new_tokens - 1;
  response_bytes_ =
      hypotheses() * AttentionBytes(*attention_, info.decoder_layers,
                                    info.decoder_heads,
                                    /*queries=*/read,
                                    /*keys=*/read);
  request->decoder_attention = attention_->maps;
  request->prefix_attention = true;
}

v1::GenerateResponse* Generation::AddMessage(int index) {
  auto message = std::make_unique<v1::GenerateResponse>();
  message->set_index(static_cast<uint32_t>(index));
  return messages_.emplace_back(std::move(message)).get();
}

void Generation::AddPieces(int index, std::span<const int32_t> ids,
                           const Hypothesis* whole) {
  GeneratedText& text = texts_[index];
  while (!ids.empty()) {
    const auto some = ids.first(std::min(ids.size(), kMaxTokensPerPiece));
    const size_t begin = text.count();
    v1::GenerateResponse::Piece* piece = AddMessage(index)->mutable_piece();
    piece->set_text(text.Push(some));
    if (show_ids_) piece->mutable_ids()->Add(some.begin(), some.end());
    if (whole != nullptr && !whole->top_logprobs.empty()) {
      for (size_t i = begin; i < begin + some.size(); ++i) {
        *piece->add_logprobs() = ConvertLogprobs(
            whole->ids[i], whole->logprobs[i], whole->top_logprobs[i],
            options_.model->tokenizer());
      }
    }
    ids = ids.subspan(some.size());
    if (piece->text().empty() && piece->ids().empty() &&
        piece->logprobs().empty()) {
      messages_.pop_back();
    }
  }
}

void Generation::AddPrompt(const Hypothesis& scored) {
  for (size_t i = 0; i < scored.ids.size(); ++i) {
    if (i % kMaxTokensPerPiece == 0) AddMessage(0);
    *messages_.back()->mutable_prompt()->add_logprobs() = ConvertLogprobs(
        scored.ids[i], scored.logprobs[i],
        scored.top_logprobs.empty() ? std::vector<TokenLogprob>()
                                    : scored.top_logprobs[i],
        options_.model->tokenizer());
  }
}

void Generation::AddEnd(RequestResult result) {
  complete_ = true;
  if (!input_.blank) call_->AddResult(result, /*model=*/nullptr);
  if (result.scored) AddPrompt(*result.scored);
  Hypothesis nothing;  // the answer to blank text
  nothing.reason = FinishReason::kEnd;
  result.hypotheses.resize(texts_.size(), nothing);
  for (size_t i = 0; i < texts_.size(); ++i) {
    const Hypothesis& hypothesis = result.hypotheses[i];
    const int index = static_cast<int>(i);
    const size_t said = std::min(texts_[i].count(), hypothesis.ids.size());
    AddPieces(index, std::span(hypothesis.ids).subspan(said), &hypothesis);
    if (std::string rest = texts_[i].Finish(); !rest.empty()) {
      AddMessage(index)->mutable_piece()->set_text(std::move(rest));
    }
    AddDone(index, hypothesis,
            i < result.decoder_attention.size() ? &result.decoder_attention[i]
                                                : nullptr);
  }
  v1::Usage* usage = messages_.back()->mutable_done()->mutable_usage();
  usage->set_prompt_tokens(PromptTokens());
  size_t new_tokens = 0;
  for (const GeneratedText& text : texts_) new_tokens += text.count();
  usage->set_new_tokens(static_cast<uint32_t>(new_tokens));
  if (prompted()) {
    usage->set_cached_tokens(static_cast<uint32_t>(result.cached_tokens));
  }
}

uint32_t Generation::PromptTokens() const {
  return static_cast<uint32_t>(prompted() ? input_.prefix.size()
                                          : input_.source.ids.size());
}

void Generation::AddDone(int index, const Hypothesis& hypothesis,
                         const AttentionMap* map) {
  v1::GenerateResponse::Done* done = AddMessage(index)->mutable_done();
  done->set_finish_reason(ConvertFinishReason(hypothesis.reason));
  done->set_token_count(static_cast<uint32_t>(hypothesis.ids.size()));
  done->set_score(hypothesis.score);
  done->set_total_logprob(hypothesis.log_probability);
  done->set_source_token_count(PromptTokens());
  done->set_truncated_tokens(static_cast<uint32_t>(input_.truncated));
  if (map != nullptr) {
    *done->mutable_decoder_attention() =
        ConvertAttention(*map, attention_->rows);
  }
  if (decoding_.options.sample) done->set_seed(decoding_.options.seed);
  WriteTimingsAndModel(call_->timings(), call_->model(), done);
}

}  // namespace trivium
