#include "server/handlers/answer_windows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "base/status.h"

namespace trivium {
namespace {

// Where `part` begins in `ids`, from `from` on.
std::optional<size_t> FindPart(const std::vector<int32_t>& ids, size_t from,
                               const std::vector<Token>& part) {
  const auto found = std::search(
      ids.begin() + static_cast<std::ptrdiff_t>(from), ids.end(), part.begin(),
      part.end(),
      [](int32_t id, const Token& token) { return id == token.id; });
  if (found == ids.end()) return std::nullopt;
  return found - ids.begin();
}

// Probabilities of the window's context tokens as one end of an answer, and at
// the end of the list that of its first token.
std::vector<double> Probabilities(const AnswerWindows::Window& window,
                                  const std::vector<float>& logits, int end) {
  std::vector<double> out;
  for (int i = 0; i < window.count; ++i) {
    out.push_back(logits[2 * (window.offset + i) + end]);
  }
  out.push_back(logits[end]);
  const double most = *std::max_element(out.begin(), out.end());
  double sum = 0;
  for (double& value : out) sum += value = std::exp(value - most);
  for (double& value : out) value /= sum;
  return out;
}

bool Better(const FoundAnswer& a, const FoundAnswer& b) {
  if (a.score != b.score) return a.score > b.score;
  return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
}

// Keeps the `top` best, each place once.
void KeepBest(size_t top, std::vector<FoundAnswer>* answers) {
  std::sort(answers->begin(), answers->end(), Better);
  std::vector<FoundAnswer> kept;
  for (const FoundAnswer& answer : *answers) {
    const bool known =
        std::any_of(kept.begin(), kept.end(), [&](const FoundAnswer& other) {
          return other.begin == answer.begin && other.end == answer.end;
        });
    if (!known) kept.push_back(answer);
    if (kept.size() == top) break;
  }
  *answers = std::move(kept);
}

}  // namespace

absl::StatusOr<AnswerWindows> AnswerWindows::Cut(const Tokenizer& tokenizer,
                                                 std::string_view question,
                                                 std::string_view context,
                                                 int max_tokens, int overlap) {
  EncodeOptions plain;
  plain.add_special_tokens = false;
  TRIVIUM_ASSIGN_OR_RETURN(const std::vector<Token> asked,
                           tokenizer.Tokenize(question, plain));
  AnswerWindows out;
  TRIVIUM_ASSIGN_OR_RETURN(out.context, tokenizer.Tokenize(context, plain));
  if (asked.empty() || out.context.empty()) {
    return absl::InvalidArgumentError(fmt::format(
        "has a {} without tokens", asked.empty() ? "question" : "context"));
  }
  // What stands before, between and behind the two is the tokenizer's.
  TRIVIUM_ASSIGN_OR_RETURN(const Encoding pair,
                           tokenizer.EncodePair(question, context, {}));
  const std::optional<size_t> first = FindPart(pair.ids, 0, asked);
  const std::optional<size_t> second =
      first ? FindPart(pair.ids, *first + asked.size(), out.context)
            : std::nullopt;
  if (!second) {
    return absl::FailedPreconditionError(
        "the model's tokenizer makes other tokens of pairs than of texts");
  }
  const size_t behind = *second + out.context.size();
  const int room =
      max_tokens - static_cast<int>(pair.ids.size() - out.context.size());
  if (room < 1) {
    return absl::InvalidArgumentError(
        fmt::format("has a question of {} tokens, which leaves no room for the "
                    "context among the {} that the model reads; shorten it",
                    asked.size(), max_tokens));
  }
  const int all = static_cast<int>(out.context.size());
  const int step = room - std::min(overlap, room / 2);
  for (int begin = 0;; begin += step) {
    Window& window = out.windows.emplace_back();
    window.offset = static_cast<int>(*second);
    window.begin = begin;
    window.count = std::min(room, all - begin);
    const auto copy = [&](const std::vector<int32_t>& from,
                          std::vector<int32_t>* to) {
      if (from.empty()) return;
      to->assign(from.begin(), from.begin() + window.offset);
      to->insert(to->end(), from.begin() + window.offset + begin,
                 from.begin() + window.offset + begin + window.count);
      to->insert(to->end(), from.begin() + static_cast<std::ptrdiff_t>(behind),
                 from.end());
    };
    copy(pair.ids, &window.input.ids);
    copy(pair.type_ids, &window.input.type_ids);
    if (begin + window.count == all) return out;
  }
}

std::vector<FoundAnswer> AnswerWindows::Find(
    const std::vector<std::vector<float>>& logits,
    const AnswerOptions& options) const {
  std::vector<FoundAnswer> best;
  double no_answer = 1;
  for (size_t w = 0; w < windows.size(); ++w) {
    const Window& window = windows[w];
    const std::vector<double> start = Probabilities(window, logits[w], 0);
    const std::vector<double> end = Probabilities(window, logits[w], 1);
    no_answer = std::min(no_answer, start.back() * end.back());
    for (int i = 0; i < window.count; ++i) {
      const int last = static_cast<int>(
          std::min<int64_t>(window.count, int64_t{i} + options.max_tokens));
      for (int j = i; j < last; ++j) {
        best.push_back({window.begin + i, window.begin + j + 1,
                        static_cast<float>(start[i] * end[j]), false});
      }
    }
    KeepBest(options.top, &best);
  }
  if (options.no_answer) {
    best.push_back({0, 0, static_cast<float>(no_answer), true});
    KeepBest(options.top, &best);
  }
  return best;
}

}  // namespace trivium
