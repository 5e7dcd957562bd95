#ifndef TRIVIUM_MODEL_LEXICAL_SHORTLIST_H_
#define TRIVIUM_MODEL_LEXICAL_SHORTLIST_H_

#include <string>

#include "absl/status/statusor.h"
#include "model/transformer/shortlist.h"

namespace trivium {

// The vocabularies that a lexical shortlist maps between, in tokens.
struct ShortlistVocabularies {
  int source = 0, target = 0;
  bool shared = false;  // one vocabulary of both sides
};

// Reads a binary lexical shortlist as marian-conv writes it (Marian's
// src/data/shortlist.h), such as "lex.50.50.enes.s2t.bin". It holds u64 numbers
//
//   magic, checksum, how many of the first target tokens are always allowed,
//   the most targets of a source token, how many offsets, how many targets
//
// then the offsets, u64 [source + 1], and the targets, u32. As in Marian, a
// shared vocabulary also allows the source's own tokens, and lists are filled
// up to a multiple of eight. The checksum is not compared: Marian tells
// programs that read such files to ignore it.
//
// NOT_FOUND if the file does not exist; INVALID_ARGUMENT names the file and
// what is wrong with it. Shortlist::Create checks that targets are in the
// vocabulary.
absl::StatusOr<Shortlist::Table> ReadLexicalShortlist(
    const std::string& path, const ShortlistVocabularies& vocabularies);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_LEXICAL_SHORTLIST_H_
