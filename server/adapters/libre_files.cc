// LibreTranslate's translation of files.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/ascii.h"
#include "base/status.h"
#include "server/adapters/file_answer.h"
#include "server/adapters/form_body.h"
#include "server/adapters/http_status.h"
#include "server/adapters/json_body.h"
#include "server/adapters/libre_translate.h"
#include "server/calls/convert/document_messages.h"
#include "server/calls/document_texts.h"
#include "server/calls/kept_files.h"
#include "server/documents/document.h"
#include "server/errors/status.h"
#include "trivium/v1/inference.pb.h"

namespace trivium {
namespace {

using google::protobuf::Message;
using nlohmann::ordered_json;

// True if an address may have `text` as it is.
bool IsPlain(const std::string& text, std::string_view others) {
  return std::all_of(text.begin(), text.end(), [&](char c) {
    return absl::ascii_isalnum(c) || others.find(c) != others.npos;
  });
}

// Returns the scheme and host by which the client came, and the prefix that a
// proxy took off the path, for the download's address.
std::string OriginOf(const RequestHead& head) {
  const std::string host = head.header("Host");
  if (!IsPlain(host, "-._:[]")) return "";
  std::string prefix = head.header("X-Forwarded-Prefix");
  while (prefix.ends_with('/')) prefix.pop_back();
  if (!prefix.starts_with('/') || prefix.starts_with("//") ||
      !IsPlain(prefix, "-._~/")) {
    prefix.clear();
  }
  const bool tls = head.tls || head.header("X-Forwarded-Proto") == "https";
  return fmt::format("{}{}{}", tls ? "https://" : "http://", host, prefix);
}

class LibreFileCodec : public Codec {
 public:
  LibreFileCodec(const Environment& environment, const RequestHead& head)
      : environment_(environment),
        files_(environment.kept_files),
        type_(head.header("Content-Type")),
        origin_(OriginOf(head)) {}

  absl::Status Check(const RequestHead& head) override {
    const std::string type = TypeOf(head);
    if (type != "multipart/form-data") {
      return absl::UnimplementedError(
          fmt::format("Content-Type is '{}'; send multipart/form-data", type));
    }
    return CheckFormIsNoPages(head);
  }

  absl::Status Read(std::string_view body, Message* message) override {
    TRIVIUM_ASSIGN_OR_RETURN(std::vector<FormField> fields,
                             ParseForm(type_, body));
    auto* const request = static_cast<v1::TranslateRequest*>(message);
    const auto file = std::find_if(
        fields.begin(), fields.end(),
        [](const FormField& field) { return field.name == "file"; });
    if (file == fields.end() || !file->file_name) {
      return InvalidField("file", "is missing; send a file with its name");
    }
    const FormField sent = std::move(*file);
    name_ = PlainFileName(*sent.file_name);
    fields.erase(file);
    TRIVIUM_ASSIGN_OR_RETURN(const nlohmann::json value,
                             FormToJson(std::move(fields)));
    JsonFields others(value, "");
    ReadLibreLanguages(environment_, &others, request);
    TRIVIUM_RETURN_IF_ERROR(others.Done());
    return ReadFile(sent, request);
  }

  // A short archive may unpack to a long document.
  bool reads_long() const override { return true; }
  int64_t kept_bytes() const override {
    return document_ ? static_cast<int64_t>(document_->bytes()) : 0;
  }

  HttpAnswer Finish(const Ending& ending, const Message* last) override {
    if (!ending.status.ok()) return LibreFailure(AboutFile(ending));
    const int untranslated =
        SetTranslations(*static_cast<const v1::TranslateResponse*>(last));
    absl::StatusOr<std::string> rendered = document_->Render();
    if (!rendered.ok()) {
      return LibreFailure({rendered.status(), ending.request_id});
    }
    const auto key = files_->Keep(*std::move(rendered));
    if (!key.ok()) return LibreFailure({key.status(), ending.request_id});
    ordered_json answer = {
        {"translatedFileUrl",
         fmt::format("{}{}{}.{}", origin_, kDownloadPath, *key, name_)}};
    if (untranslated > 0) answer["untranslatedTexts"] = untranslated;
    return {.body = ToJsonText(answer)};
  }

 private:
  // An error about one of the call's inputs, as one about its place in the
  // file.
  Ending AboutFile(const Ending& ending) const {
    const std::optional<InputError> error = InputErrorOf(ending.status);
    if (!document_ || !error || error->input >= document_->size()) {
      return ending;
    }
    return {InvalidField("file",
                         fmt::format("{}: {}", document_->place(error->input),
                                     error->description)),
            ending.request_id};
  }

  // Adds the file's different texts as the call's inputs.
  absl::Status ReadFile(const FormField& file, v1::TranslateRequest* request) {
    const DocumentFormat* const format = DocumentFormatOfFile(*file.file_name);
    if (format == nullptr) {
      return InvalidField(
          "file",
          fmt::format("'{}' is of no kind that is translated here: {} are",
                      Shorten(*file.file_name), DocumentFileEndings()));
    }
    DocumentOptions options;
    options.target_language = request->options().target_language();
    auto texts = DocumentTexts::Read(*format, file.value, options);
    if (!texts.ok()) {
      return InvalidField("file", std::string(texts.status().message()));
    }
    document_ = *std::move(texts);
    const auto most = static_cast<size_t>(environment_.limits.max_inputs);
    if (document_->size() > most) {
      return InvalidField(
          "file", fmt::format("has {} different texts, and at most {} are "
                              "translated in one request; split it",
                              document_->size(), most));
    }
    for (size_t i = 0; i < document_->size(); ++i) {
      request->add_inputs()->set_text(document_->sent(i));
    }
    // A call has at least one input.
    if (document_->size() == 0) request->add_inputs()->set_text("");
    AddDocumentTranslation(*format, request->mutable_options());
    return absl::OkStatus();
  }

  // Returns how many texts stay as they are.
  int SetTranslations(const v1::TranslateResponse& response) {
    int untranslated = 0;
    for (size_t i = 0; i < document_->size(); ++i) {
      DocumentOutcome outcome =
          ConvertDocumentOutcome({}, response.results(static_cast<int>(i)));
      if (!outcome.translation ||
          !document_->Set(i, *std::move(outcome.translation)).ok()) {
        ++untranslated;
      }
    }
    return untranslated;
  }

  const Environment& environment_;
  KeptFiles* const files_;
  const std::string type_;
  const std::string origin_;
  std::string name_;
  std::optional<DocumentTexts> document_;
};

// The call is ListModels, so that its token is checked.
class LibreDownloadCodec : public Codec {
 public:
  LibreDownloadCodec(const Environment& environment, const RequestHead& head)
      : files_(environment.kept_files),
        // "/download_file/KEY.NAME".
        path_(head.path.substr(std::string_view(kDownloadPath).size())) {}

  absl::Status Read(std::string_view, Message*) override {
    TRIVIUM_ASSIGN_OR_RETURN(file_,
                             files_->Find(path_.substr(0, path_.find('.'))));
    return absl::OkStatus();
  }
  HttpAnswer Finish(const Ending& ending, const Message*) override {
    if (!ending.status.ok()) return LibreFailure(ending);
    const size_t dot = path_.find('.');
    return FileAnswer(dot == path_.npos ? "" : path_.substr(dot + 1), *file_);
  }

 private:
  KeptFiles* const files_;
  const std::string path_;
  std::shared_ptr<const std::string> file_;
};

}  // namespace

std::unique_ptr<Codec> NewLibreFileCodec(const Environment& environment,
                                         const RequestHead& head) {
  return std::make_unique<LibreFileCodec>(environment, head);
}
std::unique_ptr<Codec> NewLibreDownloadCodec(const Environment& environment,
                                             const RequestHead& head) {
  return std::make_unique<LibreDownloadCodec>(environment, head);
}

}  // namespace trivium
