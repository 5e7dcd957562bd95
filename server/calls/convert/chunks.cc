// Spans come in bytes or characters and become bytes first. A token belongs to
// a span if they share a character that is no white space: tokens often begin
// with the space before their word. So spans and tokens lose the white space
// around them; then those that overlap share such a character. Tokens are in
// the text's order, so those of a span are neighbours.
//
// The text's words are found once. Thousands of spans may overlap in a text of
// which most is white space, and none may read all of it again.
#include "server/calls/convert/chunks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "base/status.h"
#include "base/utf8.h"
#include "server/errors/status.h"

namespace trivium {
namespace {

constexpr int kMostSpans = 4096;
// Bounds all spans of a text together. They may overlap, so a short request
// could ask for much work.
constexpr int64_t kMostTokens = int64_t{1} << 20;

// A part of the text, in bytes.
struct Part {
  size_t begin = 0;
  size_t end = 0;
  bool empty() const { return begin >= end; }
};

// A token and its part of the text.
struct Placed {
  int index = 0;
  Part part;
};

// Returns the byte at which each character of the text begins, and last the
// text's size.
std::vector<size_t> CharacterBegins(std::string_view text) {
  std::vector<size_t> begins;
  begins.reserve(text.size() + 1);
  for (size_t i = 0; i < text.size(); ++i) {
    if (!IsContinuation(text[i])) begins.push_back(i);
  }
  begins.push_back(text.size());
  return begins;
}

// Returns the parts of the text between white space, ascending.
std::vector<Part> WordsOf(std::string_view text) {
  std::vector<Part> words;
  for (size_t i = 0, size = 0; i < text.size(); i += size) {
    size = FirstCodePoint(text.substr(i)).size;
    if (IsBlank(text.substr(i, size))) continue;
    if (words.empty() || words.back().end < i) words.push_back({i, i});
    words.back().end = i + size;
  }
  return words;
}

// Returns a part without the white space around it; empty if it has nothing
// else.
Part Trim(const std::vector<Part>& words, Part part) {
  const auto first = std::partition_point(
      words.begin(), words.end(),
      [&](const Part& word) { return word.end <= part.begin; });
  const auto behind = std::partition_point(
      first, words.end(),
      [&](const Part& word) { return word.begin < part.end; });
  if (first == behind) return {};
  return {std::max(part.begin, first->begin),
          std::min(part.end, std::prev(behind)->end)};
}

// Returns the spans in bytes, without the white space around them.
absl::StatusOr<std::vector<Part>> ReadSpans(const v1::Chunks& in,
                                            const std::string& path,
                                            std::string_view text,
                                            const std::vector<Part>& words) {
  if (!v1::TextUnit_IsValid(in.unit())) {
    return InvalidField(
        path + ".unit",
        fmt::format("has no value {}", static_cast<int>(in.unit())));
  }
  if (in.spans_size() > kMostSpans) {
    return InvalidField(path + ".spans",
                        fmt::format("has {}; a text has at most {}",
                                    in.spans_size(), kMostSpans));
  }
  const bool characters = in.unit() == v1::TEXT_UNIT_CHARACTER;
  const std::vector<size_t> begins =
      characters ? CharacterBegins(text) : std::vector<size_t>();
  const size_t length = characters ? begins.size() - 1 : text.size();
  std::vector<Part> parts;
  for (int i = 0; i < in.spans_size(); ++i) {
    const v1::Chunks::Span& span = in.spans(i);
    const auto wrong = [&](const std::string& what) {
      return InvalidField(fmt::format("{}.spans[{}]", path, i), what);
    };
    if (span.begin() >= span.end()) {
      return wrong(
          fmt::format("is [{}, {}), which is {}; its end must be "
                      "behind its begin",
                      span.begin(), span.end(),
                      span.begin() == span.end() ? "empty" : "reversed"));
    }
    if (span.end() > length) {
      return wrong(fmt::format("ends at {}, but the text has {} {}", span.end(),
                               length, characters ? "characters" : "bytes"));
    }
    Part part{span.begin(), span.end()};
    if (characters) part = {begins[part.begin], begins[part.end]};
    for (const size_t place : {part.begin, part.end}) {
      if (place < text.size() && IsContinuation(text[place])) {
        return wrong(fmt::format(
            "has the place {} within a character; give whole characters",
            place));
      }
    }
    part = Trim(words, part);
    if (part.empty()) return wrong("has only white space; leave it out");
    parts.push_back(part);
  }
  return parts;
}

// Returns the tokens that are made of the text's words, not of a prompt before
// it, without the white space around them.
std::vector<Placed> PlaceTokensOf(const PreparedInput& input,
                                  const std::vector<Part>& words) {
  std::vector<Placed> placed;
  size_t reached = 0;
  for (size_t i = 0; i < input.tokens.size(); ++i) {
    const Token& token = input.tokens[i];
    if (token.text_index != 0 || token.byte_begin >= token.byte_end) continue;
    const auto in_text = [&](int place) {
      const auto byte = static_cast<size_t>(place);
      return byte - std::min(byte, input.text_begin);
    };
    Part part =
        Trim(words, {in_text(token.byte_begin), in_text(token.byte_end)});
    if (part.empty()) continue;
    // Ends ascend, also where a token stands for what another covers.
    reached = part.end = std::max(part.end, reached);
    placed.push_back({static_cast<int>(i), part});
  }
  return placed;
}

}  // namespace

absl::StatusOr<std::vector<ChunkTokens>> PlaceChunks(
    const v1::Chunks& in, const std::string& path, std::string_view text,
    const PreparedInput& input) {
  const std::vector<Part> words = WordsOf(text);
  TRIVIUM_ASSIGN_OR_RETURN(const std::vector<Part> parts,
                           ReadSpans(in, path, text, words));
  const std::vector<Placed> tokens = PlaceTokensOf(input, words);
  // The part of the text that the model reads.
  const Part read =
      tokens.empty() ? Part{}
                     : Part{tokens.front().part.begin, tokens.back().part.end};
  std::vector<ChunkTokens> chunks;
  int64_t count = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    const Part& part = parts[i];
    ChunkTokens chunk;
    const auto first = std::partition_point(
        tokens.begin(), tokens.end(),
        [&](const Placed& token) { return token.part.end <= part.begin; });
    const auto behind = std::partition_point(
        first, tokens.end(),
        [&](const Placed& token) { return token.part.begin < part.end; });
    if (first != behind) {
      chunk.begin = first->index;
      chunk.end = std::prev(behind)->index + 1;
    }
    chunk.truncated =
        input.truncated > 0 && (part.begin < read.begin || part.end > read.end);
    if (chunk.end == 0 && !chunk.truncated) {
      return InvalidField(fmt::format("{}.spans[{}]", path, i),
                          "has no tokens; leave it out");
    }
    count += chunk.end - chunk.begin;
    if (count > kMostTokens) {
      return InvalidField(
          path + ".spans",
          fmt::format("have more than {} tokens together; give fewer spans, "
                      "or shorter ones",
                      kMostTokens));
    }
    chunks.push_back(chunk);
  }
  return chunks;
}

}  // namespace trivium
