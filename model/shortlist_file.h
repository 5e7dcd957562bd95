#ifndef TRIVIUM_MODEL_SHORTLIST_FILE_H_
#define TRIVIUM_MODEL_SHORTLIST_FILE_H_

#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "model/folder.h"
#include "model/transformer/shortlist.h"
#include "model/weights/digest.h"

namespace trivium {

// A shortlist in a safetensors file of
//
//   offsets [source vocabulary + 1] I32
//   targets [last offset] I32
//   always  [any] I32
//   pieces  [16] U8: PiecesDigest of the vocabularies that it was made for
//
// The first three are Shortlist::Table's. model/embedded/training/shortlist
// makes such files.
struct ShortlistFile {
  Shortlist::Table table;
  std::string pieces;  // 16 hexadecimal digits
};

// NOT_FOUND if the file does not exist; INVALID_ARGUMENT names the file, the
// tensor and what is wrong with it. The table's contents are not checked; see
// Shortlist::Create.
absl::StatusOr<ShortlistFile> ReadShortlistFile(const std::string& path);

// Returns a digest that tells vocabularies apart: an FNV-1a hash of the
// source's pieces, then the target's, in the order of their ids.
std::string PiecesDigest(std::span<const std::string> source,
                         std::span<const std::string> target);

// Reads the folder's shortlist.safetensors, or Marian's own shortlist
// (lexical_shortlist.h) if the folder has one, into the description. Call it
// after all else has been read. End tokens are always allowed. The shortlist's
// contents are added to `digest`.
void ReadShortlist(const std::string& path, Problems* problems,
                   ModelFolder* folder, Digest* digest);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_SHORTLIST_FILE_H_
