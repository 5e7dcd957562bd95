// DeepL's documents: a request brings one, others ask for it by an id and a
// key. These requests are ListModels calls, so that their tokens are checked;
// the translation is a TranslateDocument of its own.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "base/status.h"
#include "server/adapters/deepl.h"
#include "server/adapters/deepl_codec.h"
#include "server/adapters/file_answer.h"
#include "server/adapters/http_status.h"
#include "server/adapters/json_body.h"
#include "server/calls/document_jobs.h"
#include "server/documents/document.h"
#include "server/errors/status.h"
#include "server/limits/priority.h"

namespace trivium {
namespace {

using google::protobuf::Message;
using nlohmann::json;
using nlohmann::ordered_json;

// True if `name` is one of the ends of a format's files' names, without its
// dot.
bool IsEndingOf(const DocumentFormat& format, const std::string& name) {
  const std::string ending = "." + absl::AsciiStrToLower(name);
  return format.name == std::string_view(ending).substr(1) ||
         DocumentFormatOfFile(ending) == &format;
}

class DocumentCodec final : public DeeplCodec {
 public:
  DocumentCodec(const Environment& environment, const RequestHead& head)
      : DeeplCodec(environment, head), environment_(environment) {
    order_.context.grant = head.grant;
    order_.context.client_key = head.client_key;
    order_.context.peer = head.peer;
    order_.context.priority = head.header(kPriorityKey);
  }

  absl::Status Check(const RequestHead& head) override {
    const std::string type = TypeOf(head);
    if (type != "multipart/form-data") {
      return absl::UnimplementedError(
          fmt::format("Content-Type is '{}'; send multipart/form-data", type));
    }
    return CheckFormIsNoPages(head);
  }

  absl::Status Read(std::string_view body, Message*) override {
    TRIVIUM_ASSIGN_OR_RETURN(std::vector<FormField> form, ReadForm(body));
    const auto file =
        std::find_if(form.begin(), form.end(), [](const FormField& field) {
          return field.name == "file" && field.file_name;
        });
    if (file == form.end()) {
      return InvalidField("file", "is missing; send a file with its name");
    }
    order_.data = std::move(file->value);
    const std::string sent_name = *std::move(file->file_name);
    form.erase(file);
    TRIVIUM_ASSIGN_OR_RETURN(const json value, FormToJson(std::move(form)));
    JsonFields fields(value, "");
    v1::TranslateOptions* const options = order_.start.mutable_options();
    ReadLanguages(&fields, options);
    ReadFormality(&fields);
    const std::string name = fields.String("filename").value_or(sent_name);
    order_.file_name = PlainFileName(name);
    const DocumentFormat* const format = DocumentFormatOfFile(name);
    if (format == nullptr) {
      fields.Fail("file",
                  fmt::format("'{}' is of no kind that is translated here: {} "
                              "are",
                              Shorten(name), DocumentFileEndings()));
    } else {
      order_.start.set_format(std::string(format->name));
      const auto output = fields.String("output_format");
      if (output && !IsEndingOf(*format, *output)) {
        fields.Fail("output_format",
                    fmt::format("is '{}', but a translation has the format of "
                                "its document, '{}'; leave it out",
                                Shorten(*output), std::string(format->name)));
      }
    }
    // They cannot change an answer here.
    fields.Ignore("DeepL", ignored(), {"enable_document_minification"});
    TRIVIUM_RETURN_IF_ERROR(ReadGlossary(&fields, options));
    return fields.Done();
  }

  int64_t kept_bytes() const override {
    return static_cast<int64_t>(order_.data.size());
  }

  // Only a call that its token allows comes here with OK.
  HttpAnswer Finish(const Ending& ending, const Message*) override {
    if (!ending.status.ok()) return DeeplFailure(ending);
    const auto ticket = environment_.document_jobs->Start(environment_, owner(),
                                                          std::move(order_));
    if (!ticket.ok()) {
      return DeeplFailure({ticket.status(), ending.request_id});
    }
    return {.body = ToJsonText(ordered_json{{"document_id", ticket->id},
                                            {"document_key", ticket->key}})};
  }

 private:
  const Environment& environment_;
  DocumentJob::Order order_;
};

// A request about a document that is here: its id is in the path, its key in
// the body.
class TicketCodec : public DeeplCodec {
 public:
  TicketCodec(const Environment& environment, const RequestHead& head,
              std::string_view ending)
      : DeeplCodec(environment, head), jobs_(environment.document_jobs) {
    constexpr std::string_view kPrefix = kDeeplDocument;
    ticket_.id = head.path.substr(kPrefix.size());
    if (ticket_.id.ends_with(ending)) {
      ticket_.id.resize(ticket_.id.size() - ending.size());
    }
  }

  absl::Status Read(std::string_view body, Message*) override {
    TRIVIUM_ASSIGN_OR_RETURN(const json value, ReadBody(body));
    JsonFields fields(value, "");
    fields.Require("document_key");
    ticket_.key = fields.String("document_key").value_or("");
    return fields.Done();
  }

 protected:
  DocumentJobs& jobs() const { return *jobs_; }
  const DocumentJobs::Ticket& ticket() const { return ticket_; }

 private:
  DocumentJobs* const jobs_;
  DocumentJobs::Ticket ticket_;
};

class StatusCodec final : public TicketCodec {
 public:
  StatusCodec(const Environment& environment, const RequestHead& head)
      : TicketCodec(environment, head, "") {}

  HttpAnswer Finish(const Ending& ending, const Message*) override {
    using State = DocumentJob::Progress::State;
    if (!ending.status.ok()) return DeeplFailure(ending);
    const auto progress = jobs().Look(owner(), ticket().id, ticket().key);
    if (!progress.ok()) {
      return DeeplFailure({progress.status(), ending.request_id});
    }
    ordered_json answer = {{"document_id", ticket().id}};
    switch (progress->state) {
      case State::kQueued:
        answer["status"] = "queued";
        break;
      case State::kTranslating:
        answer["status"] = "translating";
        break;
      case State::kDone:
        answer["status"] = "done";
        if (progress->untranslated > 0) {
          answer["untranslated_texts"] = progress->untranslated;
        }
        break;
      case State::kFailed:
        answer["status"] = "error";
        answer["error_message"] = DeeplMessage({progress->status, ""});
        break;
    }
    if (progress->left) {
      answer["seconds_remaining"] =
          absl::ToInt64Seconds(absl::Ceil(*progress->left, absl::Seconds(1)));
    }
    return {.body = ToJsonText(answer)};
  }
};

class ResultCodec final : public TicketCodec {
 public:
  ResultCodec(const Environment& environment, const RequestHead& head)
      : TicketCodec(environment, head, kDeeplDocumentResult) {}

  HttpAnswer Finish(const Ending& ending, const Message*) override {
    if (!ending.status.ok()) return DeeplFailure(ending);
    auto taken = jobs().Take(owner(), ticket().id, ticket().key);
    if (!taken.ok()) {
      return DeeplFailure({taken.status(), ending.request_id});
    }
    HttpAnswer answer = FileAnswer(taken->file_name, std::move(taken->data));
    answer.type = std::move(taken->type);
    return answer;
  }
};

}  // namespace

std::unique_ptr<Codec> NewDeeplDocumentCodec(const Environment& environment,
                                             const RequestHead& head) {
  return std::make_unique<DocumentCodec>(environment, head);
}
std::unique_ptr<Codec> NewDeeplDocumentStatusCodec(
    const Environment& environment, const RequestHead& head) {
  return std::make_unique<StatusCodec>(environment, head);
}
std::unique_ptr<Codec> NewDeeplDocumentResultCodec(
    const Environment& environment, const RequestHead& head) {
  return std::make_unique<ResultCodec>(environment, head);
}

}  // namespace trivium
