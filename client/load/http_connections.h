#ifndef TRIVIUM_CLIENT_LOAD_HTTP_CONNECTIONS_H_
#define TRIVIUM_CLIENT_LOAD_HTTP_CONNECTIONS_H_

#include <httplib.h>

#include <deque>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "base/mutex.h"
#include "client/load/caller.h"

namespace trivium {

// A pool of threads, each with a connection that it keeps. Starts another
// thread whenever all are busy.
class LoadConnections {
 public:
  // Makes one call on a thread's connection.
  using Work = std::function<CallOutcome(httplib::Client&)>;

  LoadConnections(std::string url, absl::Duration timeout)
      : url_(std::move(url)), timeout_(timeout) {}
  // Waits until all work is done.
  ~LoadConnections();

  // Queues work. To be called by one thread only.
  void Do(Work work, Done done);

 private:
  struct Task {
    Work work;
    Done done;
  };

  void Run();
  // Waits for a task. Returns one without work if no more will come.
  Task NextTask();

  const std::string url_;
  const absl::Duration timeout_;
  Mutex mutex_;
  CondVar changed_;
  std::deque<Task> waiting_ ABSL_GUARDED_BY(mutex_);
  size_t unfinished_ ABSL_GUARDED_BY(mutex_) = 0;  // waiting or under way
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_LOAD_HTTP_CONNECTIONS_H_
