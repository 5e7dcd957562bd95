#include "client/commands/attention_reader.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

#include "base/status.h"
#include "client/commands/inputs.h"
#include "fmt/format.h"

namespace trivium {
namespace {

std::vector<uint32_t> UpTo(uint32_t end) {
  std::vector<uint32_t> all(end);
  std::iota(all.begin(), all.end(), 0u);
  return all;
}

// Pieces, or without a tokenizer the ids themselves: one for each token.
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
      "the server sent {} pieces of {} tokens", labels.size(), tokens));
}

// Takes of `all` what is chosen; an error names what is not there.
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

absl::StatusOr<std::vector<AttentionMaps>> AttentionReader::Plan(
    const Choice& choice) {
  const auto wants = [&choice](AttentionKind kind) {
    return choice.kinds.empty() ||
           std::find(choice.kinds.begin(), choice.kinds.end(), kind) !=
               choice.kinds.end();
  };
  if (model_.design() == v1::DESIGN_DECODER) {
    return absl::FailedPreconditionError(fmt::format(
        "the model '{}' has no encoder: the server gives attention maps of "
        "encoders and of translations",
        model_.name()));
  }
  const bool translates = model_.design() == v1::DESIGN_ENCODER_DECODER;
  if (!translates && !wants(AttentionKind::kEncoder)) {
    return absl::FailedPreconditionError(fmt::format(
        "the model '{}' has no decoder: its attention is of kind encoder",
        model_.name()));
  }
  std::vector<AttentionMaps> maps;
  if (wants(AttentionKind::kEncoder)) {
    TRIVIUM_ASSIGN_OR_RETURN(maps.emplace_back(), PlanEncoder());
  }
  if (translates &&
      (wants(AttentionKind::kCross) || wants(AttentionKind::kDecoder))) {
    TRIVIUM_ASSIGN_OR_RETURN(std::vector<AttentionMaps> both, PlanDecoder());
    for (AttentionMaps& one : both) {
      if (wants(one.kind)) maps.push_back(std::move(one));
    }
  }
  for (AttentionMaps& one : maps) {
    one.layers = UpTo(one.kind == AttentionKind::kEncoder
                          ? model_.encoder_layer_count()
                          : model_.decoder_layer_count());
    one.heads = UpTo(model_.head_count());
    TRIVIUM_RETURN_IF_ERROR(Choose(choice.layers, "layer", &one.layers));
    TRIVIUM_RETURN_IF_ERROR(Choose(choice.heads, "head", &one.heads));
    one.all_maps = one.layers.size() * one.heads.size();
    if (one.all_maps == 0 || one.keys.empty()) {
      return absl::InternalError(
          "the server tells of no layers, heads or tokens");
    }
  }
  std::erase_if(maps, [&choice](AttentionMaps& one) {
    return !ChooseRows(choice.rows, &one);
  });
  if (maps.empty()) {
    return absl::InvalidArgumentError(
        "none of the rows is there: rows are numbers of tokens, from 0");
  }
  return maps;
}

v1::EncodeRequest AttentionReader::EncodeOnly() const {
  v1::EncodeRequest request;
  request.set_model(model_.name());
  *request.add_inputs() = input_;
  request.set_pooling(v1::POOLING_NONE);
  if (languages_.has_source_language()) {
    request.set_source_language(languages_.source_language());
  }
  if (languages_.has_target_language()) {
    request.set_target_language(languages_.target_language());
  }
  return request;
}

absl::StatusOr<AttentionMaps> AttentionReader::PlanEncoder() {
  v1::EncodeRequest request = EncodeOnly();
  request.set_tokens(true);
  TRIVIUM_ASSIGN_OR_RETURN(const v1::EncodeResponse response,
                           client_.Encode(request));
  TRIVIUM_RETURN_IF_ERROR(ExpectOneResult(response.results_size()));
  const v1::EncodeResult& result = response.results(0);
  AttentionMaps maps;
  TRIVIUM_ASSIGN_OR_RETURN(
      maps.keys, Labels(result.pieces(), input_.ids(), result.token_count()));
  maps.queries = maps.keys;
  TRIVIUM_ASSIGN_OR_RETURN(maps.boundary, Boundary());
  return maps;
}

absl::StatusOr<std::optional<uint32_t>> AttentionReader::Boundary() {
  if (!input_.has_pair()) return std::nullopt;
  // A pair begins as its first text does alone, end token included.
  v1::TokenizeRequest request;
  request.set_model(model_.name());
  request.add_texts(input_.pair().first());
  TRIVIUM_ASSIGN_OR_RETURN(const v1::TokenizeResponse response,
                           client_.Tokenize(request));
  TRIVIUM_RETURN_IF_ERROR(ExpectOneResult(response.results_size()));
  return static_cast<uint32_t>(response.results(0).tokens_size());
}

absl::StatusOr<std::vector<AttentionMaps>> AttentionReader::PlanDecoder() {
  v1::TranslateRequest request;
  request.set_model(model_.name());
  *request.add_inputs() = input_;
  *request.mutable_options() = languages_;
  request.mutable_options()->set_tokens(true);
  request.mutable_options()->set_split(v1::SPLIT_NONE);  // maps are of one text
  TRIVIUM_ASSIGN_OR_RETURN(const v1::TranslateResponse response,
                           client_.Translate(request));
  TRIVIUM_RETURN_IF_ERROR(ExpectOneResult(response.results_size()));
  const v1::TranslateResult& result = response.results(0);
  TRIVIUM_RETURN_IF_ERROR(ExpectOneResult(result.hypotheses_size()));
  const v1::Hypothesis& hypothesis = result.hypotheses(0);
  translation_ = hypothesis.text();
  new_tokens_ = hypothesis.token_count();
  v1::TokenIds ids;
  *ids.mutable_ids() = hypothesis.ids();
  AttentionMaps cross;
  cross.kind = AttentionKind::kCross;
  TRIVIUM_ASSIGN_OR_RETURN(cross.queries, Labels(hypothesis.pieces(), ids,
                                                 hypothesis.token_count()));
  TRIVIUM_ASSIGN_OR_RETURN(cross.keys,
                           Labels(result.source_pieces(), input_.ids(),
                                  result.source_token_count()));
  AttentionMaps decoder;
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
  return std::vector<AttentionMaps>{std::move(cross), std::move(decoder)};
}

absl::StatusOr<v1::Attention> AttentionReader::Call(
    AttentionKind kind, const v1::AttentionSelection& part) {
  if (kind == AttentionKind::kEncoder) {
    v1::EncodeRequest request = EncodeOnly();
    *request.mutable_attention() = part;
    TRIVIUM_ASSIGN_OR_RETURN(v1::EncodeResponse response,
                             client_.Encode(request));
    TRIVIUM_RETURN_IF_ERROR(ExpectOneResult(response.results_size()));
    return std::move(*response.mutable_results(0)->mutable_attention());
  }
  v1::TranslateRequest request;
  request.set_model(model_.name());
  *request.add_inputs() = input_;
  v1::TranslateOptions* options = request.mutable_options();
  *options = languages_;
  options->set_split(v1::SPLIT_NONE);
  // The same translation; and the server knows how large the answer will be.
  options->mutable_decoding()->set_max_new_tokens(new_tokens_);
  if (kind == AttentionKind::kCross) {
    *options->mutable_cross_attention() = part;
  } else {
    *options->mutable_decoder_attention() = part;
  }
  TRIVIUM_ASSIGN_OR_RETURN(v1::TranslateResponse response,
                           client_.Translate(request));
  TRIVIUM_RETURN_IF_ERROR(ExpectOneResult(response.results_size()));
  v1::TranslateResult* result = response.mutable_results(0);
  TRIVIUM_RETURN_IF_ERROR(ExpectOneResult(result->hypotheses_size()));
  v1::Hypothesis* hypothesis = result->mutable_hypotheses(0);
  return std::move(kind == AttentionKind::kCross
                       ? *hypothesis->mutable_cross_attention()
                       : *hypothesis->mutable_decoder_attention());
}

absl::Status AttentionReader::Read(std::vector<AttentionMaps>* maps) {
  for (AttentionMaps& one : *maps) {
    one.weights.resize(one.size());
    const Steps step = StepsOf(one);
    for (size_t l = 0; l < one.layers.size(); l += step.layers) {
      for (size_t h = 0; h < one.heads.size(); h += step.heads) {
        for (size_t r = 0; r < one.rows.size(); r += step.rows) {
          TRIVIUM_RETURN_IF_ERROR(ReadPart(l, h, r, step, &one));
        }
      }
    }
  }
  return absl::OkStatus();
}

AttentionReader::Steps AttentionReader::StepsOf(
    const AttentionMaps& maps) const {
  // Something is left for what else an answer holds.
  const size_t most = std::max<size_t>(
      1, model_.limits().max_response_bytes() / sizeof(float) / 8 * 7);
  const size_t keys = maps.keys.size();
  Steps step;
  step.rows = std::clamp<size_t>(most / keys, 1, maps.rows.size());
  // A sixteenth of what is computed counts, however little is sent.
  const size_t map_cells =
      std::max(step.rows * keys, maps.all_queries * keys / 16);
  const size_t maps_a_call = std::max<size_t>(1, most / map_cells);
  step.heads = std::min(maps_a_call, maps.heads.size());
  step.layers = std::max<size_t>(1, maps_a_call / maps.heads.size());
  return step;
}

absl::Status AttentionReader::ReadPart(size_t layer, size_t head, size_t row,
                                       const Steps& step, AttentionMaps* maps) {
  const auto part_of = [](const std::vector<uint32_t>& all, size_t first,
                          size_t count) {
    return std::span(all).subspan(first, std::min(count, all.size() - first));
  };
  const auto layers = part_of(maps->layers, layer, step.layers);
  const auto heads = part_of(maps->heads, head, step.heads);
  const auto rows = part_of(maps->rows, row, step.rows);
  v1::AttentionSelection selection;
  selection.mutable_layers()->Add(layers.begin(), layers.end());
  selection.mutable_heads()->Add(heads.begin(), heads.end());
  if (rows.size() < maps->all_queries) {
    selection.mutable_rows()->Add(rows.begin(), rows.end());
  }
  TRIVIUM_ASSIGN_OR_RETURN(const v1::Attention got,
                           Call(maps->kind, selection));
  const size_t keys = maps->keys.size();
  if (got.key_count() != keys || got.query_count() != rows.size() ||
      static_cast<size_t>(got.weights_size()) !=
          layers.size() * heads.size() * rows.size() * keys) {
    return absl::InternalError(fmt::format(
        "the server sent {} weights of {} x {} tokens where {} layers and {} "
        "heads of {} x {} were asked for",
        got.weights_size(), got.query_count(), got.key_count(), layers.size(),
        heads.size(), rows.size(), keys));
  }
  const float* from = got.weights().data();
  for (size_t l = layer; l < layer + layers.size(); ++l) {
    for (size_t h = head; h < head + heads.size(); ++h) {
      const size_t map = l * maps->heads.size() + h;
      std::copy_n(
          from, rows.size() * keys,
          maps->weights.data() + (map * maps->rows.size() + row) * keys);
      from += rows.size() * keys;
    }
  }
  return absl::OkStatus();
}

}  // namespace trivium
