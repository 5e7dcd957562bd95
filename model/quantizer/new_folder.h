#ifndef TRIVIUM_MODEL_QUANTIZER_NEW_FOLDER_H_
#define TRIVIUM_MODEL_QUANTIZER_NEW_FOLDER_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/socket.h"

namespace trivium {

// A folder that appears whole or not at all: it is filled under another name
// beside its own, ".NAME.partial-PID", and then renamed. A process that is
// killed leaves that one, without its lock; the next one to make the same
// folder removes it.
//
//   auto folder = NewFolder::Create("/models/out");
//   ... write to (*folder)->path()
//   (*folder)->Publish();
class NewFolder {
 public:
  // ALREADY_EXISTS if there is something at `path`, NOT_FOUND if there is no
  // folder for it, UNAVAILABLE if the system makes none.
  static absl::StatusOr<std::unique_ptr<NewFolder>> Create(
      const std::string& path);

  // Removes what was not published.
  ~NewFolder();
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;

  // The folder that is filled.
  const std::string& path() const { return partial_; }

  // Writes a file in it. `name` may have folders that exist.
  absl::Status WriteFile(const std::string& name, const std::string& text);

  // Gives it its name. ALREADY_EXISTS if another process has used it meanwhile.
  absl::Status Publish();

 private:
  NewFolder(std::string path, std::string partial, UniqueFd lock)
      : path_(std::move(path)),
        partial_(std::move(partial)),
        lock_(std::move(lock)) {}

  const std::string path_, partial_;
  const UniqueFd lock_;  // of partial_, while this object lives
  bool published_ = false;
};

// Copies the files of a folder, and those of the folders in it, but hidden
// ones, files of weights of the model at `model` (the folder itself, or one in
// it), its config.json, and folders with the model in other programs' formats.
// Links to files become files. Other folders' weights, such as those of a dense
// module, are copied. UNAVAILABLE names the file that cannot be copied.
absl::Status CopyOtherFiles(const std::string& from, const std::string& model,
                            const std::string& to);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_QUANTIZER_NEW_FOLDER_H_
