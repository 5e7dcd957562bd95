// TranslateDocument: the items of the stream are the texts of one document.
//
// The client's messages are the start, known texts and the document's bytes.
// Once the client has closed its side, Next does the rest, step by step:
//
//   kRead:    read the document, on a pool
//   kTexts:   prepare a text; it goes to the batcher like a stream's item
//   kRender:  when all texts are done: make the translated document, on a pool
//   kData:    one piece of it after the other, at the client's pace
//   kResult:  what happened
//
// Read and Next run in one thread at a time, and so does the `prepare` that
// they return. HandleResults and Error run beside them; what they share is in
// Outcomes, under its lock. A text's own state is used by one thread at a time:
// first the one that prepares it, then the one that has its results.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/numbers.h"
#include "base/mutex.h"
#include "base/status.h"
#include "model/language_names.h"
#include "server/calls/call_translation.h"
#include "server/calls/convert/document_messages.h"
#include "server/calls/document_texts.h"
#include "server/calls/stream_items.h"
#include "server/documents/document.h"
#include "server/errors/status.h"
#include "server/translation/language_detection.h"

namespace trivium {
namespace {

// A document may have so many times the bytes of another request: it comes in
// pieces, and pictures make documents large.
constexpr int64_t kRequestsOfDocument = 8;
// Memory of a known text beyond its own bytes.
constexpr int64_t kKnownBytes = 128;
constexpr size_t kPieceBytes = 64 << 10;  // of the answer
constexpr size_t kMostNotes = 1000;
constexpr size_t kMostSampleBytes = 64 << 10;  // to detect a language
// A language that has so much of a document is no chance guess.
constexpr int kLeastPercentOfSource = 20;

// Counts the texts that are done, and collects their notes. Thread-safe.
class Outcomes {
 public:
  using Notes = std::map<size_t, v1::DocumentNote>;  // by text

  // Returns the number of texts that are done.
  size_t Add(size_t text, bool failed, std::optional<v1::DocumentNote> note) {
    MutexLock lock(&mutex_);
    failed_ += failed ? 1 : 0;
    if (note && notes_.size() < kMostNotes) {
      notes_.emplace(text, *std::move(note));
    } else if (note) {
      ++left_out_;
    }
    return ++done_;
  }
  size_t done() const {
    MutexLock lock(&mutex_);
    return done_;
  }
  void WriteTo(v1::DocumentResult* out) const {
    MutexLock lock(&mutex_);
    out->set_untranslated_count(static_cast<uint32_t>(failed_));
    out->set_left_out_note_count(static_cast<uint32_t>(left_out_));
    for (const auto& [text, note] : notes_) *out->add_notes() = note;
  }

 private:
  mutable Mutex mutex_;
  size_t done_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t failed_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t left_out_ ABSL_GUARDED_BY(mutex_) = 0;
  Notes notes_ ABSL_GUARDED_BY(mutex_);
};

class DocumentItems final : public StreamItems {
 public:
  explicit DocumentItems(Call* call)
      : call_(call),
        most_bytes_(kRequestsOfDocument *
                    call->environment().limits.max_request_bytes) {}

  Outcome Read(RequestStream* transport) override {
    Outcome outcome;
    v1::TranslateDocumentRequest message;
    outcome.end = transport->ParseRequest(&message);
    outcome.message_bytes = static_cast<int64_t>(message.ByteSizeLong());
    if (!outcome.end.ok()) return outcome;
    if (!reading_) {
      if (!message.has_start()) {
        outcome.end =
            InvalidField("start", "the first message must be the start");
        return outcome;
      }
      outcome.text_bytes = outcome.message_bytes;
      outcome.prepare = [this, message = std::move(message)]() mutable {
        Outcome started;
        started.end = Start(std::move(*message.mutable_start()));
        return started;
      };
      return outcome;
    }
    outcome.end = Keep(outcome.message_bytes, &message);
    if (message.has_known()) outcome.message_bytes += kKnownBytes;
    return outcome;
  }

  bool HasNext(bool answered) const override {
    const Step step = step_.load();
    if (step == Step::kDone) return false;
    return step == Step::kRead || step == Step::kTexts || answered;
  }

  Outcome Next() override {
    Outcome outcome;
    switch (step_) {
      case Step::kRead:
        outcome.text_bytes = static_cast<int64_t>(data_.size());
        outcome.prepare = [this] { return ReadDocument(); };
        break;
      case Step::kTexts:
        return NextText();
      case Step::kRender:
        outcome.text_bytes = static_cast<int64_t>(texts_->bytes());
        outcome.prepare = [this] { return Render(); };
        break;
      case Step::kData: {
        const size_t size =
            std::min(kPieceBytes, rendered_.size() - written_bytes_);
        outcome.response = MakeDocumentData(
            std::string_view(rendered_).substr(written_bytes_, size));
        written_bytes_ += size;
        if (written_bytes_ == rendered_.size()) step_ = Step::kResult;
        break;
      }
      case Step::kResult:
        outcome.response = Result();
        step_ = Step::kDone;
        break;
      case Step::kDone:
        break;
    }
    return outcome;
  }

  Outcome HandleResults(Work work,
                        std::vector<RequestResult> results) const override {
    auto& state = static_cast<State&>(*work.state);
    for (RequestResult& result : results) {
      const absl::Status status =
          TranslationOf(state).AddResult(std::move(result), &state.job);
      if (!status.ok()) {
        Outcome failed;
        failed.response = Failed(state.text, status);
        return failed;
      }
    }
    work.again = true;
    return NextRound(std::move(work));
  }

  std::string FieldOf(const Work& work) const override {
    return texts_->place(static_cast<State&>(*work.state).text);
  }
  std::unique_ptr<Message> Error(const std::string& id,
                                 const absl::Status& status) const override {
    size_t text = 0;
    return absl::SimpleAtoi(id, &text) ? Failed(text, status) : nullptr;
  }

 private:
  enum class Step { kRead, kTexts, kRender, kData, kResult, kDone };
  struct State final : Work::State {
    State(CallTranslation::Job job, size_t text, bool other)
        : job(std::move(job)), text(text), other(other) {}
    CallTranslation::Job job;
    size_t text;
    bool other;  // of other_
  };
  const CallTranslation& TranslationOf(const State& state) const {
    return state.other ? *other_ : *translation_;
  }

  const Environment& environment() const { return call_->environment(); }

  absl::Status Start(v1::TranslateDocumentRequest::Start start) {
    TRIVIUM_ASSIGN_OR_RETURN(DocumentReading reading,
                             ConvertDocumentReading(start));
    TRIVIUM_RETURN_IF_ERROR(call_->FindModel(start.model()));
    TRIVIUM_RETURN_IF_ERROR(
        CheckDocumentTranslation(start.options(), "start.options"));
    AddDocumentTranslation(*reading.format, start.mutable_options());
    start_ = std::move(start);
    first_model_ = call_->model_handle();
    // Says early what is wrong with the options.
    TRIVIUM_RETURN_IF_ERROR(CreateTranslation());
    reading_ = std::move(reading);
    return absl::OkStatus();
  }

  // `detected`: as in CallTranslation::Create.
  absl::Status CreateTranslation(const std::string& detected = "") {
    TRIVIUM_ASSIGN_OR_RETURN(CallTranslation translation,
                             NewTranslation(detected));
    translation_.emplace(std::move(translation));
    return absl::OkStatus();
  }
  absl::StatusOr<CallTranslation> NewTranslation(const std::string& detected) {
    call_->Use(first_model_);
    return CallTranslation::Create(
        call_, /*named=*/call_->models().Names(start_.model()),
        start_.options(), "start.options", call_->alive_check(),
        /*on_model=*/nullptr, detected);
  }

  // Keeps a known text or a piece of the document.
  absl::Status Keep(int64_t bytes, v1::TranslateDocumentRequest* message) {
    if (message->has_start()) {
      return InvalidField("start", "the first message alone is a start");
    }
    kept_bytes_ += bytes;
    if (kept_bytes_ > most_bytes_) {
      return InvalidField(
          message->has_known() ? "known" : "data",
          fmt::format("the document and its known texts have more than {} "
                      "bytes; split it, or send fewer known texts",
                      most_bytes_));
    }
    if (message->has_known()) {
      if (!data_.empty()) {
        return InvalidField("known", "known texts come before the data");
      }
      if (known_.size() == kMostDocumentItems) {
        return InvalidField(
            "known", fmt::format("there are more than {}, which no document "
                                 "has; send only those of this document",
                                 kMostDocumentItems));
      }
      v1::DocumentText* const known = message->mutable_known();
      known_[known->text()] = std::move(*known->mutable_translation());
    } else {
      data_ += message->data();
    }
    return absl::OkStatus();
  }

  Outcome ReadDocument() {
    Outcome outcome;
    outcome.end = TryReadDocument();
    if (!outcome.end.ok()) return outcome;
    step_ = texts_->size() == 0 ? Step::kRender : Step::kTexts;
    outcome.response = MakeDocumentProgress(outcomes_.done(), texts_->size());
    return outcome;
  }

  absl::Status TryReadDocument() {
    if (!reading_) {
      return InvalidField("start", "the first message must be the start");
    }
    auto texts =
        DocumentTexts::Read(*reading_->format, data_, reading_->options);
    if (!texts.ok()) {
      return InvalidField("data", std::string(texts.status().message()));
    }
    texts_.emplace(*std::move(texts));
    call_->Hold(Held::kRequests, static_cast<int64_t>(texts_->held_bytes()) -
                                     static_cast<int64_t>(data_.size()));
    std::string().swap(data_);
    TRIVIUM_RETURN_IF_ERROR(call_->CheckAlive());
    if (start_.options().source_language() == "auto") {
      TRIVIUM_RETURN_IF_ERROR(DetectLanguage());
    }
    if (other_) TRIVIUM_RETURN_IF_ERROR(other_->Compose());
    return translation_->Compose();
  }

  // Finds one source language for all texts: the likeliest that can be
  // translated. If there is none, each text has its own. A document may have
  // texts in the target language among others, as subtitles do: another
  // language with a good part of it comes first, and sentences that are surely
  // in the target language stay. If all of it seems to be in the target
  // language, only texts that are surely in another one are translated.
  absl::Status DetectLanguage() {
    std::string sample;
    for (size_t i = 0; i < texts_->size(); ++i) {
      if (sample.size() > kMostSampleBytes) break;
      sample.append(texts_->shown(i), 0, kMostSampleBytes);
      sample += '\n';
    }
    detected_ = DetectLanguages(sample);
    std::vector<LanguageGuess> guesses = detected_;
    std::stable_partition(
        guesses.begin(), guesses.end(), [this](const LanguageGuess& guess) {
          return guess.percent >= kLeastPercentOfSource && !IsOfTarget(guess);
        });
    absl::Status first;
    for (const LanguageGuess& guess : guesses) {
      for (const std::string& name :
           {guess.language,
            guess.language.substr(0, guess.language.find('-'))}) {
        const absl::Status status = CreateTranslation(name);
        if (!status.ok()) {
          first.Update(status);
          continue;
        }
        if (!IsOfTarget(guess)) return status;
        TRIVIUM_ASSIGN_OR_RETURN(CallTranslation other, NewTranslation(""));
        other_.emplace(std::move(other));
        return status;
      }
    }
    if (!detected_.empty() && detected_[0].reliable) return first;
    return CreateTranslation();
  }

  bool IsOfTarget(const LanguageGuess& guess) const {
    return AreSameLanguage(guess.language, start_.options().target_language());
  }
  bool IsOfOtherLanguage(size_t text) const {
    if (!other_) return false;
    const std::vector<LanguageGuess> guesses =
        DetectLanguages(texts_->shown(text));
    return !guesses.empty() && guesses[0].reliable && !IsOfTarget(guesses[0]);
  }

  Outcome NextText() {
    const size_t text = next_text_++;
    if (next_text_ == texts_->size()) step_ = Step::kRender;
    Outcome outcome;
    const std::string& sent = texts_->sent(text);
    if (const auto known = known_.find(sent); known != known_.end()) {
      if (Set(text, known->second).ok()) {
        outcome.response = Done(text, /*failed=*/false, std::nullopt);
        return outcome;
      }
    }
    outcome.text_bytes = translation_->TextBytes(TextInput(sent));
    outcome.prepare = [this, text] { return Prepare(text); };
    return outcome;
  }

  // Sets a text's translation, whose bytes the call then holds.
  absl::Status Set(size_t text, std::string translation) const {
    const auto bytes = static_cast<int64_t>(translation.size());
    TRIVIUM_RETURN_IF_ERROR(texts_->Set(text, std::move(translation)));
    call_->Hold(Held::kResults, bytes);
    return absl::OkStatus();
  }

  Outcome Prepare(size_t text) {
    Outcome outcome;
    const absl::Time before = environment().clock->Now();
    const v1::Input input = TextInput(texts_->sent(text));
    bool other = IsOfOtherLanguage(text);
    auto job =
        (other ? other_ : translation_)->Prepare(input, texts_->place(text));
    if (other && !job.ok()) {  // no model reads its language
      other = false;
      job = translation_->Prepare(input, texts_->place(text));
    }
    call_->AddTokenizing(before, environment().clock->Now());
    absl::Status status = job.status();
    if (status.ok()) {
      status = CheckResponseBytes(job->response_bytes, environment().limits);
    }
    if (!status.ok()) {
      outcome.response = Failed(text, status);
      return outcome;
    }
    Work work;
    work.id = std::to_string(text);
    work.response_bytes = job->response_bytes;
    work.state = std::make_shared<State>(*std::move(job), text, other);
    return NextRound(std::move(work));
  }

  // Returns the text's next requests, or ends it.
  Outcome NextRound(Work work) const {
    Outcome outcome;
    auto& state = static_cast<State&>(*work.state);
    work.requests = CallTranslation::NextRound(&state.job);
    if (!work.requests.empty()) {
      outcome.work = std::move(work);
      return outcome;
    }
    DocumentOutcome told = ConvertDocumentOutcome(
        start_.options(), TranslationOf(state).Result(std::move(state.job)));
    if (told.translation) {
      const absl::Status status = Set(state.text, *std::move(told.translation));
      if (!status.ok()) {
        outcome.response = Failed(state.text, status);
        return outcome;
      }
    }
    outcome.response =
        Done(state.text, !told.translation, std::move(told.note));
    return outcome;
  }

  std::unique_ptr<Message> Failed(size_t text,
                                  const absl::Status& status) const {
    return Done(text, /*failed=*/true, FailureNote(status));
  }

  // Counts a text as done. Returns progress: of each text if the client asked
  // for texts, else of each hundredth of all.
  std::unique_ptr<Message> Done(size_t text, bool failed,
                                std::optional<v1::DocumentNote> note) const {
    if (note) SetPlace(texts_->place(text), texts_->shown(text), &*note);
    const size_t done = outcomes_.Add(text, failed, std::move(note));
    const size_t total = texts_->size();
    const bool told = start_.texts() && !failed;
    if (!told && done < total && done * 100 / total == (done - 1) * 100 / total)
      return nullptr;
    DocumentMessage message = MakeDocumentProgress(done, total);
    if (told) {
      AddTranslatedText(texts_->sent(text), texts_->translation(text),
                        message.get());
    }
    return message;
  }

  Outcome Render() {
    Outcome outcome;
    auto rendered = texts_->Render();
    if (!rendered.ok()) {
      outcome.end =
          InvalidField("data", std::string(rendered.status().message()));
      return outcome;
    }
    rendered_ = *std::move(rendered);
    call_->Hold(Held::kResults, static_cast<int64_t>(rendered_.size()));
    step_ = rendered_.empty() ? Step::kResult : Step::kData;
    return outcome;
  }

  std::unique_ptr<Message> Result() const {
    auto message = std::make_unique<v1::TranslateDocumentResponse>();
    v1::DocumentResult* const result = message->mutable_result();
    WriteDocumentFormat(*reading_->format, result);
    result->set_text_count(static_cast<uint32_t>(texts_->size()));
    outcomes_.WriteTo(result);
    WriteDetectedLanguages(detected_, result);
    WriteTimingsAndModel(call_->timings(), call_->model(), result);
    return message;
  }

  Call* const call_;
  const int64_t most_bytes_;
  std::atomic<Step> step_ = Step::kRead;

  // Used by the thread that has the turn (Read, Next). Once the texts are being
  // translated, these do not change, except for the translations in texts_.
  v1::TranslateDocumentRequest::Start start_;
  std::optional<DocumentReading> reading_;  // set by a good start
  ModelHandle first_model_;
  int64_t kept_bytes_ = 0;
  std::string data_;
  absl::flat_hash_map<std::string, std::string> known_;
  std::vector<LanguageGuess> detected_;
  std::optional<CallTranslation> translation_;
  // The texts in other languages, if the document is in the target language.
  std::optional<CallTranslation> other_;
  mutable std::optional<DocumentTexts> texts_;
  size_t next_text_ = 0;
  std::string rendered_;
  size_t written_bytes_ = 0;

  mutable Outcomes outcomes_;
};

}  // namespace

std::unique_ptr<StreamItems> NewDocumentItems(Call* call) {
  return std::make_unique<DocumentItems>(call);
}

}  // namespace trivium
