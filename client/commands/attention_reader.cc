// AttentionReader, second half: reads the planned maps in parts.
#include "client/commands/attention_reader.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/status.h"
#include "client/commands/inputs.h"
#include "fmt/format.h"

namespace trivium {

absl::StatusOr<v1::Attention> AttentionReader::Call(
    const DrawnMaps& maps, const v1::AttentionSelection& part) {
  if (maps.kind == AttentionKind::kEncoder) {
    v1::EncodeRequest request = EncodeOnly();
    *request.mutable_attention() = part;
    TRIVIUM_ASSIGN_OR_RETURN(v1::EncodeResponse response,
                             client_.Encode(request));
    TRIVIUM_RETURN_IF_ERROR(ExpectOneResult(response.results_size()));
    return std::move(*response.mutable_results(0)->mutable_attention());
  }
  // Gives the same tokens again, and tells the server how large the response
  // will be.
  if (maps.prompt) {
    v1::GenerateRequest request = GenerateOnly();
    request.mutable_decoding()->set_max_new_tokens(new_tokens_);
    *request.mutable_decoder_attention() = part;
    v1::Attention attention;
    TRIVIUM_RETURN_IF_ERROR(client_.Generate(
        request, [&attention](const v1::GenerateResponse& event) {
          if (event.has_done()) attention = event.done().decoder_attention();
          return absl::OkStatus();
        }));
    return attention;
  }
  v1::TranslateRequest request = TranslateOnly();
  v1::TranslateOptions* options = request.mutable_options();
  options->mutable_decoding()->set_max_new_tokens(new_tokens_);
  const bool cross = maps.kind == AttentionKind::kCross;
  *(cross ? options->mutable_cross_attention()
          : options->mutable_decoder_attention()) = part;
  TRIVIUM_ASSIGN_OR_RETURN(v1::TranslateResponse response,
                           client_.Translate(request));
  TRIVIUM_RETURN_IF_ERROR(ExpectOneResult(response.results_size()));
  v1::TranslateResult* result = response.mutable_results(0);
  TRIVIUM_RETURN_IF_ERROR(ExpectOneResult(result->hypotheses_size()));
  v1::Hypothesis* hypothesis = result->mutable_hypotheses(0);
  return std::move(cross ? *hypothesis->mutable_cross_attention()
                         : *hypothesis->mutable_decoder_attention());
}

absl::Status AttentionReader::Read(std::vector<DrawnMaps>* maps) {
  for (DrawnMaps& one : *maps) {
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

AttentionReader::Steps AttentionReader::StepsOf(const DrawnMaps& maps) const {
  // Leaves room for the other fields of a response.
  const size_t most = std::max<size_t>(
      1, model_.limits().max_response_bytes() / sizeof(float) / 8 * 7);
  const size_t keys = maps.keys.size();
  Steps step;
  step.rows = std::clamp<size_t>(most / keys, 1, maps.rows.size());
  // The server counts at least a sixteenth of the computed weights, even if it
  // sends fewer.
  const size_t map_cells =
      std::max(step.rows * keys, maps.all_queries * keys / 16);
  const size_t maps_a_call = std::max<size_t>(1, most / map_cells);
  step.heads = std::min(maps_a_call, maps.heads.size());
  step.layers = std::max<size_t>(1, maps_a_call / maps.heads.size());
  return step;
}

absl::Status AttentionReader::ReadPart(size_t layer, size_t head, size_t row,
                                       const Steps& step, DrawnMaps* maps) {
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
  TRIVIUM_ASSIGN_OR_RETURN(const v1::Attention got, Call(*maps, selection));
  const size_t keys = maps->keys.size();
  if (got.key_count() != keys || got.query_count() != rows.size() ||
      static_cast<size_t>(got.weights_size()) !=
          layers.size() * heads.size() * rows.size() * keys) {
    return absl::InternalError(fmt::format(
        "the server sent {} weights of {} x {} tokens where {} layers and {} "
        "heads of {} x {} were requested",
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
