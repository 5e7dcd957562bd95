#ifndef TRIVIUM_MODEL_LANGUAGES_H_
#define TRIVIUM_MODEL_LANGUAGES_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "model/generation_config.h"
#include "model/language_conventions.h"
#include "model/language_names.h"
#include "model/model.h"
#include "model/tokenizer/tokenizer.h"
#include "nlohmann/json.hpp"

namespace trivium {

// The languages that a model translates from and to, and how the model is told
// them. They come from the tokens of its vocabulary that language_conventions.h
// knows, else from the folder's tasks ("translation_en_to_de"), else from the
// one direction that tokenizer_config.json names. Those of a decoder are the
// ones of its prompt.
//
// A call may omit the target if the folder forces one or names one as
// "target_lang" or "tgt_lang", unless it is also the source. A call may omit
// the source if the folder names one ("src_lang").
class LanguageTable {
 public:
  struct Folder {
    const Tokenizer* tokenizer = nullptr;
    std::string_view family = "";
    const nlohmann::json* config = nullptr;
    const nlohmann::json* tokenizer_config = nullptr;
    const GenerationConfig* generation = nullptr;  // outlives the table
    const TranslatorPrompt* prompt = nullptr;      // of a decoder
  };
  // Null members of `folder` count as absent.
  explicit LanguageTable(const Folder& folder);

  const std::vector<Language>& sources() const { return sources_.languages(); }
  const std::vector<Language>& targets() const { return targets_.languages(); }

  // The target of calls that name none; null if they must name one.
  const Language* default_target() const {
    if (default_target_) return &targets()[*default_target_];
    return targets().size() == 1 ? &targets()[0] : nullptr;
  }

  // See Model::ResolveDirection. Any source is accepted if the folder's
  // "source_lang" is a group ("mul").
  absl::StatusOr<Direction> Resolve(
      std::optional<std::string_view> source_language,
      std::optional<std::string_view> target_language) const;

 private:
  // A direction for which the folder has a task.
  struct TaskPair {
    size_t source, target;
    const Task* task;
  };

  void ReadPrompt(const TranslatorPrompt& prompt);
  void ReadTokens(const Folder& folder);
  void ReadTokenDefaults(const Folder& folder);
  void ReadTasks(const std::vector<Task>& tasks);
  void ReadNamedDirection(const nlohmann::json* tokenizer_config);
  absl::StatusOr<std::optional<size_t>> ResolveSource(
      std::optional<std::string_view> name) const;
  absl::StatusOr<size_t> ResolveTarget(
      std::optional<std::string_view> source_name,
      std::optional<std::string_view> name) const;
  absl::Status TellTokens(std::optional<size_t> source, size_t target,
                          Direction* direction) const;
  absl::Status TellPrompt(std::optional<size_t> source, size_t target,
                          Direction* direction) const;
  // Returns the tag of the texts' language as far as it is given or there is no
  // choice; else an empty string.
  std::string SourceTag(std::optional<std::string_view> name,
                        std::optional<size_t> source,
                        std::optional<size_t> target) const;
  absl::Status TellTask(std::optional<size_t> source, size_t target,
                        Direction* direction) const;

  LanguageNames sources_;
  LanguageNames targets_;
  const TranslatorPrompt* prompt_ = nullptr;  // has [targets_]
  LanguageTokens tokens_;                     // [targets_], or none
  int32_t end_id_ = -1;
  std::vector<TaskPair> tasks_;
  std::optional<size_t> default_source_;
  std::optional<size_t> default_target_;
  bool open_sources_ = false;  // any source is accepted if sources_ is empty
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_LANGUAGES_H_
