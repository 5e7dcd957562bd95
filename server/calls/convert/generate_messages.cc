#include "server/calls/convert/generate_messages.h"

#include <algorithm>
#include <string>
#include <vector>

#include "server/calls/convert/call_fields.h"
#include "server/calls/convert/head_trace.h"

namespace trivium {
namespace {

// Few enough that every message is far below the response limit.
constexpr size_t kMaxTokensPerPiece = 64;

using Piece = v1::GenerateResponse::Piece;
using Kind = ChatDelta::Kind;

bool MayFollow(const Piece& piece, Kind kind) {
  switch (kind) {
    case Kind::kReasoning:
      return piece.text().empty() && piece.tool_calls().empty();
    case Kind::kContent:
      return piece.tool_calls().empty();
    case Kind::kCallBegin:
    case Kind::kArguments:
    case Kind::kCallEnd:
      return true;
  }
  return true;
}

// The part of a call that a piece tells: one for each call.
v1::GenerateResponse::ToolCallPiece* CallOf(int index, Piece* piece) {
  const auto number = static_cast<uint32_t>(index);
  if (!piece->tool_calls().empty() &&
      piece->tool_calls().rbegin()->index() == number) {
    return &*piece->mutable_tool_calls()->rbegin();
  }
  v1::GenerateResponse::ToolCallPiece* call = piece->add_tool_calls();
  call->set_index(number);
  return call;
}

void AddDelta(const ChatDelta& delta, Piece* piece) {
  switch (delta.kind) {
    case Kind::kContent:
      piece->mutable_text()->append(delta.text);
      break;
    case Kind::kReasoning:
      piece->mutable_reasoning()->append(delta.text);
      break;
    case Kind::kCallBegin: {
      auto* const call = CallOf(delta.index, piece);
      call->set_name(delta.text);
      call->set_id(delta.id);
      break;
    }
    case Kind::kArguments:
      CallOf(delta.index, piece)->mutable_arguments()->append(delta.text);
      break;
    case Kind::kCallEnd:
      CallOf(delta.index, piece)->set_complete(true);
      break;
  }
}

}  // namespace

GenerateMessages::GenerateMessages(const GenerateJob& job,
                                   const PreparedInput& input,
                                   const AnswerParts* parts)
    : job_(job), input_(input) {
  const std::span<const int32_t> prompt =
      job.prompted() ? std::span<const int32_t>(input.prefix)
                     : std::span<const int32_t>();
  const bool joining =
      parts != nullptr ? parts->held : job.decoding.constraint.has_value();
  std::vector<int32_t> hidden_ids;
  if (!job.decoding.keep_stop) hidden_ids = job.decoding.options.stop_ids;
  if (joining || parts != nullptr) {
    // In some folders an end token has a text, which is none of the answer's.
    const std::vector<int32_t>& end_ids = job.decoding.options.end_ids;
    hidden_ids.insert(hidden_ids.end(), end_ids.begin(), end_ids.end());
  }
  for (int i = 0; i < job.hypotheses(); ++i) {
    texts_.emplace_back(job.options.model->tokenizer(), prompt, joining,
                        job.decoding.stop, job.decoding.keep_stop, hidden_ids,
                        parts != nullptr ? &parts->written : nullptr);
    if (parts != nullptr) readers_.push_back(parts->NewReader());
  }
}

void GenerateMessages::EndPieces(int index, size_t first) {
  if (messages_.back()->piece().ByteSizeLong() == 0) messages_.pop_back();
  if (!job_.piece_usage) return;
  for (size_t i = first; i < messages_.size(); ++i) {
    v1::Usage* const usage = messages_[i]->mutable_piece()->mutable_usage();
    usage->set_prompt_tokens(PromptTokens());
    usage->set_new_tokens(static_cast<uint32_t>(texts_[index].count()));
  }
}

v1::GenerateResponse* GenerateMessages::AddMessage(int index) {
  auto message = std::make_unique<v1::GenerateResponse>();
  message->set_index(static_cast<uint32_t>(index));
  return messages_.emplace_back(std::move(message)).get();
}

void GenerateMessages::AddText(int index, const std::string& text) {
  if (readers_.empty()) {
    messages_.back()->mutable_piece()->mutable_text()->append(text);
  } else {
    AddDeltas(index, readers_[index]->Read(text));
  }
}

void GenerateMessages::AddDeltas(int index,
                                 const std::vector<ChatDelta>& deltas) {
  Piece* piece = messages_.back()->mutable_piece();
  for (const ChatDelta& delta : deltas) {
    // Within a piece thoughts come before content and content before calls.
    if (!MayFollow(*piece, delta.kind)) {
      piece = AddMessage(index)->mutable_piece();
    }
    AddDelta(delta, piece);
  }
}

void GenerateMessages::AddTokens(int index, const TokenRun& tokens) {
  GeneratedText& text = texts_[index];
  for (size_t begin = 0; begin < tokens.size(); begin += kMaxTokensPerPiece) {
    const TokenRun some =
        tokens.Part(begin, std::min(tokens.size() - begin, kMaxTokensPerPiece));
    const size_t first = messages_.size();
    Piece* piece = AddMessage(index)->mutable_piece();
    if (job_.show_ids) {
      piece->mutable_ids()->Add(some.ids.begin(), some.ids.end());
    }
    for (size_t i = 0; i < some.top_logprobs.size(); ++i) {
      *piece->add_logprobs() =
          ConvertLogprobs(some.ids[i], some.logprobs[i], some.top_logprobs[i],
                          job_.options.model->tokenizer());
    }
    if (readers_.empty()) {
      AddText(index, text.Push(some.ids));
    } else {
      for (size_t i = 0; i < some.size(); ++i) {
        AddText(index, text.Push(some.ids.subspan(i, 1)));
        if (readers_[index]->thinking()) ++reasoning_tokens_;
      }
    }
    EndPieces(index, first);
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
    const size_t first = messages_.size();
    AddMessage(index);
    AddText(index, texts_[i].Finish());
    if (!readers_.empty()) AddDeltas(index, readers_[i]->Finish());
    EndPieces(index, first);
    done = AddDone(index, hypothesis,
                   i < result.decoder_attention.size()
                       ? &result.decoder_attention[i]
                       : nullptr);
    WriteTimingsAndModel(timings, model, done);
  }
  if (result.head_trace) {
    AddHeadTrace(*result.head_trace, result.hypotheses[0], done);
  }
  v1::Usage* usage = done->mutable_usage();
  usage->set_prompt_tokens(PromptTokens());
  size_t new_tokens = 0;
  for (const GeneratedText& text : texts_) new_tokens += text.count();
  usage->set_new_tokens(static_cast<uint32_t>(new_tokens));
  usage->set_reasoning_tokens(reasoning_tokens_);
  if (job_.prompted()) {
    usage->set_cached_tokens(static_cast<uint32_t>(result.cached_tokens));
  }
}

void GenerateMessages::AddHeadTrace(const HeadTrace& trace,
                                    const Hypothesis& hypothesis,
                                    v1::GenerateResponse::Done* done) const {
  std::vector<int32_t> read = input_.prefix;
  read.insert(read.end(), hypothesis.ids.begin(), hypothesis.ids.end());
  const bool cross = trace.choice.cross;
  const std::vector<int32_t>& keys = cross ? input_.source.ids : read;
  *done->mutable_head_trace() = ConvertHeadTrace(
      trace,
      {.queries = std::span(read).first(static_cast<size_t>(trace.queries)),
       .keys = std::span(keys).first(static_cast<size_t>(trace.keys)),
       .tokenizer = job_.options.model->tokenizer(),
       .query_side = TextSide::kTarget,
       .key_side = cross ? TextSide::kSource : TextSide::kTarget});
}

uint32_t GenerateMessages::PromptTokens() const {
  return static_cast<uint32_t>(job_.prompted() ? input_.prefix.size()
                                               : input_.source.ids.size());
}

v1::GenerateResponse::Done* GenerateMessages::AddDone(
    int index, const Hypothesis& hypothesis, const AttentionMap* map) {
  v1::GenerateResponse::Done* done = AddMessage(index)->mutable_done();
  done->set_finish_reason(ConvertFinishReason(hypothesis.reason));
  if (hypothesis.reason == FinishReason::kStop) {
    if (const std::string* const stop = texts_[index].stopped_by()) {
      done->set_stop(*stop);
    } else if (!hypothesis.ids.empty()) {
      done->set_stop_id(static_cast<uint32_t>(hypothesis.ids.back()));
    }
  }
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
