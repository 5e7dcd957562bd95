// How well texts are split into sentences: build/dev/bin/sentence_borders
// LANGUAGE FILE...
//
// A file has a sentence a line, or is CoNLL-U, of which the lines "# text ="
// count, and "# newdoc" and "# newpar" begin a paragraph. Sentences are joined
// with a space, plain files' in paragraphs of five, and split again. Prints
// precision, recall and F1 of the borders within paragraphs, as bytes have
// them, once of all sentences, once of pairs of which the first ends with a
// mark of a sentence's end and the second does not begin small: between others
// nothing tells a reader either.
#include <fmt/format.h>

#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "server/translation/sentences.h"

namespace trivium {
namespace {

using Paragraph = std::vector<std::string>;

std::vector<Paragraph> Read(const std::string& path) {
  constexpr size_t kSentences = 5;
  constexpr std::string_view kText = "# text = ";
  const bool conllu = path.ends_with(".conllu");
  std::vector<Paragraph> paragraphs(1);
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (conllu &&
        (line.starts_with("# newdoc") || line.starts_with("# newpar"))) {
      paragraphs.emplace_back();
    }
    if (conllu && !line.starts_with(kText)) continue;
    if (conllu) line = line.substr(kText.size());
    const TextSpan span = WithoutWhiteSpace(line, {0, line.size()});
    if (span.begin == span.end) continue;
    if (!conllu && paragraphs.back().size() == kSentences) {
      paragraphs.emplace_back();
    }
    paragraphs.back().emplace_back(span.Of(line));
  }
  return paragraphs;
}

struct Score {
  int right = 0, found = 0, wanted = 0;
  void Print(const char* name) const {
    const double precision = found == 0 ? 0 : 1.0 * right / found;
    const double recall = wanted == 0 ? 0 : 1.0 * right / wanted;
    fmt::print(
        "{:<12} borders {:>6}  precision {:.4f}  recall {:.4f}  F1 "
        "{:.4f}\n",
        name, wanted, precision, recall,
        2 * precision * recall / (precision + recall));
  }
};

bool HasMark(std::string_view sentence) {
  while (!sentence.empty() &&
         std::string_view("\"')]}\x9C\x9D\x99\xAB\xBB\xE2\x80\xC2")
                 .find(sentence.back()) != std::string_view::npos) {
    sentence.remove_suffix(1);
  }
  for (const char* mark : {".", "!", "?", "…", "。"}) {
    if (sentence.ends_with(mark)) return true;
  }
  return false;
}

void Add(const SentenceSplitter& splitter, const Paragraph& paragraph,
         bool print, Score* all, Score* marked) {
  std::string text;
  std::set<size_t> wanted, bare;
  for (const std::string& sentence : paragraph) {
    if (!text.empty()) {
      const bool small = sentence[0] >= 'a' && sentence[0] <= 'z';
      (HasMark(text) && !small ? wanted : bare).insert(text.size());
      text += ' ';
    }
    text += sentence;
  }
  const auto spans = splitter.Split(text, [] { return absl::OkStatus(); });
  if (!spans.ok()) return;
  std::set<size_t> found;
  for (const TextSpan& span : *spans) {
    if (span.end < text.size()) found.insert(span.end);
  }
  const auto tell = [&](const char* what, size_t at) {
    if (!print) return;
    const size_t begin = at < 40 ? 0 : at - 40;
    fmt::print("{}: {} | {}\n", what, text.substr(begin, at - begin),
               text.substr(at, 40));
  };
  for (const size_t at : found) {
    const bool good = wanted.contains(at);
    all->found += 1;
    marked->found += bare.contains(at) ? 0 : 1;
    all->right += good || bare.contains(at) ? 1 : 0;
    marked->right += good ? 1 : 0;
    if (!good && !bare.contains(at)) tell("too many", at);
  }
  for (const size_t at : wanted) {
    if (!found.contains(at)) tell("missing", at);
  }
  for (const size_t at : bare) {
    if (!found.contains(at)) tell("missing, bare", at);
  }
  all->wanted += static_cast<int>(wanted.size() + bare.size());
  marked->wanted += static_cast<int>(wanted.size());
}

int Main(std::vector<std::string> arguments) {
  const bool print = !arguments.empty() && arguments[0] == "--print";
  if (print) arguments.erase(arguments.begin());
  if (arguments.size() < 2) {
    fmt::print(stderr, "sentence_borders [--print] LANGUAGE FILE...\n");
    return 2;
  }
  const SentenceSplitter splitter(arguments[0]);
  for (size_t i = 1; i < arguments.size(); ++i) {
    Score all, marked;
    const auto paragraphs = Read(arguments[i]);
    for (const Paragraph& paragraph : paragraphs) {
      Add(splitter, paragraph, print, &all, &marked);
    }
    fmt::print("{}\n", arguments[i]);
    all.Print("all");
    marked.Print("with marks");
  }
  return 0;
}

}  // namespace
}  // namespace trivium

int main(int argc, char** argv) {
  return trivium::Main({argv + 1, argv + argc});
}
