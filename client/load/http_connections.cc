#include "client/load/http_connections.h"

#include <system_error>

namespace trivium {

LoadConnections::~LoadConnections() {
  {
    MutexLock lock(&mutex_);
    closing_ = true;
    changed_.SignalAll();
  }
  for (std::thread& thread : threads_) thread.join();
}

void LoadConnections::Do(Work work, Done done) {
  size_t unfinished;
  {
    MutexLock lock(&mutex_);
    waiting_.push_back({std::move(work), std::move(done)});
    unfinished = ++unfinished_;
    changed_.Signal();
  }
  if (unfinished <= threads_.size()) return;
  try {
    threads_.emplace_back([this] { Run(); });
  } catch (const std::system_error&) {
    // The system has no more threads. The existing ones will do the work.
    if (threads_.empty()) throw;
  }
}

void LoadConnections::Run() {
  httplib::Client client(url_);
  client.set_keep_alive(true);
  client.set_tcp_nodelay(true);
  const auto timeout = absl::ToChronoMicroseconds(timeout_);
  client.set_connection_timeout(timeout);
  client.set_read_timeout(timeout);
  client.set_write_timeout(timeout);
  while (true) {
    const Task task = NextTask();
    if (!task.work) return;
    CallOutcome outcome = task.work(client);
    {
      MutexLock lock(&mutex_);
      --unfinished_;
    }
    task.done(std::move(outcome));
  }
}

LoadConnections::Task LoadConnections::NextTask() {
  MutexLock lock(&mutex_);
  while (waiting_.empty() && !closing_) changed_.Wait(&mutex_);
  if (waiting_.empty()) return {};
  Task task = std::move(waiting_.front());
  waiting_.pop_front();
  return task;
}

}  // namespace trivium
