#ifndef TRIVIUM_SERVER_TRANSPORTS_NET_CONNECTION_LIMITS_H_
#define TRIVIUM_SERVER_TRANSPORTS_NET_CONNECTION_LIMITS_H_

#include <climits>
#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"

namespace trivium {

// Counts a port's connections and chooses which one a new connection evicts.
// Pure policy: it knows no socket, no clock and no thread.
//
//   if (!limits.HasRoom(network)) {
//     const auto victim = limits.LongestIdle(network);
//     if (!victim) ... refuse the new connection
//     limits.Remove(*victim);
//     ... end it
//   }
//   limits.Add(id, network);
//   limits.SetIdle(id);      // and SetBusy while it has a call
//
// Where calls may wait for their clients (SetWaiting), LongestWaiting may give
// a victim if no connection is idle.
class ConnectionLimits {
 public:
  using Id = uint64_t;

  // A client with at most so many connections that wait for it loses none.
  static constexpr size_t kFewWaiting = 16;

  // `max_of_network` bounds the connections of one client, as its address tells
  // clients apart (NetworkOf in server/limits/client_id.h).
  explicit ConnectionLimits(int max_connections, int max_of_network = INT_MAX)
      : max_connections_(max_connections), max_of_network_(max_of_network) {}

  int size() const { return static_cast<int>(connections_.size()); }
  int max_connections() const { return max_connections_; }
  // Existing connections stay, even if they are more than `most`.
  void set_max_connections(int most) { max_connections_ = most; }

  // True if one more connection of `network` is within both limits.
  bool HasRoom(const std::string& network = "") const;
  // Returns the connection that has been idle the longest: of `network` if that
  // has reached its limit, else of all. Connections that have never been busy
  // come first, so that a burst of silent ones ends none that is in use.
  // Nothing if none of these is idle.
  std::optional<Id> LongestIdle(const std::string& network = "") const;
  // Returns the connection that has waited the longest, of the client with the
  // most connections that wait for it: of `network` if that has reached its
  // limit, else of all. Nothing if that client has few. O(clients).
  std::optional<Id> LongestWaiting(const std::string& network) const;

  // A new connection is neither idle nor busy yet. Its id is new.
  void Add(Id id, const std::string& network = "");
  // Ids that are not known are ignored, here and below.
  void Remove(Id id);
  // Idle from now on, also if it was idle before. O(1).
  void SetIdle(Id id);
  void SetBusy(Id id);
  // Busy with a call that waits for its client, which sends or reads slowly. A
  // connection that waits already keeps its place.
  void SetWaiting(Id id, uint64_t client);

 private:
  // A client's connections that wait for it, for the longest first.
  using Waiting = std::map<std::pair<std::string, uint64_t>, std::list<Id>>;
  struct Connection {
    std::string network;
    bool used = false;  // it has been busy
    // Its place in unused_ or idle_, and in waiting_.
    std::optional<std::list<Id>::iterator> idle;
    std::optional<std::pair<Waiting::iterator, std::list<Id>::iterator>>
        waiting;
  };

  bool IsFull(const std::string& network) const;
  void Leave(Connection* connection);

  int max_connections_;
  const int max_of_network_;
  absl::flat_hash_map<Id, Connection> connections_;
  std::map<std::string, int> of_network_;
  // Idle connections, idle the longest first.
  std::list<Id> unused_;  // they have never been busy
  std::list<Id> idle_;    // the others
  Waiting waiting_;       // by network and client; no list is empty
};

// Returns how many connections may be open if each needs `files_each` of
// `files` file descriptors: at least `fewest`, at most `wanted`.
int ConnectionsWithin(int64_t files, int files_each, int fewest, int wanted);

// Returns the process's limit of open files (ulimit -n), at most 2^30.
int64_t OpenFilesLimit();

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSPORTS_NET_CONNECTION_LIMITS_H_
