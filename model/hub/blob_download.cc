// The hash always is that of the first have_ bytes of the incomplete file, and
// the file has no others.
#include "model/hub/blob_download.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>

#include "absl/strings/numbers.h"
#include "base/socket.h"
#include "base/status.h"
#include "model/folder_report.h"
#include "model/hub/file_hash.h"

namespace trivium {
namespace {

// With fewer new bytes than this, a try counts as one without progress.
constexpr int64_t kProgress = 64 << 10;

// Returns the first byte's position of "bytes 5-9/10"; -1: unreadable.
int64_t RangeBegin(const std::string& text) {
  constexpr std::string_view kUnit = "bytes ";
  int64_t begin = -1;
  if (text.starts_with(kUnit) &&
      absl::SimpleAtoi(text.substr(kUnit.size(), text.find('-') - kUnit.size()),
                       &begin)) {
    return begin;
  }
  return -1;
}

class Download {
 public:
  Download(const HubName& name, const std::string& commit, const HubFile& file,
           const std::string& blob, HubClient* client, PullObserver* observer)
      : name_(name),
        commit_(commit),
        file_(file),
        blob_(blob),
        incomplete_(blob + ".incomplete"),
        client_(client),
        observer_(observer),
        hash_(file.lfs ? FileHash::kSha256 : FileHash::kGitBlob, file.size) {}

  absl::Status Run() {
    TRIVIUM_RETURN_IF_ERROR(OpenIncomplete());
    const bool resumed = have_ > 0;
    observer_->OnFile(file_, have_);
    absl::Status status = ReadAll();
    if (status.ok()) status = Finish();
    if (absl::IsDataLoss(status) && resumed) {
      // An earlier run may have left other bytes.
      observer_->OnNote(fmt::format(
          "what an earlier run fetched of {} is not right; it is fetched anew",
          file_.path));
      status = OpenIncomplete();
      if (status.ok()) status = ReadAll();
      if (status.ok()) status = Finish();
    }
    observer_->OnFileEnd();
    return status;
  }

 private:
  absl::Status OpenIncomplete() {
    incomplete_file_ = UniqueFd(open(
        incomplete_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666));
    if (!incomplete_file_) return CacheError("open", incomplete_, errno);
    struct stat status;
    if (fstat(incomplete_file_.get(), &status) != 0) {
      return CacheError("read", incomplete_, errno);
    }
    if (status.st_size > file_.size) return Restart();
    std::array<char, 1 << 16> bytes;
    while (have_ < status.st_size) {
      const ssize_t count =
          pread(incomplete_file_.get(), bytes.data(), bytes.size(), have_);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return CacheError("read", incomplete_, errno);
      if (count == 0) break;
      Count({bytes.data(), static_cast<size_t>(count)});
    }
    return absl::OkStatus();
  }

  void Count(std::string_view bytes) {
    hash_.Add(bytes);
    have_ += static_cast<int64_t>(bytes.size());
  }

  absl::Status Restart() {
    have_ = 0;
    hash_.Restart();
    if (ftruncate(incomplete_file_.get(), 0) == 0) return absl::OkStatus();
    return CacheError("write", incomplete_, errno);
  }

  // Reads until all bytes are there.
  absl::Status ReadAll() {
    int tries = 0;
    while (have_ < file_.size) {
      const int64_t before = have_;
      const absl::Status status = ReadOnce();
      if (have_ == file_.size) break;
      tries = have_ - before >= kProgress ? 1 : tries + 1;
      absl::Status again =
          status.ok() ? absl::UnavailableError(fmt::format(
                            "hf:{}: {} ended after {} of {} bytes",
                            name_.repository, file_.path, have_, file_.size))
                      : status;
      if (tries < HubClient::kMostTries) {
        again = client_->WaitToRetry(again, tries);
        if (again.ok()) continue;
      }
      if (!absl::IsUnavailable(again)) return again;
      return absl::UnavailableError(fmt::format(
          "{}; {} of {} is kept, and running it again goes on "
          "from there",
          std::string(again.message()), RoundedBytes(have_), file_.path));
    }
    return absl::OkStatus();
  }

  absl::Status ReadOnce() {
    HttpFetcher::Receiver receiver;
    receiver.begin = [this](const HubAnswer& answer) { return Begin(answer); };
    receiver.bytes = [this](std::string_view bytes) { return Write(bytes); };
    const int64_t from = ranges_ ? have_ : 0;
    const absl::Status status =
        client_->Read(name_, commit_, file_, from, receiver);
    if (from == 0 || !absl::IsOutOfRange(status)) return status;
    ranges_ = false;
    return absl::UnavailableError(std::string(status.message()));
  }

  // Looks at the head of an answer before its bytes are written.
  absl::Status Begin(const HubAnswer& answer) {
    const bool whole = answer.status == 200;
    const std::string range = answer.Header("content-range");
    if (!whole && RangeBegin(range) != (ranges_ ? have_ : 0)) {
      const std::string text =
          fmt::format("hf:{}: {} came from another byte than asked for",
                      name_.repository, file_.path);
      if (have_ == 0 || !ranges_) {
        return absl::FailedPreconditionError(
            fmt::format("{}; use another HF_ENDPOINT", text));
      }
      ranges_ = false;
      return absl::UnavailableError(text);
    }
    const std::string size = whole ? answer.Header("content-length")
                                   : range.substr(range.find('/') + 1);
    int64_t bytes = 0;
    if (absl::SimpleAtoi(size, &bytes) && bytes != file_.size) {
      return absl::FailedPreconditionError(fmt::format(
          "hf:{}: {} has {} bytes, but the hub lists {}; run it again if the "
          "repository was just changed, or use another HF_ENDPOINT",
          name_.repository, file_.path, bytes, file_.size));
    }
    // The server may send the whole file instead of a part.
    return have_ > 0 && (whole || !ranges_) ? Restart() : absl::OkStatus();
  }

  absl::Status Write(std::string_view bytes) {
    if (static_cast<int64_t>(bytes.size()) > file_.size - have_) {
      TRIVIUM_RETURN_IF_ERROR(Restart());
      return absl::DataLossError(fmt::format(
          "hf:{}: {} has more than the {} bytes that the hub lists; what came "
          "is deleted, run it again or use another HF_ENDPOINT",
          name_.repository, file_.path, file_.size));
    }
    while (!bytes.empty()) {
      const ssize_t count =
          pwrite(incomplete_file_.get(), bytes.data(), bytes.size(), have_);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return CacheError("write", incomplete_, errno);
      Count(bytes.substr(0, static_cast<size_t>(count)));
      bytes.remove_prefix(static_cast<size_t>(count));
    }
    observer_->OnBytes(have_);
    return observer_->CheckWanted();
  }

  // Checks the hash, and gives the file its name.
  absl::Status Finish() {
    const std::string hash = hash_.Hex();
    if (hash != file_.blob) {
      TRIVIUM_RETURN_IF_ERROR(Restart());
      return absl::DataLossError(fmt::format(
          "hf:{}: {} has the hash {}, but the hub lists {}: it was changed on "
          "the way; what came is deleted, run it again or use another "
          "HF_ENDPOINT",
          name_.repository, file_.path, hash, file_.blob));
    }
    if (rename(incomplete_.c_str(), blob_.c_str()) != 0) {
      return CacheError("rename", incomplete_, errno);
    }
    return absl::OkStatus();
  }

  const HubName& name_;
  const std::string& commit_;
  const HubFile& file_;
  const std::string blob_, incomplete_;
  HubClient* const client_;
  PullObserver* const observer_;
  FileHash hash_;
  bool ranges_ = true;  // false: the server's parts of this file are not right
  UniqueFd incomplete_file_;
  int64_t have_ = 0;
};

}  // namespace

absl::Status FetchBlob(const HubName& name, const std::string& commit,
                       const HubFile& file, const HubCache& cache,
                       HubClient* client, PullObserver* observer) {
  if (cache.Has(file)) return absl::OkStatus();
  TRIVIUM_ASSIGN_OR_RETURN(const UniqueFd lock, cache.Lock(file, [&] {
    observer->OnNote(
        fmt::format("another process fetches {}; waiting for it", file.path));
  }));
  if (cache.Has(file)) return absl::OkStatus();
  return Download(name, commit, file, cache.Blob(file), client, observer).Run();
}

}  // namespace trivium
