#include "client/commands/head_page.h"

#include <cmath>
#include <cstdlib>

#include "client/pages/pages.h"
#include "fmt/format.h"
#include "nlohmann/json.hpp"

namespace trivium {
namespace {

// Calls f(name in the API, rows) for each matrix that the trace has.
template <typename F>
void ForEachMatrix(const v1::HeadTrace& trace, const F& f) {
  const auto give = [&f](const char* name, const v1::TraceRows& rows) {
    if (rows.columns() > 0) f(name, rows);
  };
  give("token_embeddings", trace.token_embeddings());
  give("segment_embeddings", trace.segment_embeddings());
  give("position_embeddings", trace.position_embeddings());
  give("embedded", trace.embedded());
  give("input", trace.input());
  give("normed", trace.normed());
  give("query", trace.query());
  give("key", trace.key());
  give("value", trace.value());
  give("scores", trace.scores());
  give("bias", trace.bias());
  give("weights", trace.weights());
  give("sum", trace.sum());
  give("joined", trace.joined());
  give("output", trace.output());
  give("result", trace.result());
}

// Rounds to five significant digits, which a picture has room for.
double FiveDigits(float value) {
  if (!std::isfinite(value)) return 0;
  return std::strtod(fmt::format("{:.5g}", value).c_str(), nullptr);
}

template <typename Values>
nlohmann::json ShortNumbers(const Values& values) {
  nlohmann::json out = nlohmann::json::array();
  for (const float value : values) out.push_back(FiveDigits(value));
  return out;
}

// Returns a token's piece, or its id if the model has no tokenizer.
template <typename Token>
std::string Label(const Token& token) {
  return token.piece().empty() ? fmt::to_string(token.id()) : token.piece();
}

template <typename Tokens>
std::vector<std::string> Labels(const Tokens& tokens) {
  std::vector<std::string> out;
  for (const auto& token : tokens) out.push_back(Label(token));
  return out;
}

// The word that the page has for it.
const char* PositionsName(v1::TracePositions positions) {
  switch (positions) {
    case v1::TRACE_POSITIONS_SINUSOIDAL:
      return "sinusoidal";
    case v1::TRACE_POSITIONS_LEARNED:
      return "learned";
    case v1::TRACE_POSITIONS_ROTARY:
      return "rotary";
    case v1::TRACE_POSITIONS_DISTANCE:
      return "distance";
    case v1::TRACE_POSITIONS_SLOPE:
      return "slope";
    default:
      return "none";
  }
}

nlohmann::json NextTokens(const std::vector<v1::TokenLogprobs>& next) {
  nlohmann::json out = nlohmann::json::array();
  const auto describe = [](const v1::TokenLogprob& one) {
    return nlohmann::json{{"piece", Label(one)},
                          {"logprob", FiveDigits(one.logprob())}};
  };
  for (const v1::TokenLogprobs& one : next) {
    nlohmann::json best = nlohmann::json::array();
    for (const v1::TokenLogprob& other : one.alternatives()) {
      best.push_back(describe(other));
    }
    out.push_back({{"chosen", describe(one.token())}, {"best", best}});
  }
  return out;
}

}  // namespace

std::string HeadPage(const ExplainedHead& head) {
  const v1::HeadTrace& trace = head.trace;
  nlohmann::json rows = nlohmann::json::object();
  ForEachMatrix(trace, [&rows](const char* name, const v1::TraceRows& matrix) {
    rows[name] = {{"columns", matrix.columns()},
                  {"values", ShortNumbers(matrix.values())}};
  });
  nlohmann::json data = {
      {"model", head.model},
      {"text", head.text},
      {"answer", head.answer},
      {"kind", NameOf(head.kind)},
      {"layer", head.layer},
      {"head", head.head},
      {"queries", Labels(trace.queries())},
      {"keys", Labels(trace.keys())},
      {"rows", std::move(rows)},
      {"positions", PositionsName(trace.positions())},
      {"frequencies", ShortNumbers(trace.rotary_frequencies())},
      {"scale", trace.scale()},
      {"soft_cap", trace.soft_cap()},
      {"sink", trace.has_sink() ? nlohmann::json(FiveDigits(trace.sink()))
                                : nlohmann::json(nullptr)},
      {"kv_head", trace.key_value_head()},
      {"heads", trace.head_count()},
      {"layers", trace.layer_count()},
      {"gated", trace.gated()},
      {"parallel", trace.parallel()},
      {"norm_of_output", trace.norm_of_output()},
      {"norm_of_sum", trace.norm_of_sum()},
      {"rms", trace.rms_norm()},
      {"factor", trace.residual_factor()},
      {"seen_begin", trace.seen_begin()},
      {"seen_end", trace.seen_end()},
      {"next", NextTokens(head.next)}};
  return MakePage(kExplainPage, data);
}

void AddArrays(const v1::HeadTrace& trace, NpzWriter* npz) {
  ForEachMatrix(trace, [npz](const char* name, const v1::TraceRows& matrix) {
    npz->Add(name,
             {matrix.values_size() / size_t{matrix.columns()},
              size_t{matrix.columns()}},
             {matrix.values().begin(), matrix.values().end()});
  });
  npz->Add("queries", Labels(trace.queries()));
  npz->Add("keys", Labels(trace.keys()));
}

}  // namespace trivium
