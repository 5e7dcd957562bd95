#ifndef TRIVIUM_MODEL_SHORTLIST_FILE_H_
#define TRIVIUM_MODEL_SHORTLIST_FILE_H_

#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "model/folder.h"
#include "model/transformer/shortlist.h"
#include "model/weights/digest.h"

namespace trivium {

// A shortlist as a file, a safetensors file of
//   offsets [source vocabulary + 1] I32
//   targets [offsets' last] I32
//   always  [any] I32
//   pieces  [16] U8: PiecesDigest of the vocabularies that it was made for
// of which the first three are Shortlist::Table's.
// model/embedded/training/shortlist makes one.
struct ShortlistFile {
  Shortlist::Table table;
  std::string pieces;  // 16 hexadecimal digits
};

// NOT_FOUND when there is no such file; INVALID_ARGUMENT names file, tensor and
// what is wrong with it. What the table says is not checked, see
// Shortlist::Create.
absl::StatusOr<ShortlistFile> ReadShortlistFile(const std::string& path);

// Tells vocabularies apart: an FNV-1a hash of the source's pieces, then the
// target's, in the order of their ids.
std::string PiecesDigest(std::span<const std::string> source,
                         std::span<const std::string> target);

// Reads the folder's shortlist.safetensors or, where it has Marian's own, that
// (lexical_shortlist.h) into the description, when all else has been read.
// Whatever ends a translation is always allowed. What tells shortlists apart
// goes into `digest`.
void ReadShortlist(const std::string& path, Problems* problems,
                   ModelFolder* folder, Digest* digest);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_SHORTLIST_FILE_H_
