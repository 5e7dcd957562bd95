#ifndef TRIVIUM_SERVER_TRANSLATION_MARKUP_WRITER_H_
#define TRIVIUM_SERVER_TRANSLATION_MARKUP_WRITER_H_

#include <string>
#include <string_view>
#include <vector>

#include "server/translation/markup_plan.h"

namespace trivium {

// Writes a sentence's translation with its tags, in order and with white space
// where it belongs. How texts and tags look is the format's.
class MarkupWriter {
 public:
  // All of them outlive it.
  MarkupWriter(const Markup& markup, const Markup::Sentence& sentence,
               std::string_view translation, const MarkupPlan& plan);
  virtual ~MarkupWriter() = default;

  // Once.
  std::string Run();

 protected:
  using Node = MarkupNode;
  using Kind = MarkupPiece::Kind;

  // What is added to the output: a span of the translation, ...
  virtual void AddText(TextSpan span);
  // ... a space that it has not, ...
  virtual void AddSpace() { out_ += ' '; }
  // ... and what a node has before its words, or after them, if anything.
  virtual void AddTag(int id, bool open);
  virtual void End() {}

  const Markup::Tag& tag(size_t i) const { return markup_.tags_[i]; }
  std::string_view BytesOf(const Markup::Tag& tag) const {
    return tag.span().Of(markup_.text_);
  }

  const Markup& markup_;
  const Markup::Sentence& sentence_;
  const std::string_view translation_;
  const std::vector<Node>& nodes_;
  const std::vector<Word>& words_;  // of the translation
  std::string out_;
  bool raw_ = false;  // text has no escapes here

 private:
  void Emit(size_t end);
  void EmitWords(int gap);
  size_t EndBefore(int gap) const;
  size_t BeginAt(int gap) const;
  void Write(int id);
  void WriteVoid(int id);
  void WriteOpaque(int id);

  const std::vector<bool>& dropped_;
  size_t at_ = 0;    // what of the translation is written, in bytes ...
  int written_ = 0;  // ... and words
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_MARKUP_WRITER_H_
