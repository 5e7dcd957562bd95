#ifndef TRIVIUM_SERVER_ADAPTERS_DEEPL_CODEC_H_
#define TRIVIUM_SERVER_ADAPTERS_DEEPL_CODEC_H_

#include <google/protobuf/message.h>

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"
#include "server/adapters/codec.h"
#include "server/adapters/form_body.h"
#include "server/adapters/json_fields.h"
#include "server/calls/glossary_store.h"
#include "trivium/v1/inference.pb.h"

namespace trivium {

// Parts of DeepL's shapes that several of its requests share.

// The message of a call that failed, which names fields as DeepL does.
std::string DeeplMessage(const Ending& ending);
// The answer to such a call: {"message": "..."}.
HttpAnswer DeeplFailure(const Ending& ending);

// DeepL writes codes of languages in capitals; the server knows small letters.
std::string UpperCode(std::string_view code);
std::string LowerCode(std::string_view code);
// The code without a region: "en" of "en-US".
std::string_view WithoutRegion(std::string_view code);
// The language of glossaries: "en" of "EN-US".
std::string BaseLanguage(std::string_view code);

// The languages that models (v1.ListModelsResponse) translate from, and for
// each those they translate it to, in small letters.
std::map<std::string, std::set<std::string>> DeeplPairs(
    const google::protobuf::Message& models);

// The name of the request's token; empty without tokens.
std::string OwnerOf(const RequestHead& head);

// Reads a body that is JSON or a form. Fields that are lists may be repeated in
// a form.
class DeeplCodec : public Codec {
 public:
  DeeplCodec(const Environment& environment, const RequestHead& head);

  absl::Status Check(const RequestHead& head) override;

 protected:
  absl::StatusOr<nlohmann::json> ReadBody(std::string_view body) const;
  // The fields of a body that is a form.
  absl::StatusOr<std::vector<FormField>> ReadForm(std::string_view body) const {
    return ParseForm(form_type_, body);
  }
  bool is_form() const { return !form_type_.empty(); }

  // Reads source_lang and target_lang, which is required.
  void ReadLanguages(JsonFields* fields, v1::TranslateOptions* options);
  // Refuses a formality that would change the answer.
  static void ReadFormality(JsonFields* fields);
  // Reads glossary_id, after the languages.
  absl::Status ReadGlossary(JsonFields* fields,
                            v1::TranslateOptions* options) const;

  GlossaryStore& glossaries() const { return *glossaries_; }
  IgnoredMembers* ignored() const { return ignored_; }
  const std::string& owner() const { return owner_; }
  // The languages as the client wrote them; the source may be empty.
  const std::string& source() const { return source_; }
  const std::string& target() const { return target_; }

 private:
  GlossaryStore* const glossaries_;
  IgnoredMembers* const ignored_;
  const std::string owner_;
  const std::string form_type_;  // empty: JSON
  std::string source_, target_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_ADAPTERS_DEEPL_CODEC_H_
