#include "tests/support/error_texts.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <set>
#include <string>

namespace trivium {
namespace {

// Tests run in the root of the sources.
constexpr char kFile[] = "tests/error_texts.txt";
constexpr char kUpdate[] = "TRIVIUM_UPDATE_ERROR_TEXTS";
constexpr std::string_view kTemporary = "/tmp/";

std::set<std::string>& KnownTexts() {
  static std::set<std::string>* const known = [] {
    auto* const texts = new std::set<std::string>();
    std::ifstream in(kFile);
    for (std::string line; std::getline(in, line);) texts->insert(line);
    return texts;
  }();
  return *known;
}

bool IsDigit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}
bool IsLetter(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0;
}
bool IsPathCharacter(char c) {
  return IsLetter(c) || IsDigit(c) || c == '/' || c == '.' || c == '_' ||
         c == '-';
}

// Returns the end of the number at `at`: digits, a fraction, an exponent.
size_t EndOfNumber(std::string_view text, size_t at) {
  const auto digit = [text](size_t i) {
    return i < text.size() && IsDigit(text[i]);
  };
  const auto skip = [&] {
    while (digit(at)) ++at;
  };
  skip();
  while (text.substr(at).starts_with('.') && digit(at + 1)) {
    ++at;
    skip();
  }
  if (text.substr(at).starts_with('e')) {
    const size_t sign =
        at + 1 < text.size() && (text[at + 1] == '-' || text[at + 1] == '+');
    if (digit(at + 1 + sign)) {
      at += 1 + sign;
      skip();
    }
  }
  return at;
}

// Returns the text with temporary files in /tmp, where they are without TMPDIR.
std::string WithDefaultTempDir(std::string_view text) {
  std::string moved(text);
  const std::string folder = testing::TempDir();
  if (folder == kTemporary) return moved;
  for (size_t at = 0; (at = moved.find(folder, at)) != moved.npos;) {
    moved.replace(at, folder.size(), kTemporary);
    at += kTemporary.size();
  }
  return moved;
}

}  // namespace

std::string NormalizedErrorText(std::string_view original) {
  const std::string text_in_tmp = WithDefaultTempDir(original);
  const std::string_view text = text_in_tmp;
  // As servers and clients name a request: "(request ID)", "[request ID]".
  constexpr std::string_view kRequest = "request ";
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (text.substr(at).starts_with(kTemporary)) {
      out += "TMP";
      // The file's own name stays.
      size_t end = at;
      size_t name = at;
      for (; end < text.size() && IsPathCharacter(text[end]); ++end) {
        if (text[end] == '/') name = end;
      }
      const std::string_view directory = text.substr(at, name - at);
      const bool random = directory.find_first_not_of(
                              '/', kTemporary.size() - 1) == directory.npos;
      if (!random) out += NormalizedErrorText(text.substr(name, end - name));
      at = end;
    } else if ((c == '(' || c == '[') &&
               text.substr(at + 1).starts_with(kRequest)) {
      const size_t end = text.find(c == '(' ? ')' : ']', at);
      out += c;
      out += kRequest;
      out += "ID";
      at = std::min(end, text.size());
    } else if (IsDigit(c) && at > 0 && IsLetter(text[at - 1])) {
      for (; at < text.size() && IsDigit(text[at]); ++at) out += text[at];
    } else if (IsDigit(c)) {
      out += 'N';
      at = EndOfNumber(text, at);
    } else {
      if (c == '\n') {
        out += "\\n";
      } else {
        out += c;
      }
      ++at;
    }
  }
  return out;
}

bool IsKnownErrorText(std::string_view text) {
  std::string line = NormalizedErrorText(text);
  if (KnownTexts().contains(line)) return true;
  if (std::getenv(kUpdate) == nullptr) return false;
  // Several tests may append at once: a line is one write.
  std::ofstream(kFile, std::ios::app) << line + "\n";
  KnownTexts().insert(std::move(line));
  return true;
}

}  // namespace trivium
