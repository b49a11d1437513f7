#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

/// Sleeps while `*word == expected`, until woken or until `deadline` (CLOCK_MONOTONIC, absolute; NULL waits for ever).
/// Works across processes and on read-only mappings. Returns 0 or an errno value (EAGAIN, ETIMEDOUT, EINTR, EFAULT).
int posix_futex_wait(const uint32_t *word, uint32_t expected, const struct timespec *deadline);

/// A word to sleep on, and its expected value.
struct posix_futex {
    const uint32_t *word;
    uint32_t expected;
};
enum { posix_most_futexes = 128 };
/// Sleeps while all words, `posix_most_futexes` at the most, are as expected, like `posix_futex_wait`. ENOSYS before Linux 5.16.
int posix_futex_wait_any(const struct posix_futex *futexes, size_t count, const struct timespec *deadline);

/// Wakes at most `most` waiters on `word`, in all processes. Returns how many were woken.
int posix_futex_wake(const uint32_t *word, int most);

/// Open file description locks (fcntl F_OFD_SETLK, F_OFD_GETLK) over the whole file. Return 0 or an errno value;
/// EAGAIN means that there is a conflicting lock.
int posix_lock(int descriptor, bool exclusive);
/// Sets `*locked` to whether a lock of this kind would conflict with one held through another open file description.
int posix_lock_query(int descriptor, bool exclusive, bool *locked);

/// Installs the SIGBUS handler once. Faults outside guarded ranges go to the handler that was there before.
void posix_guard_install(void);

/// A guarded range. The caller keeps it from `posix_guard_enter` to `posix_guard_leave`.
struct posix_guard {
    void *base;
    size_t size;
    volatile bool faulted;
    struct posix_guard *outer;
};

/// Guards `size` bytes at `base` on this thread: a SIGBUS in there overlays the page range with zeros and sets the
/// faulted flag instead of ending the process. Calls may be nested, and end in reverse order.
void posix_guard_enter(struct posix_guard *guard, void *base, size_t size);

/// Ends the guard. Returns whether a fault happened inside; the mapping then holds zeros and must be unmapped.
bool posix_guard_leave(struct posix_guard *guard);

/// Blocks SIGINT, SIGTERM and, unless it is ignored, SIGHUP, and returns a descriptor that becomes readable when one comes; -1
/// with errno set on failure. Ignores SIGPIPE and SIGTTOU. So a line without a reader does not end the process, and a line to a
/// terminal that only accepts its foreground (stty tostop) does not stop it.
int posix_termination_signals(void);
/// Takes a waiting signal. Returns whether there was one.
bool posix_take_signal(int descriptor);

/// Sends datagrams `first`..<`count`, 64 at most, to an address or, if that is NULL, to the connected peer, without
/// waiting. Datagram i lies from starts[i] to ends[i] in `bytes`.
/// `in_runs` passes those of one size to the kernel in one piece, which the kernel cuts (UDP_SEGMENT, Linux 4.18). If it cannot,
/// they go one by one. Returns how many it took, or -1 with errno set.
int posix_send_datagrams(
    int socket, const void *address, unsigned address_size, const uint8_t *bytes, const ptrdiff_t *starts,
    const ptrdiff_t *ends, ptrdiff_t first, ptrdiff_t count, bool in_runs);

/// An event counter that does not block. Returns a descriptor, or -1 with errno set.
int posix_event_create(void);

struct pollfd;
/// `ppoll` with no signal mask; waits for ever without a timeout. Returns -1 with errno set on failure.
int posix_poll(struct pollfd *descriptors, size_t count, const struct timespec *timeout);

/// The bond between a program and the process that starts it.
enum posix_tie {
    /// It gets SIGTERM when the thread that starts it dies, and has its own process group.
    POSIX_TIE_CHILD,
    /// It has its own session.
    POSIX_TIE_SESSION,
    /// It has the process group of its starter, and ignores no signal.
    POSIX_TIE_GROUP,
};

struct posix_program {
    /// Looked up in PATH if it has no slash.
    const char *path;
    /// Both end with NULL; `variables` is the whole environment.
    char *const *arguments;
    char *const *variables;
    /// `count` descriptors, 16 at the most, that become 0, 1, ...; -1 for /dev/null.
    const int *descriptors;
    int count;
    enum posix_tie tie;
    /// Rules of Landlock that bind the program (posix_landlock_create); -1 for none.
    int rules;
};

/// Starts a program with no blocked signal, and returns once it runs: 0 or an errno value.
int posix_start(pid_t *child, const struct posix_program *program);
/// A descriptor that becomes readable when the process has ended; -1 with errno set on failure.
int posix_pidfd(pid_t child);

/// A socket that is readable when interfaces, addresses or routes have changed (NETLINK_ROUTE). Returns a descriptor, or -1 with
/// errno set.
int posix_network_watch(void);
/// Drops all waiting messages, without blocking.
void posix_network_changes_take(int descriptor);

/// A timer that never expires, and is readable after the wall clock was set: by a person or program, or by the kernel after a suspend
/// of the machine (timerfd_create(2), TFD_TIMER_CANCEL_ON_SET). Returns a descriptor, or -1 with errno set.
int posix_clock_watch(void);

/// Gives up new privileges for ever. Returns -1 with errno set on failure.
int posix_no_new_privileges(void);

/// The calls that a filter leaves to a process.
struct posix_calls {
    /// Families of sockets, 8 at the most.
    const int *families;
    size_t family_count;
    /// Connections from outside.
    bool may_listen;
    /// Memory segments (shmget) of its own.
    bool may_share_segments;
    /// Starting other programs and interrupting them (SIGINT), and reading a terminal and its foreground. The filter binds the programs too.
    bool may_start_programs;
};

/// Refuses for ever, for all threads (seccomp): other programs and processes, control of terminals and devices, owners and modes of
/// files, System V and message queues, sockets of other families, and all else that `calls` does not leave. Returns 0 or an errno
/// value: ENOSYS if the kernel has no such filter, EAGAIN or ESRCH if a thread could not follow just now.
int posix_filter_calls(const struct posix_calls *calls);

/// Landlock, with the kernel's own bits; its headers may be older than the kernel. All return -1 with errno set on
/// failure. `posix_landlock_enter` binds the calling thread alone, with the threads and programs that it starts later.
int posix_landlock_version(void);
/// Opens a file or folder only as a path (O_PATH).
int posix_open_path(const char *path);
/// A descriptor of rules that refuse these rights.
int posix_landlock_create(uint64_t files, uint64_t network, uint64_t scopes);
/// Lets rights to files pass below an open path.
int posix_landlock_allow(int rules, int path, uint64_t access);
int posix_landlock_enter(int rules);

/// Anonymous memory that can be sealed (memfd_create). Returns a descriptor, or -1 with errno set.
int posix_memory_create(const char *name);
/// Seals its size, and forbids writing except through existing mappings. No seal can be added after that.
/// Returns -1 with errno set on failure: EINVAL before Linux 5.1.
int posix_memory_seal(int descriptor);
/// Whether it is memory with these seals.
bool posix_memory_is_sealed(int descriptor);
/// Maps each block of `size` bytes or more by itself, unless freed memory of the heap has room for it. So it returns to the system
/// when it is freed.
void posix_memory_return(int size);

/// Renames a file of a directory, unless the new name is taken (EEXIST). Returns -1 with errno set on failure.
int posix_rename_new(int directory, const char *from, const char *to);
/// Reserves blocks for a part of a file, beyond its end too, which stays. Returns -1 with errno set on failure.
int posix_reserve(int descriptor, off_t offset, off_t length);

/// Gives a Unix socket a name in the file system. Returns -1 with errno set on failure.
int posix_bind_path(int socket, const char *path);
/// Connects a Unix socket to one in an open directory. Returns -1 with errno set on failure: ENOTSOCK if the name is a
/// link or leads to anything else.
int posix_connect_at(int socket, int directory, const char *name);
/// Accepts a connection, which does not block. Returns -1 with errno set on failure.
int posix_accept(int socket);
/// Sends a copy of a descriptor and one byte, without waiting, to the datagram socket at `path`, or if `path` is NULL to
/// the peer. Returns -1 with errno set on failure.
int posix_send_descriptor(int socket, const char *path, int descriptor);
/// Sends bytes on a stream of this machine, with a copy of a descriptor. Returns how many were sent, or -1 with errno set.
ssize_t posix_send_with_descriptor(int socket, const void *bytes, size_t count, int descriptor);
/// Receives bytes from such a stream, and the descriptor that came with them, or -1 in its place: the caller closes it. Returns
/// how many bytes came, 0 at the end, or -1 with errno set. Of several descriptors the kernel drops all but one.
ssize_t posix_receive_with_descriptor(int socket, void *bytes, size_t count, int *descriptor);
/// Waits for a message with one descriptor. Returns that, or -1 with errno set: ECONNRESET when the socket was shut down,
/// EBADMSG for any other message.
int posix_receive_descriptor(int socket);
