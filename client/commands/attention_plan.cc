// AttentionReader, first half: plans which maps to read, and of which tokens.
//
// Tokens are known only after the model has read them, so a plan makes one call
// without maps: Encode for an encoder, Translate or Generate for a decoder. It
// takes the pieces, or the ids of a model without a tokenizer, as labels of
// queries and keys. The number of new tokens of that call is kept: the calls
// that read maps ask for the same number, so that they give the same tokens.
//
// In a decoder, query i is the position that chose token i of a translation. It
// sees the prefix and the i tokens before it. In a prompt and its answer (one
// map), query i is token i itself, and the last new token is not in the map,
// since the decoder never reads it.
#include <algorithm>
#include <numeric>
#include <utility>

#include "base/status.h"
#include "client/commands/attention_reader.h"
#include "client/commands/flags.h"
#include "client/commands/inputs.h"
#include "fmt/format.h"

namespace trivium {
namespace {

// Tokens of an answer if the user sets no limit: enough to look at.
constexpr uint32_t kNewTokens = 16;

std::vector<uint32_t> UpTo(uint32_t end) {
  std::vector<uint32_t> all(end);
  std::iota(all.begin(), all.end(), 0u);
  return all;
}

// Returns a label for each token: its piece, or its id if the model has no
// tokenizer.
template <typename Pieces, typename Ids>
absl::StatusOr<std::vector<std::string>> Labels(const Pieces& pieces,
                                                const Ids& ids,
                                                uint32_t tokens) {
  std::vector<std::string> labels(pieces.begin(), pieces.end());
  if (labels.empty()) {
    for (const uint32_t id : ids.ids()) labels.push_back(fmt::to_string(id));
  }
  if (labels.size() == tokens) return labels;
  return absl::InternalError(fmt::format(
      "the server sent {} pieces for {} tokens", labels.size(), tokens));
}

// Replaces `all` by `chosen`, unless that is empty. Returns an error if `all`
// lacks a chosen number.
absl::Status Choose(const std::vector<uint32_t>& chosen, const char* what,
                    std::vector<uint32_t>* all) {
  for (const uint32_t one : chosen) {
    if (one < all->size()) continue;
    return absl::InvalidArgumentError(
        fmt::format("there is no {0} {1}: the model has {0}s 0 to {2}", what,
                    one, all->size() - 1));
  }
  if (chosen.empty()) return absl::OkStatus();
  *all = chosen;
  std::sort(all->begin(), all->end());
  all->erase(std::unique(all->begin(), all->end()), all->end());
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<DrawnMaps>> AttentionReader::Plan(
    const Choice& choice) {
  TRIVIUM_RETURN_IF_ERROR(CheckChoice(choice, model_, options_));
  std::vector<DrawnMaps> maps;
  if (model_.design() == v1::DESIGN_DECODER) {
    TRIVIUM_ASSIGN_OR_RETURN(maps.emplace_back(), PlanPrompt());
  } else if (choice.Wants(AttentionKind::kEncoder)) {
    TRIVIUM_ASSIGN_OR_RETURN(maps.emplace_back(), PlanEncoder());
  }
  if (model_.design() == v1::DESIGN_ENCODER_DECODER && choice.WantsADecoder()) {
    TRIVIUM_ASSIGN_OR_RETURN(std::vector<DrawnMaps> both, PlanTranslation());
    for (DrawnMaps& one : both) {
      if (choice.Wants(one.kind)) maps.push_back(std::move(one));
    }
  }
  for (DrawnMaps& one : maps) {
    TRIVIUM_RETURN_IF_ERROR(PlanHeads(choice, &one));
  }
  std::erase_if(maps, [&choice](DrawnMaps& one) {
    return !ChooseRows(choice.rows, &one);
  });
  if (maps.empty()) {
    return absl::InvalidArgumentError(
        "none of the rows exists: rows are numbers of tokens, from 0");
  }
  return maps;
}

absl::Status AttentionReader::CheckChoice(const Choice& choice,
                                          const v1::Model& model,
                                          const v1::TranslateOptions& options) {
  if (model.design() == v1::DESIGN_DECODER &&
      !choice.Wants(AttentionKind::kDecoder)) {
    return absl::FailedPreconditionError(fmt::format(
        "the model '{}' has no encoder: its attention is of kind decoder",
        model.name()));
  }
  if (model.design() == v1::DESIGN_ENCODER &&
      !choice.Wants(AttentionKind::kEncoder)) {
    return absl::FailedPreconditionError(fmt::format(
        "the model '{}' has no decoder: its attention is of kind encoder",
        model.name()));
  }
  if (options.decoding().has_max_new_tokens() &&
      (model.design() == v1::DESIGN_ENCODER || !choice.WantsADecoder())) {
    return absl::InvalidArgumentError(
        "--max-new-tokens limits what a decoder writes, and only an encoder's "
        "attention is read: leave it out");
  }
  return absl::OkStatus();
}

absl::Status AttentionReader::PlanHeads(const Choice& choice,
                                        DrawnMaps* maps) const {
  const uint32_t layers = maps->kind == AttentionKind::kEncoder
                              ? model_.encoder_layer_count()
                              : model_.decoder_layer_count();
  maps->layers = UpTo(layers);
  maps->heads = UpTo(model_.head_count());
  TRIVIUM_RETURN_IF_ERROR(Choose(choice.layers, "layer", &maps->layers));
  TRIVIUM_RETURN_IF_ERROR(Choose(choice.heads, "head", &maps->heads));
  maps->all_maps = maps->layers.size() * maps->heads.size();
  if (maps->all_maps == 0 || maps->keys.empty()) {
    return absl::InternalError("the server reports no layers, heads or tokens");
  }
  if (!maps->prompt) return absl::OkStatus();
  if (static_cast<uint32_t>(model_.attention_windows_size()) == layers) {
    for (const uint32_t layer : maps->layers) {
      maps->windows.push_back(model_.attention_windows(layer));
    }
  }
  // Older servers do not report it.
  if (model_.kv_head_count() > 0) {
    maps->heads_per_kv = model_.head_count() / model_.kv_head_count();
  }
  return absl::OkStatus();
}

v1::EncodeRequest AttentionReader::EncodeOnly() const {
  v1::EncodeRequest request;
  request.set_model(model_.name());
  *request.add_inputs() = input_;
  request.set_pooling(v1::POOLING_NONE);
  SetLanguages(options_, &request);
  return request;
}

v1::TranslateRequest AttentionReader::TranslateOnly() const {
  v1::TranslateRequest request;
  request.set_model(model_.name());
  *request.add_inputs() = input_;
  *request.mutable_options() = options_;
  // Maps belong to a single search.
  request.mutable_options()->set_split(v1::SPLIT_NONE);
  return request;
}

v1::GenerateRequest AttentionReader::GenerateOnly() const {
  v1::GenerateRequest request;
  request.set_model(model_.name());
  *request.mutable_input() = input_;
  SetLanguages(options_, &request);
  request.set_truncate(false);  // PiecesOf does not cut the text
  *request.mutable_decoding() = options_.decoding();
  if (!options_.decoding().has_max_new_tokens()) {
    request.mutable_decoding()->set_max_new_tokens(kNewTokens);
  }
  return request;
}

absl::StatusOr<std::vector<std::string>> AttentionReader::PiecesOf(
    const std::string& text) {
  v1::TokenizeRequest request;
  request.set_model(model_.name());
  request.add_texts(text);
  TRIVIUM_ASSIGN_OR_RETURN(const v1::TokenizeResponse response,
                           client_.Tokenize(request));
  TRIVIUM_RETURN_IF_ERROR(ExpectOneResult(response.results_size()));
  std::vector<std::string> pieces;
  for (const v1::Token& token : response.results(0).tokens()) {
    pieces.push_back(token.piece());
  }
  return pieces;
}

absl::StatusOr<DrawnMaps> AttentionReader::PlanEncoder() {
  v1::EncodeRequest request = EncodeOnly();
  request.set_tokens(true);
  TRIVIUM_ASSIGN_OR_RETURN(const v1::EncodeResponse response,
                           client_.Encode(request));
  TRIVIUM_RETURN_IF_ERROR(ExpectOneResult(response.results_size()));
  const v1::EncodeResult& result = response.results(0);
  DrawnMaps maps;
  TRIVIUM_ASSIGN_OR_RETURN(
      maps.keys, Labels(result.pieces(), input_.ids(), result.token_count()));
  maps.queries = maps.keys;
  if (input_.has_pair()) {
    // The tokens of a pair begin like those of its first text alone, end token
    // included.
    TRIVIUM_ASSIGN_OR_RETURN(const std::vector<std::string> first,
                             PiecesOf(input_.pair().first()));
    maps.boundary = static_cast<uint32_t>(first.size());
  }
  return maps;
}

absl::StatusOr<DrawnMaps> AttentionReader::PlanPrompt() {
  v1::GenerateRequest request = GenerateOnly();
  request.mutable_decoding()->set_top_logprobs(1);  // they include pieces
  std::vector<std::string> pieces;
  uint32_t prompt_tokens = 0;
  TRIVIUM_RETURN_IF_ERROR(
      client_.Generate(request, [&](const v1::GenerateResponse& event) {
        answer_ += event.piece().text();
        for (const v1::TokenLogprobs& one : event.piece().logprobs()) {
          pieces.push_back(input_.has_ids() ? fmt::to_string(one.token().id())
                                            : one.token().piece());
        }
        if (event.has_done()) {
          new_tokens_ = event.done().token_count();
          prompt_tokens = event.done().source_token_count();
        }
        return absl::OkStatus();
      }));
  TRIVIUM_ASSIGN_OR_RETURN(pieces, Labels(pieces, v1::InputIds(), new_tokens_));
  DrawnMaps maps;
  maps.kind = AttentionKind::kDecoder;
  maps.prompt = true;
  if (input_.has_text()) {
    TRIVIUM_ASSIGN_OR_RETURN(maps.keys, PiecesOf(input_.text()));
  }
  TRIVIUM_ASSIGN_OR_RETURN(maps.keys,
                           Labels(maps.keys, input_.ids(), prompt_tokens));
  // The decoder never reads the last token of the answer.
  if (pieces.size() > 1) {
    maps.boundary = prompt_tokens;
    maps.keys.insert(maps.keys.end(), pieces.begin(), pieces.end() - 1);
  }
  maps.queries = maps.keys;
  maps.seen_first = 1;
  return maps;
}

absl::StatusOr<std::vector<DrawnMaps>> AttentionReader::PlanTranslation() {
  v1::TranslateRequest request = TranslateOnly();
  request.mutable_options()->set_tokens(true);
  TRIVIUM_ASSIGN_OR_RETURN(const v1::TranslateResponse response,
                           client_.Translate(request));
  TRIVIUM_RETURN_IF_ERROR(ExpectOneResult(response.results_size()));
  const v1::TranslateResult& result = response.results(0);
  TRIVIUM_RETURN_IF_ERROR(ExpectOneResult(result.hypotheses_size()));
  const v1::Hypothesis& hypothesis = result.hypotheses(0);
  answer_ = hypothesis.text();
  new_tokens_ = hypothesis.token_count();
  v1::TokenIds ids;
  *ids.mutable_ids() = hypothesis.ids();
  DrawnMaps cross;
  cross.kind = AttentionKind::kCross;
  TRIVIUM_ASSIGN_OR_RETURN(cross.queries, Labels(hypothesis.pieces(), ids,
                                                 hypothesis.token_count()));
  TRIVIUM_ASSIGN_OR_RETURN(cross.keys,
                           Labels(result.source_pieces(), input_.ids(),
                                  result.source_token_count()));
  DrawnMaps decoder;
  decoder.kind = AttentionKind::kDecoder;
  decoder.queries = cross.queries;
  decoder.keys.assign(result.prefix_pieces().begin(),
                      result.prefix_pieces().end());
  if (decoder.keys.empty()) decoder.keys.push_back("start");
  decoder.seen_first = static_cast<uint32_t>(decoder.keys.size());
  for (size_t i = 0; i + 1 < decoder.queries.size(); ++i) {
    decoder.keys.push_back(decoder.queries[i]);
  }
  if (cross.queries.empty()) {
    return absl::InvalidArgumentError(
        "the text is blank: there is nothing to translate");
  }
  return std::vector<DrawnMaps>{std::move(cross), std::move(decoder)};
}

}  // namespace trivium
