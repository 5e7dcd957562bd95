// A decoder gives the text of a token that is whole characters. Of a part of a
// character it says nothing (or U+FFFD), so the bytes come from the token's
// spelling: "<0xE2>", or GPT-2's alphabet of bytes.
#include "model/tokenizer/token_bytes.h"

#include <memory>
#include <span>
#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_replace.h"
#include "model/tokenizer/byte_alphabet.h"
#include "model/tokenizer/unicode.h"

namespace trivium {
namespace {

constexpr char kReplacement[] = "\xEF\xBF\xBD";  // U+FFFD
constexpr char kSpaceMark[] = "\xE2\x96\x81";    // U+2581

bool HexDigits(const std::string& digits, uint8_t* byte) {
  uint32_t value = 0;
  if (!absl::ascii_isxdigit(digits[0]) ||
      !absl::SimpleHexAtoi(digits, &value)) {
    return false;
  }
  *byte = static_cast<uint8_t>(value);
  return true;
}

std::string BytesOfSpelling(const std::string& piece) {
  if (piece.size() == 6 && piece.starts_with("<0x") && piece.back() == '>') {
    uint8_t byte = 0;
    if (HexDigits(piece.substr(3, 2), &byte)) {
      return std::string(1, static_cast<char>(byte));
    }
  }
  std::string bytes;
  for (size_t at = 0; at < piece.size();) {
    const int byte = ByteOfByteAlphabet(NextCharacter(piece, &at));
    if (byte < 0) return absl::StrReplaceAll(piece, {{kSpaceMark, " "}});
    bytes.push_back(static_cast<char>(byte));
  }
  return bytes;
}

}  // namespace

TokenBytes::TokenBytes(const Tokenizer& tokenizer, bool joining)
    : tokenizer_(tokenizer), joining_(joining) {
  for (const std::string& piece :
       {std::string(kBefore), std::string(kSpaceMark) + kBefore,
        std::string(kBefore) + "</w>"}) {
    const int32_t id = tokenizer.PieceToId(piece, TextSide::kTarget);
    if (id < 0 || tokenizer.Decode(std::span(&id, 1)) != kBefore) continue;
    before_ = id;
    break;
  }
}

std::unique_ptr<StreamingDecoder> TokenBytes::NewDecoder() const {
  return joining_ ? tokenizer_.NewJoiningDecoder()
                  : tokenizer_.NewStreamingDecoder();
}

TokenBytes::Bytes TokenBytes::Of(int32_t id) const {
  const std::unique_ptr<StreamingDecoder> decoder = NewDecoder();
  std::string text;
  if (before_ >= 0) text = decoder->Push(before_);
  text += decoder->Push(id);
  text += decoder->Finish();
  if (before_ >= 0 && text.starts_with(kBefore)) text.erase(0, 1);
  if (!text.empty() && text.find(kReplacement) == text.npos) return {text};
  const std::string piece = tokenizer_.IdToPiece(id, TextSide::kTarget);
  // Some decoders hold back a space until something follows.
  return {BytesOfSpelling(piece), text.empty() && piece != kSpaceMark};
}

}  // namespace trivium
