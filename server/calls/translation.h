#ifndef TRIVIUM_SERVER_CALLS_TRANSLATION_H_
#define TRIVIUM_SERVER_CALLS_TRANSLATION_H_

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/calls/convert/convert.h"
#include "server/calls/markup_alignment.h"
#include "server/calls/pivot_text.h"
#include "server/calls/protection.h"
#include "server/calls/result_checks.h"
#include "server/calls/terminology.h"
#include "server/calls/text_parts.h"
#include "server/calls/token_counts.h"
#include "server/translation/markup.h"
#include "server/translation/sentences.h"

namespace trivium {

// The markup of a text, "inputs[3].text", in a request's format; none of a
// plain one's. INVALID_ARGUMENT: it is not what the format says.
absl::StatusOr<std::optional<Markup>> ParseMarkup(v1::TextFormat format,
                                                  const std::string& text,
                                                  const std::string& path);

// What Translate and TranslateStream share: the options of a call, checked
// once, and from them the requests of each input, one a sentence, and its
// result. Immutable.
class Translation {
 public:
  // `path` of `options` in its message, "options"; `goes_on`: another model
  // translates what this one writes (PrepareParts); `wanted` as InputOptions'.
  static absl::StatusOr<Translation> Create(
      const Environment& environment, const ServedModel& model,
      const v1::TranslateOptions& options, const std::string& path,
      bool goes_on, std::function<absl::Status()> wanted);

  // The tag of the language that the model reads; empty: not known.
  const std::string& source_language() const {
    return input_options_.direction.source_language;
  }

  // What is asked of the model for a part: the part itself, with placeholders
  // for what is protected, or what is between, piece after piece.
  struct Asked {
    size_t part = 0;
    PreparedInput input;
    int style = 0;        // of the placeholders, or kInPieces
    bool second = false;  // what checks found is tried again
    TextSpan words;       // of what is read: the part, or a piece of it
    // [input.source.ids], in the item's text; empty where nobody asks what
    // the translation's words stand for.
    std::vector<TextSpan> tokens = {};
    Terminology::Terms terms = {};  // of the glossary
  };
  struct Pieces {
    TextParts text;  // the part
    std::vector<v1::TranslateResult> results;
    std::vector<std::vector<Alignment>> alignments;  // [results][hypotheses]
  };
  // An input on its way. Requests come in rounds: those of a part whose
  // translation lacks what is protected follow when it is known, and second
  // tries of those that look suspicious.
  //
  //   item = translation.Prepare(input, path)
  //   while (!item.done()) {
  //     submit item.requests, which are the caller's to take
  //     translation.Take(&item, result) of each, in their order
  //   }
  //   translation.Result(std::move(item))
  struct Item {
    TextParts text;  // of a text with markup what people read of it
    std::vector<Request> requests;  // to submit; none where all is blank
    int64_t response_bytes = 0;     // about, of what grows without text

    bool done() const { return asked.empty(); }

    // Translation's own.
    std::string path;
    std::optional<Markup> markup;
    std::deque<Asked> asked;  // what no result was taken of, in order
    std::vector<v1::TranslateResult> results;  // [text.parts], the best so far
    std::vector<int> losses;                   // [text.parts] of these
    std::vector<Alignment> alignments;  // [text.parts] of these, if it goes on
    std::map<size_t, Pieces> pieces;    // of parts that are in pieces
    // What another model has made of each of the parts, and this one reads.
    std::optional<PivotText> pivot;

    const TextParts& read() const { return pivot ? pivot->text : text; }
  };

  // Reads what Create has left of the options because it takes long: the
  // patterns of protected spans, which are compiled, and the glossary's terms,
  // which are tokenized; before the first input. `language`: the tag of that
  // of the texts, empty where it is not known.
  absl::Status ReadPatternsAndTerms(const v1::TranslateOptions& options,
                                    const std::string& path,
                                    std::string_view language);
  // The same for one that goes on: what `last`, whose model writes the
  // translations, has read.
  void TakePatternsAndTerms(const Translation& last);
  // Splits and tokenizes. `path`: "inputs[3]"; `markup`: the text's, where the
  // caller has needed it already.
  absl::StatusOr<Item> Prepare(
      const v1::Input& input, const std::string& path,
      std::optional<Markup> markup = std::nullopt) const;
  // The same of an item whose parts another model, whose Translation went on,
  // has translated to `results`, [item->text.parts]; the first hypothesis of
  // each is asked about as it is, undivided.
  absl::Status PrepareParts(const std::vector<v1::TranslateResult>& results,
                            Item* item) const;
  absl::Status Take(Item* item, RequestResult result) const;
  v1::TranslateResult Result(Item item) const;

 private:
  Translation() = default;

  absl::Status ReadSplit(const v1::TranslateOptions& options,
                         const std::string& path);
  absl::Status CheckProtection(const v1::TranslateOptions& options,
                               const std::string& path) const;
  absl::Status ReadGlossary(const v1::TranslateOptions& options,
                            const std::string& path, std::string_view language);
  absl::Status ReadFormat(const v1::TranslateOptions& options,
                          const std::string& path);
  absl::Status ReadChecks(const v1::TranslateOptions& options,
                          const std::string& path, const RequestLimits& limits);
  absl::Status ReadWords(const v1::TranslateOptions& options,
                         const std::string& path);
  // INVALID_ARGUMENT where an input does not go with the options.
  absl::Status CheckKind(const v1::Input& input, const std::string& path) const;
  absl::Status PrepareSentences(const v1::Input& input, Item* item) const;
  // The text's sentences, or the text itself, and what of it is kept.
  absl::StatusOr<std::vector<TextSpan>> Sentences(const Item& item) const;
  absl::StatusOr<std::vector<TextSpan>> Kept(const Item& item) const;
  // Of span of item's text, or parts of it. `kept`: all of the text's.
  // `counts`: of a sentence that is far too long; null of others.
  absl::Status AddSentence(const v1::Input& input, TextSpan span, bool cut,
                           const std::vector<TextSpan>& kept,
                           const TokenCounts* counts, Item* item) const;
  // Of what is before `middle`, a place in the item's text, and after it.
  absl::Status AddHalves(const v1::Input& input, TextSpan span, size_t middle,
                         const std::vector<TextSpan>& kept,
                         const TokenCounts* counts, Item* item) const;
  // Sentences of a text are bounded as a call's inputs are.
  static absl::Status CheckCount(size_t sentences, const std::string& path,
                                 const RequestLimits& limits);
  // INVALID_ARGUMENT where there are more than a call's sentences may have.
  absl::StatusOr<TokenCounts> CountTokens(TextSpan span,
                                          const Item& item) const;
  // Appends a request, unless the input is too long and `divides`; tells
  // whether.
  absl::StatusOr<bool> Ask(const v1::Input& input, bool divides, Asked asked,
                           Item* item) const;
  // The same of a part, with placeholders for what of it is kept; where no
  // style is left, in pieces.
  absl::StatusOr<bool> AskPart(v1::Input input, bool divides, Asked asked,
                               Item* item) const;
  // Whether tags of the part are put where words are.
  static bool TagsNeedWords(const Item& item, size_t part);
  // The glossary's terms in what is asked, and the places of its tokens where
  // they are needed, once it is tokenized. `read`: the text, perhaps with
  // placeholders.
  absl::Status FindTermsAndWords(const std::string& read, const Item& item,
                                 Asked* asked) const;
  absl::Status AddRequest(Asked asked, Item* item) const;
  // Asks for a protected part with placeholders of the style, or the next one
  // that serves, at last in pieces; does nothing where there is no other way.
  absl::Status Try(Asked asked, Item* item) const;
  absl::Status TryInPieces(Asked asked, Item* item) const;
  // Asks again about a part of which checks found something.
  absl::Status TryAgain(Asked asked, Item* item) const;
  // Takes what was made of a part, unless what is there is as good.
  static void Keep(v1::TranslateResult made, Alignment alignment, int losses,
                   const Asked& asked, Item* item);
  v1::TranslateResult PartResult(const Asked& asked, const Item& item,
                                 RequestResult result) const;
  // Where there is markup: what hypotheses' words stand for, and the part's
  // tags put into the hypotheses.
  std::vector<Alignment> Align(const Asked& asked,
                               const RequestResult& result) const;
  absl::Status PutMarkup(const Item& item, const TextParts::Part& part,
                         const std::vector<Alignment>& alignments,
                         v1::TranslateResult* result) const;
  // What is asked for is decoded so.
  const CallDecoding& DecodingOf(const Asked& asked) const;
  // Whether an input may have several parts.
  absl::Status CheckSeveral(const v1::Input& input,
                            const std::string& path) const;

  const Model* model_ = nullptr;
  InputOptions input_options_;
  CallDecoding decoding_;
  bool tokens_ = false;
  bool goes_on_ = false;
  std::string path_;                         // of the options
  v1::Split split_ = v1::SPLIT_UNSPECIFIED;  // as the request's
  // A translation is about as long as its source, a summary as the task says.
  bool per_source_ = true;
  bool sentences_ = false;
  std::optional<SentenceSplitter> splitter_;  // unless SPLIT_NONE
  std::optional<v1::TextFormat> format_;      // of markup
  // With markup, too: some of that stands for a word.
  std::shared_ptr<const SpanProtection> protection_;
  std::optional<ResultChecks> checks_;
  bool words_ = false;
  std::shared_ptr<const Terminology> glossary_;
  std::optional<MapSelection> cross_attention_;
  std::optional<MapSelection> decoder_attention_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_TRANSLATION_H_
