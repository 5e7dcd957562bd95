#include "server/calls/convert/generate_messages.h"

#include <algorithm>
#include <string>
#include <vector>

#include "server/calls/convert/call_fields.h"

namespace trivium {
namespace {

// Few enough that every message is far below the response limit.
constexpr size_t kMaxTokensPerPiece = 64;

}  // namespace

GenerateMessages::GenerateMessages(const GenerateJob& job,
                                   const PreparedInput& input)
    : job_(job), input_(input) {
  const std::span<const int32_t> prompt =
      job.prompted() ? std::span<const int32_t>(input.prefix)
                     : std::span<const int32_t>();
  const bool constrained = job.decoding.constraint.has_value();
  std::vector<int32_t> stop_ids = job.decoding.options.stop_ids;
  if (constrained) {
    // In some folders an end token has a text, which is none of the form's.
    const std::vector<int32_t>& end_ids = job.decoding.options.end_ids;
    stop_ids.insert(stop_ids.end(), end_ids.begin(), end_ids.end());
  }
  for (int i = 0; i < job.hypotheses(); ++i) {
    texts_.emplace_back(job.options.model->tokenizer(), prompt, constrained,
                        job.decoding.stop, stop_ids);
  }
}

v1::GenerateResponse* GenerateMessages::AddMessage(int index) {
  auto message = std::make_unique<v1::GenerateResponse>();
  message->set_index(static_cast<uint32_t>(index));
  return messages_.emplace_back(std::move(message)).get();
}

void GenerateMessages::AddTokens(int index, const TokenRun& tokens) {
  GeneratedText& text = texts_[index];
  for (size_t begin = 0; begin < tokens.size(); begin += kMaxTokensPerPiece) {
    const TokenRun some =
        tokens.Part(begin, std::min(tokens.size() - begin, kMaxTokensPerPiece));
    v1::GenerateResponse::Piece* piece = AddMessage(index)->mutable_piece();
    piece->set_text(text.Push(some.ids));
    if (job_.show_ids) {
      piece->mutable_ids()->Add(some.ids.begin(), some.ids.end());
    }
    for (size_t i = 0; i < some.top_logprobs.size(); ++i) {
      *piece->add_logprobs() =
          ConvertLogprobs(some.ids[i], some.logprobs[i], some.top_logprobs[i],
                          job_.options.model->tokenizer());
    }
    if (piece->text().empty() && piece->ids().empty() &&
        piece->logprobs().empty()) {
      messages_.pop_back();
    }
  }
}

void GenerateMessages::AddPrompt(const Hypothesis& scored) {
  for (size_t i = 0; i < scored.ids.size(); ++i) {
    if (i % kMaxTokensPerPiece == 0) AddMessage(0);
    *messages_.back()->mutable_prompt()->add_logprobs() = ConvertLogprobs(
        scored.ids[i], scored.logprobs[i],
        scored.top_logprobs.empty() ? std::vector<TokenLogprob>()
                                    : scored.top_logprobs[i],
        job_.options.model->tokenizer());
  }
}

void GenerateMessages::AddEnd(RequestResult result, const CallTimings& timings,
                              const ServedModel& model) {
  if (result.scored) AddPrompt(*result.scored);
  Hypothesis nothing;  // the answer to blank text
  nothing.reason = FinishReason::kEnd;
  result.hypotheses.resize(texts_.size(), nothing);
  v1::GenerateResponse::Done* done = nullptr;
  for (size_t i = 0; i < texts_.size(); ++i) {
    const Hypothesis& hypothesis = result.hypotheses[i];
    const int index = static_cast<int>(i);
    const size_t said = std::min(texts_[i].count(), hypothesis.ids.size());
    const TokenRun whole = {hypothesis.ids, hypothesis.logprobs,
                            hypothesis.top_logprobs};
    AddTokens(index, whole.Part(said, whole.size() - said));
    if (std::string rest = texts_[i].Finish(); !rest.empty()) {
      AddMessage(index)->mutable_piece()->set_text(std::move(rest));
    }
    done = AddDone(index, hypothesis,
                   i < result.decoder_attention.size()
                       ? &result.decoder_attention[i]
                       : nullptr);
    WriteTimingsAndModel(timings, model, done);
  }
  v1::Usage* usage = done->mutable_usage();
  usage->set_prompt_tokens(PromptTokens());
  size_t new_tokens = 0;
  for (const GeneratedText& text : texts_) new_tokens += text.count();
  usage->set_new_tokens(static_cast<uint32_t>(new_tokens));
  if (job_.prompted()) {
    usage->set_cached_tokens(static_cast<uint32_t>(result.cached_tokens));
  }
}

uint32_t GenerateMessages::PromptTokens() const {
  return static_cast<uint32_t>(job_.prompted() ? input_.prefix.size()
                                               : input_.source.ids.size());
}

v1::GenerateResponse::Done* GenerateMessages::AddDone(
    int index, const Hypothesis& hypothesis, const AttentionMap* map) {
  v1::GenerateResponse::Done* done = AddMessage(index)->mutable_done();
  done->set_finish_reason(ConvertFinishReason(hypothesis.reason));
  done->set_token_count(static_cast<uint32_t>(hypothesis.ids.size()));
  done->set_score(hypothesis.score);
  done->set_total_logprob(hypothesis.log_probability);
  done->set_source_token_count(PromptTokens());
  done->set_truncated_tokens(static_cast<uint32_t>(input_.truncated));
  if (map != nullptr) {
    *done->mutable_decoder_attention() =
        ConvertAttention(*map, job_.attention->rows);
  }
  const DecodingOptions& decoding = job_.decoding.options;
  if (decoding.sample) done->set_seed(decoding.seed);
  return done;
}

}  // namespace trivium
