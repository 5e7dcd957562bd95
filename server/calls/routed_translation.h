#ifndef TRIVIUM_SERVER_CALLS_ROUTED_TRANSLATION_H_
#define TRIVIUM_SERVER_CALLS_ROUTED_TRANSLATION_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/calls/call.h"
#include "server/calls/translation.h"
#include "server/calls/translation_route.h"

namespace trivium {

// What Translate and TranslateStream do with inputs: a Translation of the
// call's model, or of the models that the server chooses, for all inputs or, as
// their languages are detected, for each. Where two translate, the sentences of
// the first one's translations are what the second one reads.
//
// Used as a Translation is. Prepare is for one thread at a time; Take and
// Result may run beside it, for items that differ.
class RoutedTranslation {
 public:
  // `call` has a model, which is the only one that may translate where the
  // request has `named` it, and gets another one where the server chooses.
  // `path` and `wanted` as Translation::Create's; `call` outlives it. Where
  // languages are detected, `on_model` is asked whether to go on once the call
  // has the model of its first text, of which nothing is tokenized yet; null:
  // it goes on.
  static absl::StatusOr<RoutedTranslation> Create(
      Call* call, bool named, const v1::TranslateOptions& options,
      const std::string& path, std::function<absl::Status()> wanted,
      std::function<absl::Status()> on_model);

  // How texts of a language are translated.
  struct Way {
    struct Step {
      ModelHandle model;
      Translation translation;
    };
    std::vector<Step> steps;
    // To tell; empty where the server had no choice.
    std::vector<v1::TranslationStep> told;
  };
  struct Item : Translation::Item {
    const Way* way = nullptr;  // null: the text comes back as it is
    size_t step = 0;           // under way
    std::vector<v1::DetectedLanguage> detected;
    // [text.parts] of the step before.
    std::vector<v1::TranslateResult> before;
  };

  // Whether all inputs go the same way, which the call's model begins.
  bool same_for_all() const { return auto_options_ == nullptr; }

  // As Translation's; once, before anything is prepared. It takes the time of
  // texts of TextBytes(options).
  absl::Status ReadPatternsAndTerms();
  // What Prepare will tokenize, as trivium::TextBytes.
  int64_t TextBytes(const v1::Input& input) const;
  absl::StatusOr<Item> Prepare(const v1::Input& input, const std::string& path);
  absl::Status Take(Item* item, RequestResult result) const;
  v1::TranslateResult Result(Item item) const;

 private:
  RoutedTranslation(Call* call, std::string path, TranslationRouter router,
                    std::function<absl::Status()> wanted,
                    std::function<absl::Status()> on_model)
      : call_(call),
        path_(std::move(path)),
        router_(std::move(router)),
        wanted_(std::move(wanted)),
        on_model_(std::move(on_model)) {}

  absl::StatusOr<std::unique_ptr<Way>> MakeWay(
      const TranslationRoute& route, const v1::TranslateOptions& options,
      bool tell) const;
  // Detects the language of an input, and sets the item's way.
  absl::Status Choose(const v1::Input& input, const std::string& path,
                      Item* item);
  absl::StatusOr<const Way*> WayFrom(const TranslationRoute& route);
  absl::Status ReadPatternsAndTerms(const v1::TranslateOptions& options,
                                    Way* way) const;
  // Goes on with the next step where one is done.
  static absl::Status Advance(Item* item);

  Call* call_;
  std::string path_;  // of the options
  TranslationRouter router_;
  std::function<absl::Status()> wanted_;
  std::function<absl::Status()> on_model_;  // or null
  std::unique_ptr<Way> way_;                // of all inputs, or null
  // Where there are patterns or terms that are not read yet.
  std::unique_ptr<v1::TranslateOptions> unread_options_;
  // Where sources are detected: the options, and a way for each source.
  std::unique_ptr<v1::TranslateOptions> auto_options_;
  std::map<std::string, std::unique_ptr<Way>> ways_;
  TranslationRoute fallback_;  // of texts that tell no language
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_ROUTED_TRANSLATION_H_
