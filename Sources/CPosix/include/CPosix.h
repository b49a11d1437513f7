#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

/// Sleeps while `*word == expected`, until woken or until `deadline` (CLOCK_MONOTONIC, absolute; NULL waits for ever).
/// Works across processes and on read-only mappings. Returns 0 or an errno value (EAGAIN, ETIMEDOUT, EINTR, EFAULT).
int posix_futex_wait(const uint32_t *word, uint32_t expected, const struct timespec *deadline);

/// A word to sleep on, and what it is expected to say.
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
/// EAGAIN means that somebody else holds a conflicting lock.
int posix_lock(int descriptor, bool exclusive);
/// Sets `*locked` to whether a lock of this kind would conflict with one held through another open file description.
int posix_lock_query(int descriptor, bool exclusive, bool *locked);

/// Installs the SIGBUS handler once. Faults outside guarded ranges go to the handler that was there before.
void posix_guard_install(void);

/// A guarded range, kept by whoever guards it from `posix_guard_enter` to `posix_guard_leave`.
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
/// with errno set on failure. Ignores SIGPIPE and SIGTTOU: a line that nobody reads, or that a terminal wants from its
/// foreground alone (stty tostop), ends and stops nothing.
int posix_termination_signals(void);
/// Whether a signal waited there; takes one.
bool posix_take_signal(int descriptor);

/// Sends datagrams `first`..<`count`, 64 at most, to an address or, where that is NULL, to the connected peer, without
/// waiting. Datagram i lies from starts[i] to ends[i] in `bytes`.
/// `in_runs` gives those of one size to the kernel in one piece, for it to cut (UDP_SEGMENT, Linux 4.18); where it cannot,
/// they go one by one. Returns how many were taken, or -1 with errno set.
int posix_send_datagrams(
    int socket, const void *address, unsigned address_size, const uint8_t *bytes, const ptrdiff_t *starts,
    const ptrdiff_t *ends, ptrdiff_t first, ptrdiff_t count, bool in_runs);

/// An event counter that does not block. Returns a descriptor, or -1 with errno set.
int posix_event_create(void);

struct pollfd;
/// `ppoll` with no signal mask; waits for ever without a timeout. Returns -1 with errno set on failure.
int posix_poll(struct pollfd *descriptors, size_t count, const struct timespec *timeout);

/// What a program has in common with the process that starts it.
enum posix_tie {
    /// It is told to end (SIGTERM) when the thread that starts it dies, and has a process group of its own.
    POSIX_TIE_CHILD,
    /// It has a session of its own.
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

/// Starts a program with no signal blocked, and returns when it runs: 0 or an errno value.
int posix_start(pid_t *child, const struct posix_program *program);
/// A descriptor that becomes readable when the process has ended; -1 with errno set on failure.
int posix_pidfd(pid_t child);

/// A socket that is readable when interfaces, addresses or routes have changed (NETLINK_ROUTE). Returns a descriptor, or -1 with
/// errno set.
int posix_network_watch(void);
/// Takes what waits there, without waiting.
void posix_network_changes_take(int descriptor);

/// A timer that never ends, and is readable when the clock of the day was set: by somebody, or by the kernel after the machine was
/// suspended (timerfd_create(2), TFD_TIMER_CANCEL_ON_SET). Returns a descriptor, or -1 with errno set.
int posix_clock_watch(void);

/// Gives up new privileges for ever. Returns -1 with errno set on failure.
int posix_no_new_privileges(void);

/// What a filter of system calls leaves to a process.
struct posix_calls {
    /// Families of sockets, 8 at the most.
    const int *families;
    size_t family_count;
    /// Connections from outside.
    bool may_listen;
    /// Memory segments (shmget) of its own.
    bool may_share_segments;
    /// Other programs, to interrupt them (SIGINT), and to see what a terminal has and whose it is. They are bound by the filter, too.
    bool may_start_programs;
};

/// Gives up for ever, for all threads (seccomp): other programs and processes, what terminals and devices can be told, owners
/// and modes of files, System V and message queues, sockets of other families, and what else `calls` does not leave. Returns 0 or
/// an errno value: ENOSYS where the kernel cannot do it, EAGAIN or ESRCH when a thread could not follow just now.
int posix_filter_calls(const struct posix_calls *calls);

/// Landlock, with the kernel's own bits; its headers may be older than the kernel. All return -1 with errno set on
/// failure. What `posix_landlock_enter` gives up, only the calling thread and what it starts later give up.
int posix_landlock_version(void);
/// Opens a file or folder for nothing but to name it.
int posix_open_path(const char *path);
/// A descriptor of rules that refuse these rights.
int posix_landlock_create(uint64_t files, uint64_t network, uint64_t scopes);
/// Lets rights to files pass below an open path.
int posix_landlock_allow(int rules, int path, uint64_t access);
int posix_landlock_enter(int rules);

/// Anonymous memory that can be sealed (memfd_create). Returns a descriptor, or -1 with errno set.
int posix_memory_create(const char *name);
/// Seals its size, and against all writing but through the mappings that there are; no seal can be added after that.
/// Returns -1 with errno set on failure: EINVAL before Linux 5.1.
int posix_memory_seal(int descriptor);
/// Whether it is memory that was sealed so.
bool posix_memory_is_sealed(int descriptor);
/// Blocks of `size` bytes or more are mapped each by itself, unless freed memory of the heap has room for them. So they go back to the
/// system when they are freed.
void posix_memory_return(int size);

/// Gives a Unix socket a name in the file system. Returns -1 with errno set on failure.
int posix_bind_path(int socket, const char *path);
/// Connects a Unix socket to one in an open directory. Returns -1 with errno set on failure: ENOTSOCK if the name is a
/// link or leads to anything else.
int posix_connect_at(int socket, int directory, const char *name);
/// Takes a connection, which does not block. Returns -1 with errno set on failure.
int posix_accept(int socket);
/// Sends a copy of a descriptor and one byte, without waiting, to the datagram socket at `path`, or where `path` is NULL to
/// the peer. Returns -1 with errno set on failure.
int posix_send_descriptor(int socket, const char *path, int descriptor);
/// Waits for a message with one descriptor. Returns that, or -1 with errno set: ECONNRESET when the socket was shut down,
/// EBADMSG for any other message.
int posix_receive_descriptor(int socket);
