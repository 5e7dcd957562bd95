// Order of a step: Arrange gives each new token a row and a place in its
// hypothesis's blocks; Group lists what attention reads; then the layers; then
// lengths grow; last come logits, states and maps. What always holds:
// - A hypothesis's rows are consecutive, in the order of its tokens. A prompt's
//   tokens are one causal group: keys of all of them are stored before
//   attention reads any.
// - Blocks were allocated before (TransformerEngine::MakeRoom); this file never
//   allocates or releases any.
// - Each group of layers has its own places and groups (Reading), because it
//   has its own blocks.
// - Only rows with a query reach the output projection.
// - A row's numbers depend on its hypothesis alone. If any is not finite,
//   StepResult::Row::finite says so; the step itself succeeds.
#include "model/transformer/decoder.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/finite.h"
#include "base/status.h"

namespace trivium {
namespace {

// True if no logit is NaN or +infinity. A logit outside a shortlist is
// -infinity, and so is the sum if all tokens are watched. A NaN logit makes the
// sum NaN, so `best` and `all` need no check.
bool IsFinite(const LogitsRow& row) {
  const auto fine = [](float logit) {
    return logit < std::numeric_limits<float>::infinity();
  };
  return fine(row.rest_log_sum_exp) &&
         std::all_of(row.watched.begin(), row.watched.end(), fine);
}

}  // namespace

Decoder::Decoder(const Transformer& weights)
    : stack_(*weights.decoder()),
      rows_(weights.formats(), stack_.d_model),
      embedding_(stack_, weights.formats()),
      attention_(weights.formats()),
      turns_(stack_.rotary),
      projection_(weights) {}

absl::Status Decoder::Run(std::span<const Item> items, KvCache* cache,
                          Workspace* workspace, PhaseTimer* timer,
                          StepResult* result) {
  Arrange(items, cache->layout().groups());
  Group(items);
  TRIVIUM_RETURN_IF_ERROR(Embed(items, workspace));
  turns_.Set(
      rows_.rows(), [&](int row) { return positions_[row]; }, workspace);
  timer->End(&PhaseSeconds::other);
  const int layers = static_cast<int>(stack_.layers.size());
  for (int layer = 0; layer < layers; ++layer) {
    const Layer& weights = stack_.layers[layer];
    if (weights.mixer.has_value()) {
      TRIVIUM_RETURN_IF_ERROR(
          mixer_.Run({.weights = *weights.mixer,
                      .norms = weights.self_attention.norms,
                      .layer = layer,
                      .groups = states_,
                      .states = cache->state_memory(),
                      .reader = weights.feed_forward_reader()},
                     &rows_, workspace));
      timer->End(&PhaseSeconds::self_attention);
    }
    if (weights.attends) {
      const Reading& reading = readings_[cache->layout().group(layer)];
      const std::optional<Attention>& cross = weights.cross_attention;
      const AttentionTask task = {
          .weights = weights.self_attention,
          .layer = layer,
          .groups = reading.self,
          .places = reading.places,
          .turns = &turns_,
          .tiles = cache->Tiles(layer),
          .relative =
              stack_.relative_attention ? &*stack_.relative_attention : nullptr,
          .reader = cross.has_value() ? &cross->projection
                                      : weights.feed_forward_reader()};
      TRIVIUM_RETURN_IF_ERROR(weights.recurrent
                                  ? recurrence_.Run(task, &rows_, workspace)
                                  : attention_.Run(task, &rows_, workspace));
      timer->End(&PhaseSeconds::self_attention);
      if (cross.has_value()) {
        TRIVIUM_RETURN_IF_ERROR(
            attention_.Run({.weights = *cross,
                            .layer = layer,
                            .groups = reading.cross,
                            .tiles = cache->Tiles(layer),
                            .reader = weights.feed_forward_reader()},
                           &rows_, workspace));
        timer->End(&PhaseSeconds::cross_attention);
      }
    }
    if (!weights.feed_forward.experts.empty()) {
      TRIVIUM_RETURN_IF_ERROR(
          rows_.FeedForward(weights, stack_.FirstReader(layer + 1), workspace));
    }
    if (weights.token_input.has_value()) {
      TRIVIUM_RETURN_IF_ERROR(
          rows_.AddTokenInput(weights, embedding_.token_input(layer),
                              embedding_.token_input_stride(), workspace));
    }
    if (weights.factor != 1) rows_.Multiply(weights.factor, workspace);
    timer->End(&PhaseSeconds::feed_forward);
  }
  rows_.Finish(stack_.final_norm, workspace);
  for (const Item& item : items) {
    item.hypothesis->length += static_cast<int>(item.work->tokens.size());
  }
  result->decoder_rows += rows_.rows();
  TRIVIUM_RETURN_IF_ERROR(ProjectOut(items, workspace, result));
  timer->End(&PhaseSeconds::output_projection);
  return absl::OkStatus();
}

// Creates a row for each new token, with its positions in its hypothesis's
// blocks.
void Decoder::Arrange(std::span<const Item> items, int groups) {
  readings_.resize(groups);
  for (int group = 0; group < groups; ++group) {
    std::vector<KvPlace>& places = readings_[group].places;
    places.clear();
    for (const Item& item : items) {
      const HypothesisState& hypothesis = *item.hypothesis;
      const std::vector<int>& blocks = hypothesis.tables[group].blocks;
      const int length = KeysOf(item);
      for (int position = hypothesis.length; position < length; ++position) {
        places.push_back({blocks[position / kTileTokens], position});
      }
    }
  }
  positions_.clear();
  states_.clear();
  last_row_.clear();
  int rows = 0;
  for (const Item& item : items) {
    const HypothesisState& hypothesis = *item.hypothesis;
    const int tokens = static_cast<int>(item.work->tokens.size());
    for (int i = 0; i < tokens; ++i) {
      positions_.push_back(hypothesis.length + i);
    }
    if (!hypothesis.state.empty()) {
      states_.push_back({.first = rows,
                         .rows = tokens,
                         .position = hypothesis.length,
                         .blocks = hypothesis.state.data(),
                         .saved = hypothesis.saved});
    }
    rows += tokens;
    last_row_.push_back(rows - 1);
  }
  rows_.Resize(rows);
}

absl::Status Decoder::Embed(std::span<const Item> items, Workspace* workspace) {
  tokens_.clear();
  for (const Item& item : items) {
    int place = item.hypothesis->length;
    for (const int32_t token : item.work->tokens) {
      tokens_.push_back({token, stack_.embeddings.Position(token, place++)});
    }
  }
  TRIVIUM_RETURN_IF_ERROR(embedding_.Run(tokens_, &rows_, workspace));
  int row = 0;
  for (const Item& item : items) {
    const int rows = static_cast<int>(item.work->tokens.size());
    if (item.work->trace != nullptr) {
      TraceEmbeddings(stack_, std::span(tokens_).subspan(row, rows),
                      rows_.x(row), item.hypothesis->length, item.work->trace);
    }
    row += rows;
  }
  return absl::OkStatus();
}

// Groups rows for attention. A token sees itself, all tokens before it, and its
// whole source. Adjacent hypotheses of one source share the reading of its keys
// and values, unless their attention maps or a trace are requested.
void Decoder::Group(std::span<const Item> items) {
  for (Reading& reading : readings_) {
    reading.self.clear();
    reading.cross.clear();
  }
  maps_.clear();
  self_maps_.resize(items.size());
  cross_maps_.resize(items.size());
  const auto maps = [this](const Item& item,
                           const AttentionSelection* selection, int keys,
                           std::vector<float>* values) {
    values->clear();
    if (selection == nullptr) return static_cast<const AttentionMaps*>(nullptr);
    return static_cast<const AttentionMaps*>(&maps_.emplace_back(
        *selection, static_cast<int>(stack_.layers.size()), stack_.heads,
        static_cast<int>(item.work->tokens.size()), keys, values));
  };
  // The previous item if its group may be extended, else null.
  const Item* last = nullptr;
  int row = 0;
  for (size_t i = 0; i < items.size(); ++i) {
    const Item& item = items[i];
    const int tokens = static_cast<int>(item.work->tokens.size());
    const int keys = KeysOf(item);
    AttentionGroup self = {
        .first = row,
        .rows = tokens,
        .keys = keys,
        .position = item.hypothesis->length,
        .maps = maps(item, item.work->self_attention, keys, &self_maps_[i]),
        .trace_row = item.hypothesis->length};
    HeadTrace* const trace = item.work->trace;
    if (trace != nullptr && !trace->choice.cross) self.trace = trace;
    for (size_t group = 0; group < readings_.size(); ++group) {
      self.blocks = item.hypothesis->tables[group].blocks.data();
      readings_[group].self.push_back(self);
    }
    row += tokens;
    if (item.source == nullptr) {
      last = nullptr;
      continue;
    }
    AttentionGroup cross = {
        .first = self.first,
        .rows = tokens,
        .keys = item.source->tokens(),
        .maps = maps(item, item.work->cross_attention, item.source->tokens(),
                     &cross_maps_[i]),
        .trace_row = item.hypothesis->length};
    if (trace != nullptr && trace->choice.cross) cross.trace = trace;
    const bool alone = cross.maps != nullptr || cross.trace != nullptr;
    const bool shares =
        last != nullptr && item.source == last->source && !alone;
    for (size_t group = 0; group < readings_.size(); ++group) {
      std::vector<AttentionGroup>& groups = readings_[group].cross;
      if (shares) {
        groups.back().rows += tokens;
      } else {
        cross.blocks = item.source->cross_tables[group].blocks.data();
        groups.push_back(cross);
      }
      if (stack_.layers[0].self_attention.merged) {
        AttentionGroup& merged = readings_[group].self.back();
        merged.source_blocks = item.source->cross_tables[group].blocks.data();
        merged.source_keys = cross.keys;
        merged.source_maps = cross.maps;
      }
    }
    last = alone ? nullptr : &item;
  }
}

// Answers are stored in the order of the items and, within an item, of its
// queries.
absl::Status Decoder::ProjectOut(std::span<const Item> items,
                                 Workspace* workspace, StepResult* result) {
  int asked = 0;
  int all = 0;
  for (const Item& item : items) {
    asked += static_cast<int>(item.work->queries.size());
    for (const LogitsQuery& query : item.work->queries) all += query.all;
  }
  projection_.Start(asked, all);
  for (size_t i = 0; i < items.size(); ++i) {
    const std::span<const LogitsQuery> queries = items[i].work->queries;
    const SourceState* source = items[i].source;
    const AllowedTokens* allowed =
        source == nullptr || source->allowed.all() ? nullptr : &source->allowed;
    const int first = last_row_[i] + 1 - static_cast<int>(queries.size());
    for (size_t q = 0; q < queries.size(); ++q) {
      projection_.Add(rows_.x(first + static_cast<int>(q)), queries[q],
                      allowed);
    }
  }
  TRIVIUM_RETURN_IF_ERROR(projection_.Run(workspace));
  result->projected_rows = projection_.projected();
  result->rows.resize(items.size());
  std::span<const LogitsRow> answers = projection_.answers();
  for (size_t i = 0; i < items.size(); ++i) {
    const StepPlan::Decode& work = *items[i].work;
    StepResult::Row& row = result->rows[i];
    row.logits = answers.first(work.queries.size());
    answers = answers.subspan(work.queries.size());
    const int first = last_row_[i] + 1 - static_cast<int>(work.tokens.size());
    const std::span<const float> states = {rows_.x(first),
                                           work.tokens.size() * stack_.d_model};
    row.states = work.states ? states : std::span<const float>();
    row.finite = AllFinite(states) &&
                 std::all_of(row.logits.begin(), row.logits.end(), IsFinite);
    row.self_attention = self_maps_[i];
    row.cross_attention = cross_maps_[i];
  }
  return absl::OkStatus();
}

}  // namespace trivium
