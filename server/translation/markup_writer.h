#ifndef TRIVIUM_SERVER_TRANSLATION_MARKUP_WRITER_H_
#define TRIVIUM_SERVER_TRANSLATION_MARKUP_WRITER_H_

#include <string>
#include <string_view>
#include <vector>

#include "server/translation/markup_plan.h"

namespace trivium {

// Writes a sentence's translation with its tags in order, and with white space
// where it belongs. Subclasses define how a format writes texts and tags; this
// class writes HTML and XML.
class MarkupWriter {
 public:
  // All arguments must outlive this object.
  MarkupWriter(const Markup& markup, const Markup::Sentence& sentence,
               std::string_view translation, const MarkupPlan& plan);
  virtual ~MarkupWriter() = default;

  // Returns the result. Call it only once.
  std::string Run();

 protected:
  using Node = MarkupNode;
  using Kind = MarkupPiece::Kind;

  // Appends a span of the translation to the output.
  virtual void AddText(TextSpan span);
  // Appends a space that the translation does not have.
  virtual void AddSpace() { out_ += ' '; }
  // Appends the tag before a node's words if `open`, or the tag after them.
  // Does nothing if the node has no such tag.
  virtual void AddTag(int id, bool open);
  // Called after everything is written.
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
  bool raw_ = false;  // true where text has no escapes

 private:
  void Emit(size_t end);
  void EmitWords(int gap);
  size_t EndBefore(int gap) const;
  size_t BeginAt(int gap) const;
  void Write(int id);
  void WriteVoid(int id);
  void WriteOpaque(int id);

  const std::vector<bool>& dropped_;
  size_t at_ = 0;    // bytes of the translation written so far
  int written_ = 0;  // words of the translation written so far
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_MARKUP_WRITER_H_
