// The library is correct but slow or unbounded for some texts, so three
// measures surround it, none of which changes a piece.
//
// Slices: a long text is cut at white space where the pieces on both sides stay
// the same. Whether a model allows such cuts depends on its file, so the
// constructor tries them on short examples (CutsAt) and keeps those that hold.
//
// Elisions: long runs of unknown characters, which become one piece, are
// shortened before encoding, and offsets are corrected afterwards.
//
// Limits: Parse counts the nodes that the library's trie would have, and
// catches what the library throws. An interrupted call ends between two slices.
#include "model/tokenizer/sentencepiece_model.h"

#include <sentencepiece_processor.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iterator>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/utf8.h"
#include "model/tokenizer/interruption.h"
#include "model/tokenizer/piece_trie.h"
#include "model/tokenizer/unicode.h"

namespace trivium {
namespace {

constexpr std::string_view kSpaceSymbol = "\xE2\x96\x81";

// Returns the bytes that a character may become, if that is far more than
// `bytes`. Of all characters that NFKC knows, only these ligatures (U+FDFA: 18
// characters) become more than four times as long.
size_t NormalizedBytes(char32_t character, size_t bytes) {
  return character == 0xFDFA || character == 0xFDFB ? 40 : bytes;
}

// True if a character may stand beside a cut: it does not interact with the
// white space there.
bool IsOfWord(char32_t c) {
  return c < 0x80 ? c > ' ' && c != 0x7F : IsLetter(c) || IsPunctuation(c);
}

// Part of a text that was left out before encoding.
struct Elision {
  size_t position;  // in the shortened text
  size_t bytes;
};

// Reads the fields of a serialized protocol buffer as far as it is valid.
class WireFields {
 public:
  explicit WireFields(std::string_view bytes) : rest_(bytes) {}

  // Returns the next field of this number that has a length (a string or a
  // message).
  std::optional<std::string_view> Next(uint64_t number) {
    while (!rest_.empty()) {
      const uint64_t key = Varint();
      switch (key & 7) {
        case 0:
          Varint();
          break;
        case 1:
          Take(8);
          break;
        case 2: {
          const std::string_view value = Take(Varint());
          if (key >> 3 == number) return value;
          break;
        }
        case 5:
          Take(4);
          break;
        default:
          return std::nullopt;
      }
    }
    return std::nullopt;
  }

 private:
  uint64_t Varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const uint8_t byte = static_cast<uint8_t>(Take(1)[0]);
      value |= uint64_t{byte & 0x7Fu} << shift;
      if (byte < 0x80) break;
    }
    return value;
  }
  std::string_view Take(uint64_t size) {
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(taken.size());
    return taken;
  }

  std::string_view rest_;
};

// SentencePiece's trie takes 14 bytes and over half a microsecond for each
// node. This allows a million pieces with six unshared bytes each.
constexpr size_t kMaxTrieNodes = 6'000'000;

// Counts the nodes of the model's pieces: ModelProto's field 1, with the text
// in its field 1.
size_t TrieNodes(std::string_view serialized) {
  std::vector<std::string_view> pieces;
  WireFields model(serialized);
  while (const std::optional<std::string_view> piece = model.Next(1)) {
    pieces.push_back(WireFields(*piece).Next(1).value_or(""));
  }
  std::sort(pieces.begin(), pieces.end());
  return CountTrieNodes(pieces, [](std::string_view piece) { return piece; });
}

}  // namespace

struct SentencePieceModel::Processor : sentencepiece::SentencePieceProcessor {};

struct SentencePieceModel::RawPiece {
  Piece piece;
  bool unknown;
};

std::unique_ptr<SentencePieceModel> SentencePieceModel::Parse(
    std::string_view serialized, std::string* error, bool without_prefix) {
  if (TrieNodes(serialized) > kMaxTrieNodes) {
    *error = "its pieces are longer than those of any model";
    return nullptr;
  }
  auto processor = std::make_unique<Processor>();
  // SentencePiece's trie throws for an empty piece, for example.
  try {
    std::string changed;
    if (without_prefix) {
      // Appends ModelProto's normalizer_spec (3) with add_dummy_prefix (3) =
      // false: the last occurrence of a field counts.
      changed = std::string(serialized) + std::string("\x1A\x02\x18\x00", 4);
      serialized = changed;
    }
    const auto status = processor->LoadFromSerializedProto(serialized);
    if (!status.ok()) {
      *error = status.ToString();
      return nullptr;
    }
  } catch (const std::exception& exception) {
    *error = exception.what();
    return nullptr;
  }
  if (processor->GetPieceSize() == 0) {
    *error = "it has no pieces";
    return nullptr;
  }
  return std::unique_ptr<SentencePieceModel>(
      new SentencePieceModel(std::move(processor)));
}

SentencePieceModel::SentencePieceModel(std::unique_ptr<Processor> processor)
    : processor_(std::move(processor)) {
  for (int id = 0; id < processor_->GetPieceSize() && !byte_fallback_; ++id) {
    byte_fallback_ = processor_->IsByte(id);
  }
  words_alone_ =
      !processor_->IsUnknown(processor_->PieceToId(std::string(kSpaceSymbol)));
  for (int id = 0; id < processor_->GetPieceSize() && words_alone_; ++id) {
    std::string_view piece = processor_->IdToPiece(id);
    while (piece.starts_with(kSpaceSymbol)) {
      piece.remove_prefix(kSpaceSymbol.size());
    }
    words_alone_ = piece.find(kSpaceSymbol) == std::string_view::npos &&
                   piece.find(' ') == std::string_view::npos;
  }
  const std::vector<RawPiece> pieces = EncodeRaw("a");
  adds_prefix_ =
      !pieces.empty() && pieces.front().piece.text.starts_with(kSpaceSymbol);
  for (const std::string_view space : {" ", "\n", "\xE3\x80\x80"}) {
    const Cut cut = {space, /*goes=*/adds_prefix_};
    if (words_alone_ && CutsAt(cut)) cuts_.push_back(cut);
  }
}

bool SentencePieceModel::CutsAt(const Cut& cut) const {
  for (const std::string_view left : {"a", "The", "9.", "\xC3\xA9"}) {
    for (const std::string_view right : {"b", "of", "(7)", "\xE4\xB8\xAD"}) {
      std::string whole(left);
      whole += cut.space;
      whole += right;
      const std::string second =
          cut.goes ? std::string(right)
                   : std::string(cut.space) + std::string(right);
      std::vector<RawPiece> apart = EncodeRaw(left);
      for (RawPiece& raw : EncodeRaw(second)) apart.push_back(std::move(raw));
      const std::vector<RawPiece> joined = EncodeRaw(whole);
      if (!std::equal(joined.begin(), joined.end(), apart.begin(), apart.end(),
                      [](const RawPiece& a, const RawPiece& b) {
                        return a.piece.text == b.piece.text;
                      })) {
        return false;
      }
    }
  }
  return true;
}

SentencePieceModel::~SentencePieceModel() = default;

int SentencePieceModel::size() const { return processor_->GetPieceSize(); }

const std::string& SentencePieceModel::PieceOf(int id) const {
  return processor_->IdToPiece(id);
}

std::vector<SentencePieceModel::RawPiece> SentencePieceModel::EncodeRaw(
    std::string_view text) const {
  sentencepiece::ImmutableSentencePieceText encoded;
  std::vector<RawPiece> pieces;
  if (!processor_->Encode(text, encoded.mutable_proto()).ok()) return pieces;
  pieces.reserve(encoded.pieces_size());
  for (size_t i = 0; i < encoded.pieces_size(); ++i) {
    const auto piece = encoded.pieces(static_cast<int>(i));
    pieces.push_back({{piece.piece(), piece.begin(), piece.end()},
                      processor_->IsUnknown(static_cast<int>(piece.id()))});
  }
  // SentencePiece assigns a character's whole range to the last piece made of
  // it, and empty ranges to the others.
  for (size_t i = pieces.size(); i-- > 1;) {
    Piece& piece = pieces[i - 1].piece;
    const Piece& next = pieces[i].piece;
    if (piece.begin == piece.end && next.begin == piece.begin &&
        piece.text != kSpaceSymbol) {
      piece.end = next.end;
    }
  }
  return pieces;
}

bool SentencePieceModel::UnknownAlone(std::string_view character) const {
  const std::vector<RawPiece> pieces = EncodeRaw(character);
  if (pieces.empty() || !pieces.back().unknown) return false;
  return pieces.size() == 1 ||
         (pieces.size() == 2 && pieces[0].piece.text == kSpaceSymbol);
}

// SentencePiece takes 200 bytes of memory for each byte that it normalizes,
// needs quadratic time for runs that are no words, and cannot be interrupted (a
// KiB takes up to 3 ms). So long texts are encoded in slices. After kSliceBytes
// a slice ends at the first place where a cut changes nothing; after
// kLongBytes, at the next known character; after kMostBytes, anywhere.
std::pair<size_t, size_t> SentencePieceModel::SliceEnd(std::string_view text,
                                                       size_t begin) const {
  constexpr size_t kSliceBytes = 4 << 10;
  constexpr size_t kLongBytes = 8 << 10;
  if (text.size() - begin <= kSliceBytes / 4) {
    return {text.size(), text.size()};
  }
  size_t bytes = 0;
  bool after_word = false;
  for (size_t at = begin; at < text.size();) {
    if (bytes > kSliceBytes && after_word) {
      for (const Cut& cut : cuts_) {
        const size_t next = at + cut.space.size();
        if (next < text.size() && text.substr(at).starts_with(cut.space) &&
            IsOfWord(FirstCodePoint(text.substr(next)).value)) {
          return {at, cut.goes ? next : at};
        }
      }
    }
    const CodePoint character = FirstCodePoint(text.substr(at));
    // Never within a run of unknown characters, which is one piece.
    if (bytes > kMostBytes ||
        (bytes > kLongBytes &&
         !UnknownAlone(text.substr(at, character.size)))) {
      return {at, at};
    }
    after_word = IsOfWord(character.value);
    bytes += NormalizedBytes(character.value, character.size);
    at += character.size;
  }
  return {text.size(), text.size()};
}

std::vector<SentencePieceModel::Piece> SentencePieceModel::Encode(
    std::string_view text) const {
  std::vector<Piece> pieces;
  for (size_t begin = 0, space = 0; begin < text.size();) {
    const auto [end, next] = SliceEnd(text, begin);
    if (Interrupted(end - begin)) break;
    std::vector<Piece> slice = EncodeSlice(text.substr(begin, end - begin));
    for (Piece& piece : slice) {
      piece.begin += begin;
      piece.end += begin;
    }
    // The space that was cut away belongs to the piece after it.
    if (!slice.empty() && space < begin) slice.front().begin = space;
    if (pieces.empty()) {
      pieces = std::move(slice);
    } else {
      std::move(slice.begin(), slice.end(), std::back_inserter(pieces));
    }
    space = end;
    begin = next;
  }
  return pieces;
}

std::vector<SentencePieceModel::Piece> SentencePieceModel::EncodeSlice(
    std::string_view text) const {
  // SentencePiece joins neighbouring unknown characters into one piece in time
  // quadratic in their number. The inside of a long run does not affect its
  // surroundings, so it is left out.
  constexpr size_t kLongText = 8 << 10;
  constexpr size_t kKept = 16;  // characters at each end of a run
  std::string shortened;
  std::vector<Elision> elisions;
  if (!byte_fallback_ && text.size() > kLongText) {
    std::unordered_map<std::string_view, bool> unknown;
    std::vector<size_t>
        run;  // beginnings of the unknown characters just before `at`
    const auto end_run = [&](size_t end) {
      if (run.size() > 4 * kKept) {
        const size_t from = run[kKept];
        const size_t to = run[run.size() - kKept];
        shortened.resize(shortened.size() - (end - from));
        elisions.push_back({shortened.size(), to - from});
        shortened += text.substr(to, end - to);
      }
      run.clear();
    };
    for (size_t at = 0; at < text.size();) {
      const std::string_view character =
          text.substr(at, FirstCodePoint(text.substr(at)).size);
      const auto [entry, is_new] = unknown.try_emplace(character, false);
      if (is_new) entry->second = UnknownAlone(character);
      if (!entry->second) end_run(at);
      if (entry->second) run.push_back(at);
      shortened += character;
      at += character.size();
    }
    end_run(text.size());
  }

  std::vector<Piece> pieces;
  for (RawPiece& raw : EncodeRaw(elisions.empty() ? text : shortened)) {
    pieces.push_back(std::move(raw.piece));
  }
  size_t passed = 0;  // elisions entirely before the current piece
  size_t bytes = 0;   // bytes that they left out
  for (Piece& piece : pieces) {
    const size_t begin = piece.begin;
    while (passed < elisions.size() && elisions[passed].position < begin) {
      bytes += elisions[passed++].bytes;
    }
    size_t inside = 0;
    for (size_t i = passed;
         i < elisions.size() && elisions[i].position < piece.end; ++i) {
      inside += elisions[i].bytes;
    }
    piece.end += bytes + inside;
    piece.begin += bytes;
    if (inside > 0) {
      piece.text = text.substr(piece.begin, piece.end - piece.begin);
    }
  }
  return pieces;
}

SentencePieceModel::Kind SentencePieceModel::KindOf(
    std::string_view piece) const {
  const int id = processor_->PieceToId(piece);
  // "<0xE2>"
  if (processor_->IsByte(id) && piece.size() == 6) return Kind::kByte;
  if (processor_->IsControl(id)) return Kind::kControl;
  return Kind::kText;
}

}  // namespace trivium
