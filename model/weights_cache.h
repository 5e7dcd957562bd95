#ifndef TRIVIUM_MODEL_WEIGHTS_CACHE_H_
#define TRIVIUM_MODEL_WEIGHTS_CACHE_H_

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "model/folder.h"
#include "model/model.h"
#include "model/transformer/transformer.h"
#include "model/weights/packed_file.h"

namespace trivium {

// The file of one model's packed weights in the folder of
// LoadOptions::weights_cache. Its name is the key: a hash of what the packed
// weights depend on. That is this program (its build ID), the CPU's
// instruction set and what it packs small matrices into, the formats, whether
// the model has an encoder and a decoder, the folder's revision, and the sizes
// and times of modification of its weights.
//
//   WeightsCache cache(*WeightsCache::Of(folder, options));
//   auto packed = cache.Open(&use);        // null: pack the tensors, then
//   cache.Write(*transformer, &use);
class WeightsCache {
 public:
  // `folder` has been read and has no problem.
  static absl::StatusOr<WeightsCache> Of(const ModelFolder& folder,
                                         const LoadOptions& options);

  // Returns the file if it is whole, else null. `use` says which.
  std::shared_ptr<const PackedFile> Open(WeightsCacheUse* use) const;
  // Writes the file, and makes its folder if there is none.
  void Write(const Transformer& transformer, WeightsCacheUse* use) const;

 private:
  WeightsCache(std::string folder, PackedFile::Key key);

  std::string folder_, path_;
  PackedFile::Key key_;
};

// Returns what the log calls it: "mapped", "written" and so on.
std::string_view WeightsCacheName(WeightsCacheUse::Kind kind);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_WEIGHTS_CACHE_H_
