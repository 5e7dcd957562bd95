#ifndef TRIVIUM_MODEL_SHORTLIST_FILE_H_
#define TRIVIUM_MODEL_SHORTLIST_FILE_H_

#include <string>

#include "model/folder.h"
#include "model/weights/digest.h"

namespace trivium {

// Reads the folder's shortlist.safetensors (see transformer/shortlist.h) into
// the description, when all else has been read. Whatever ends a translation is
// always allowed. What tells shortlists apart goes into `digest`.
void ReadShortlist(const std::string& path, Problems* problems,
                   ModelFolder* folder, Digest* digest);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_SHORTLIST_FILE_H_
