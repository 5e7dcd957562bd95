// A window has room for a part of the context; the next window begins `step`
// tokens later, which is `room` without the overlap. So max_windows bound the
// tokens of the context, and only a beginning of a longer one is tokenized
// before it is refused. Question and context are tokenized without special
// tokens. Then the tokenizer says once what it puts around a pair (Frame), and
// each window is that frame around its part of the context. So the tokens of
// the context, and their places in it, are the same in every window.
#include "server/calls/answer_windows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/status.h"

namespace trivium {
namespace {

// Returns the probability of each context token of the window as one end of an
// answer, and last that of the window's first token. `end` 0: the start; 1: the
// end.
std::vector<double> Probabilities(const AnswerWindows::Window& window,
                                  std::span<const float> logits, int end) {
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

// The tokens that a model's tokenizer puts around the context of a pair.
struct Frame {
  std::vector<Token> front;  // including the question
  std::vector<Token> back;
  int32_t type_id = 0;  // of the context

  // `joined` is a pair of the question and some of a context.
  static Frame Of(std::vector<Token> joined) {
    const auto of_context = [](const Token& token) {
      return token.text_index == 1;
    };
    const auto first = std::find_if(joined.begin(), joined.end(), of_context);
    const auto last = std::find_if_not(first, joined.end(), of_context);
    Frame frame;
    frame.type_id = first->type_id;
    frame.front.assign(joined.begin(), first);
    frame.back.assign(last, joined.end());
    return frame;
  }
};

absl::Status TooManyWindows(int64_t windows, int max_windows, int room) {
  return absl::InvalidArgumentError(fmt::format(
      "has a context that needs at least {} windows, and a call may have {} "
      "together; beside the question a window has room for {} tokens of the "
      "context: shorten the question, cut the context, or give a smaller "
      "overlap",
      windows, max_windows, room));
}

}  // namespace

absl::StatusOr<AnswerWindows> AnswerWindows::Cut(const Tokenizer& tokenizer,
                                                 std::string_view question,
                                                 std::string_view context,
                                                 const Options& options) {
  EncodeOptions plain;
  plain.add_special_tokens = false;
  plain.check_alive = options.check_alive;
  plain.most_tokens = options.max_tokens;
  TRIVIUM_ASSIGN_OR_RETURN(std::vector<Token> asked,
                           tokenizer.Tokenize(question, plain));
  const int64_t room = int64_t{options.max_tokens} -
                       tokenizer.special_token_count(/*pair=*/true) -
                       static_cast<int64_t>(asked.size());
  if (room < 1) {
    return absl::InvalidArgumentError(
        fmt::format("has a question of at least {} tokens, which leaves no "
                    "room for the context among the {} that the model reads; "
                    "shorten it",
                    asked.size(), options.max_tokens));
  }
  const int64_t step = room - std::min<int64_t>(options.overlap, room / 2);
  AnswerWindows out;
  plain.most_tokens = room + (options.max_windows - 1) * step;
  TRIVIUM_ASSIGN_OR_RETURN(out.context, tokenizer.Tokenize(context, plain));
  if (asked.empty() || out.context.empty()) {
    return absl::InvalidArgumentError(fmt::format(
        "has a {} without tokens", asked.empty() ? "question" : "context"));
  }
  const auto all = static_cast<int64_t>(out.context.size());
  if (all > plain.most_tokens) {
    return TooManyWindows(1 + (all - room + step - 1) / step,
                          options.max_windows, static_cast<int>(room));
  }
  // The tokenizer decides what stands before, between and behind the two.
  TRIVIUM_ASSIGN_OR_RETURN(
      std::vector<Token> joined,
      tokenizer.AddSpecialTokens(std::move(asked),
                                 std::vector<Token>{out.context.front()}));
  const Frame frame = Frame::Of(std::move(joined));
  for (int64_t begin = 0;; begin += step) {
    Window& window = out.windows.emplace_back();
    window.offset = static_cast<int>(frame.front.size());
    window.begin = static_cast<int>(begin);
    window.count = static_cast<int>(std::min(room, all - begin));
    const auto add = [&window](const Token& token, int32_t type_id) {
      window.input.ids.push_back(token.id);
      window.input.type_ids.push_back(type_id);
    };
    for (const Token& token : frame.front) add(token, token.type_id);
    for (int i = 0; i < window.count; ++i) {
      add(out.context[begin + i], frame.type_id);
    }
    for (const Token& token : frame.back) add(token, token.type_id);
    if (begin + window.count == all) return out;
  }
}

void AnswerSearch::Add(const AnswerWindows::Window& window,
                       std::span<const float> logits) {
  const std::vector<double> start = Probabilities(window, logits, 0);
  const std::vector<double> end = Probabilities(window, logits, 1);
  no_answer_ = std::min(no_answer_, start.back() * end.back());
  for (int i = 0; i < window.count; ++i) {
    const int last = static_cast<int>(
        std::min<int64_t>(window.count, int64_t{i} + options_.max_tokens));
    for (int j = i; j < last; ++j) {
      Offer({window.begin + i, window.begin + j + 1,
             static_cast<float>(start[i] * end[j]), false});
    }
  }
}

std::vector<FoundAnswer> AnswerSearch::Finish() {
  if (options_.no_answer) {
    Offer({0, 0, static_cast<float>(no_answer_), true});
  }
  return std::move(best_);
}

// Keeps the `top` best, each place once.
void AnswerSearch::Offer(const FoundAnswer& answer) {
  const bool full = best_.size() == options_.top;
  if (full && !Better(answer, best_.back())) return;
  const auto same =
      std::find_if(best_.begin(), best_.end(), [&](const FoundAnswer& other) {
        return other.begin == answer.begin && other.end == answer.end;
      });
  if (same != best_.end()) {
    if (!Better(answer, *same)) return;
    best_.erase(same);
  } else if (full) {
    best_.pop_back();
  }
  best_.insert(std::upper_bound(best_.begin(), best_.end(), answer, Better),
               answer);
}

}  // namespace trivium
