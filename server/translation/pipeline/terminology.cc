// Turns the terms of a glossary into phrases that a search must write. A phrase
// has forms, each a sequence of target tokens:
//   - the term as the tokenizer writes it after other text;
//   - where its script puts no spaces between words, the same without the space
//     that the tokenizer puts in front;
//   - at the beginning of a translation, with a capital.
// A term that the model cannot write byte for byte is refused: a search that
// must write it would write something else.
#include "server/translation/pipeline/terminology.h"

#include <fmt/format.h>
#include <unicode/uchar.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/status.h"
#include "base/utf8.h"
#include "server/errors/status.h"
#include "server/translation/characters.h"

namespace trivium {
namespace {

constexpr size_t kMostTerms = 1024;
constexpr size_t kMostTermBytes = 256;
constexpr size_t kMostTermWords = 64;
constexpr size_t kMostTermTokens = 32;
constexpr size_t kMostEndingLetters = 3;
constexpr int kBeamsOfTerm = 2;

// Tells from a token's piece whether it continues a word. SentencePiece and
// byte-level tokenizers mark spaces; WordPiece marks pieces inside words.
class TokenizerPieces : public WordPieces {
 public:
  explicit TokenizerPieces(const Tokenizer* tokenizer)
      : tokenizer_(*tokenizer) {}

  bool ContinuesWord(int32_t token) const override {
    const std::string piece = PieceOf(token);
    if (tokenizer_.marks_pieces_inside_words()) return piece.starts_with(kMark);
    if (piece.empty()) return false;
    // A space is "▁", or "Ġ" among bytes.
    const UChar32 first = FirstCharacter(piece);
    return first != kByteLevelSpace && u_isalnum(first);
  }

  bool IsEnding(int32_t token) const override {
    const std::string piece = PieceOf(token);
    std::string_view rest = piece;
    if (rest.starts_with(kMark)) rest.remove_prefix(kMark.size());
    size_t letters = 0;
    for (; !rest.empty(); rest.remove_prefix(FirstCodePoint(rest).size)) {
      if (!u_islower(FirstCharacter(rest))) return false;
      ++letters;
    }
    return letters >= 1 && letters <= kMostEndingLetters;
  }

 private:
  static constexpr std::string_view kMark = "##";
  static constexpr UChar32 kByteLevelSpace = 0x120;

  std::string PieceOf(int32_t token) const {
    return tokenizer_.IdToPiece(token, TextSide::kTarget);
  }

  const Tokenizer& tokenizer_;
};

// Returns the tokens of the target vocabulary that write `text`.
absl::StatusOr<std::vector<int32_t>> Encode(const std::string& text,
                                            const std::string& field,
                                            const Tokenizer& tokenizer) {
  EncodeOptions options;
  options.side = TextSide::kTarget;
  options.add_special_tokens = false;
  TRIVIUM_ASSIGN_OR_RETURN(Encoding encoding, tokenizer.Encode(text, options));
  const std::string written = tokenizer.Decode(encoding.ids);
  if (written != text) {
    return InvalidField(
        field, fmt::format("cannot be written by the model, which writes "
                           "'{}' instead; use only characters that it knows",
                           Shorten(written)));
  }
  if (encoding.ids.size() > kMostTermTokens) {
    return InvalidField(field,
                        fmt::format("has {} tokens; a term has at most "
                                    "{}",
                                    encoding.ids.size(), kMostTermTokens));
  }
  return std::move(encoding.ids);
}

// Returns the form without the space that tokenizers put in front of a text;
// nullopt if it has none, or cannot be written without it.
std::optional<std::vector<int32_t>> WithoutSpace(
    const std::vector<int32_t>& form, const Tokenizer& tokenizer) {
  constexpr std::string_view kSpace = "\u2581";
  const std::string piece = tokenizer.IdToPiece(form[0], TextSide::kTarget);
  if (!piece.starts_with(kSpace)) return std::nullopt;
  std::vector<int32_t> bare(form.begin() + 1, form.end());
  if (piece.size() > kSpace.size()) {
    const int32_t id = tokenizer.PieceToId(
        std::string_view(piece).substr(kSpace.size()), TextSide::kTarget);
    if (id < 0) return std::nullopt;
    bare.insert(bare.begin(), id);
  }
  if (bare.empty()) return std::nullopt;
  return bare;
}

}  // namespace

absl::Status CheckTerms(const GlossaryOptions& options,
                        const std::string& path) {
  if (options.terms.empty()) {
    return InvalidField(path, "has no terms; give some, or leave it out");
  }
  if (options.terms.size() > kMostTerms) {
    return InvalidField(path + ".terms",
                        fmt::format("has {}, but a call takes at most {}; "
                                    "send only those in its texts",
                                    options.terms.size(), kMostTerms));
  }
  for (size_t i = 0; i < options.terms.size(); ++i) {
    const GlossaryOptions::Term& term = options.terms[i];
    for (const auto& [name, text] :
         {std::pair<const char*, const std::string&>{"source", term.source},
          {"target", term.target}}) {
      const std::string field = fmt::format("{}.terms[{}].{}", path, i, name);
      if (IsBlank(text)) return InvalidField(field, "is blank");
      if (text.size() > kMostTermBytes) {
        return InvalidField(field, fmt::format("has {} bytes; a term has at "
                                               "most {}",
                                               text.size(), kMostTermBytes));
      }
      if (WithoutWhiteSpace(text, {0, text.size()}).Of(text) != text) {
        return InvalidField(field, "has white space around it");
      }
      if (const size_t words = Glossary::CountWords(text);
          words > kMostTermWords) {
        return InvalidField(field, fmt::format("has {} words and signs; a term "
                                               "has at most {}",
                                               words, kMostTermWords));
      }
    }
  }
  return absl::OkStatus();
}

std::shared_ptr<const WordPieces> WordPiecesOf(const Tokenizer* tokenizer) {
  return std::make_shared<TokenizerPieces>(tokenizer);
}

absl::StatusOr<Terminology> Terminology::Create(const GlossaryOptions& options,
                                                const std::string& path,
                                                std::string_view source,
                                                const Model& writer,
                                                const AliveCheck& check_alive) {
  TRIVIUM_RETURN_IF_ERROR(CheckTerms(options, path));
  if (writer.tokenizer() == nullptr) {
    return absl::FailedPreconditionError(
        path +
        ": the model's folder has no tokenizer, so that no term can be "
        "found; leave it out");
  }
  if (options.inflections && !Glossary::KnowsInflections(source)) {
    return InvalidField(
        path + ".inflections",
        source.empty()
            ? "needs the source language, which neither the call nor the model "
              "names; give source_language, or leave it out"
            : fmt::format("are not known for '{}'; leave it out, and give each "
                          "form as a term",
                          Shorten(source)));
  }
  std::vector<Glossary::Term> terms;
  for (const GlossaryOptions::Term& term : options.terms) {
    terms.push_back({term.source, term.match_case});
  }
  Terminology result(Glossary(terms, source, options.inflections),
                     options.inflections);
  const Tokenizer& tokenizer = *writer.tokenizer();
  for (size_t i = 0; i < options.terms.size(); ++i) {
    TRIVIUM_RETURN_IF_ERROR(check_alive());
    const std::string& target = options.terms[i].target;
    const std::string field = fmt::format("{}.terms[{}].target", path, i);
    RequiredPhrase phrase;
    phrase.whole = !EndsInsideText(target);
    phrase.endings = options.inflections;
    TRIVIUM_ASSIGN_OR_RETURN(phrase.forms.emplace_back(),
                             Encode(target, field, tokenizer));
    if (BeginsInsideText(target)) {
      if (auto bare = WithoutSpace(phrase.forms[0], tokenizer)) {
        phrase.forms.push_back(*std::move(bare));
      }
    }
    if (const std::string capital = WithCapital(target); capital != target) {
      // A model that cannot write the capital writes the term as it is.
      auto form = Encode(capital, field, tokenizer);
      if (form.ok()) phrase.first_forms.push_back(*std::move(form));
    }
    result.targets_.push_back(target);
    result.phrases_.push_back(std::move(phrase));
  }
  result.pieces_ = WordPiecesOf(&tokenizer);
  return result;
}

absl::StatusOr<std::vector<Glossary::Match>> Terminology::Find(
    const Passage& passage, const AliveCheck& check_alive) const {
  const std::vector<TextSpan>& spans = passage.protected_spans;
  TRIVIUM_ASSIGN_OR_RETURN(
      std::vector<Glossary::Match> matches,
      glossary_.Find(passage.span.Of(passage.text), check_alive));
  std::erase_if(matches, [&](Glossary::Match& match) {
    match.span = {passage.span.begin + match.span.begin,
                  passage.span.begin + match.span.end};
    const auto next = std::partition_point(
        spans.begin(), spans.end(),
        [&](TextSpan other) { return other.end <= match.span.begin; });
    return next != spans.end() && next->begin < match.span.end;
  });
  return matches;
}

absl::StatusOr<Terminology::Terms> Terminology::TermsOf(
    const Passage& passage, std::span<const TextSpan> tokens, bool all,
    const AliveCheck& check_alive) const {
  TRIVIUM_ASSIGN_OR_RETURN(const std::vector<Glossary::Match> matches,
                           Find(passage, check_alive));
  Terms terms;
  for (const Glossary::Match& match : matches) {
    const bool full = terms.phrases.size() == kMaxRequiredPhrases;
    if (full && all) {
      terms.uses = matches.size();
      break;
    }
    std::vector<int32_t> source;
    for (size_t i = 0; i < tokens.size(); ++i) {
      if (tokens[i].begin < tokens[i].end && tokens[i].begin < match.span.end &&
          tokens[i].end > match.span.begin) {
        source.push_back(static_cast<int32_t>(i));
      }
    }
    if (source.empty() && !all) continue;
    ++terms.uses;
    if (full) continue;
    terms.phrases.emplace_back(phrases_[match.term]).source = std::move(source);
  }
  return terms;
}

void Terminology::Require(const std::vector<RequiredPhrase>& phrases,
                          int max_beam_size, DecodingOptions* decoding) const {
  if (phrases.empty()) return;
  decoding->required = phrases;
  decoding->word_pieces = pieces_;
  const int more = kBeamsOfTerm * static_cast<int>(phrases.size());
  decoding->beam_size = std::max(
      decoding->beam_size, std::min(decoding->beam_size + more, max_beam_size));
}

absl::Status Terminology::Report(const Passage& passage,
                                 const AliveCheck& check_alive,
                                 TranslatedText* translation) const {
  TRIVIUM_ASSIGN_OR_RETURN(const std::vector<Glossary::Match> matches,
                           Find(passage, check_alive));
  // `needed`: how often the source has had each target term so far. `counts`:
  // how often each hypothesis has it.
  std::map<std::string_view, size_t> needed;
  std::map<std::pair<std::string_view, size_t>, size_t> counts;
  for (const auto& [term, span] : matches) {
    TermUse& use = translation->term_uses.emplace_back(TermUse{term, span});
    const std::string& target = targets_[term];
    const size_t needed_now = ++needed[target];
    for (size_t h = 0; h < translation->hypotheses.size(); ++h) {
      const auto [count, added] = counts.try_emplace({target, h});
      if (added) {
        count->second =
            CountTerm(translation->hypotheses[h].text, target, endings_);
      }
      if (count->second < needed_now) use.missing.push_back(h);
    }
  }
  return absl::OkStatus();
}

}  // namespace trivium
