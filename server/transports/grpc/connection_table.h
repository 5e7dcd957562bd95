#ifndef TRIVIUM_SERVER_TRANSPORTS_GRPC_CONNECTION_TABLE_H_
#define TRIVIUM_SERVER_TRANSPORTS_GRPC_CONNECTION_TABLE_H_

#include <sys/epoll.h>

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/time/time.h"
#include "server/observability/log.h"
#include "server/observability/metrics.h"
#include "server/transports/grpc/relayed_connection.h"

namespace trivium {

// The relay's connections: which events of epoll are whose, who moves when, who
// has been idle the longest, who is old. Of one thread.
//
//   table.Add(id, connection, now)
//   table.OnEvent(event, now)    // what epoll told of a tag from kFirstTag on
//   table.MoveDue(now)           // whose rest is over, who must go
class ConnectionTable {
 public:
  // A connection's tags are 2 x id and 2 x id + 1 (gRPC's end); the lower ones
  // are the relay's own. Ids are 1 and up.
  static constexpr uint64_t kFirstTag = 2;

  // `epoll` is open as long as this lives. A connection is told to go when it
  // is as old as Spread(age), and ends `grace` later.
  ConnectionTable(int epoll, Metrics* metrics,
                  absl::Duration age = absl::InfiniteDuration(),
                  absl::Duration grace = absl::ZeroDuration())
      : epoll_(epoll), metrics_(metrics), age_(age), grace_(grace) {}

  int size() const { return static_cast<int>(entries_.size()); }

  void Add(uint64_t id, std::unique_ptr<RelayedConnection> connection,
           absl::Time now);
  // Ends the one that has been idle the longest; false where none is idle. In
  // O(1).
  bool EndLongestIdle();

  // Tells all clients to begin their next calls on other connections.
  void GoAway(absl::Time now);

  void OnEvent(const epoll_event& event, absl::Time now);
  // When MoveDue has something to do.
  absl::Time next_due(absl::Time now) const;
  void MoveDue(absl::Time now);

 private:
  using Ids = std::list<uint64_t>;
  struct Entry {
    std::unique_ptr<RelayedConnection> connection;
    uint32_t client_events = 0;  // that epoll was told
    uint32_t grpc_events = 0;
    bool grpc_watched = true;
    std::optional<Ids::iterator> idle;  // its place in idle_ ...
    absl::Time idle_since;              // ... and since when it is there
    absl::Time leaves;                  // its time in ages_
    bool told_to_go = false;            // then `leaves` is its end
  };

  void Watch(int operation, int fd, uint32_t events, uint64_t tag) const;
  void Move(uint64_t id, bool from_client, bool from_grpc, absl::Time now);
  void UpdateIdle(uint64_t id, Entry* entry);
  void EndOld(absl::Time now);
  void End(uint64_t id);

  const int epoll_;
  Metrics* const metrics_;
  const absl::Duration age_;
  const absl::Duration grace_;
  absl::flat_hash_map<uint64_t, Entry> entries_;
  absl::flat_hash_set<uint64_t> resting_;           // the guard lets them rest
  Ids idle_;                                        // the longest first
  std::set<std::pair<absl::Time, uint64_t>> ages_;  // Entry::leaves, id
  LogLimit abuse_log_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSPORTS_GRPC_CONNECTION_TABLE_H_
