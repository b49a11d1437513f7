#define _GNU_SOURCE
#include "CPosix.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif

enum { batch_limit = 64, run_bytes_limit = 65000 };

union segment_size {
    struct cmsghdr head;
    char bytes[CMSG_SPACE(sizeof(uint16_t))];
};

/* How many datagrams from the first on one message can carry: the kernel cuts it into pieces of one size, of which only the
   last may be smaller (udp(7), UDP_SEGMENT). */
static unsigned run_length(const struct iovec *datagrams, unsigned count) {
    size_t bytes = datagrams[0].iov_len;
    unsigned length = 1;
    while (length < count && datagrams[length - 1].iov_len == datagrams[0].iov_len && datagrams[length].iov_len > 0 &&
           datagrams[length].iov_len <= datagrams[0].iov_len && bytes + datagrams[length].iov_len <= run_bytes_limit)
        bytes += datagrams[length++].iov_len;
    return length;
}

int posix_send_datagrams(
    int socket, const void *address, unsigned address_size, const uint8_t *bytes, const ptrdiff_t *starts,
    const ptrdiff_t *ends, ptrdiff_t first, ptrdiff_t count, bool in_runs) {
    struct iovec datagrams[batch_limit];
    struct mmsghdr messages[batch_limit] = {0};
    union segment_size sizes[batch_limit];
    unsigned runs[batch_limit], length = 0, rest = 0;
    for (ptrdiff_t i = first; i < count && rest < batch_limit; i++) {
        datagrams[rest++] =
            (struct iovec){.iov_base = (void *)(bytes + starts[i]), .iov_len = (size_t)(ends[i] - starts[i])};
    }
    for (struct iovec *next = datagrams; rest > 0; length++) {
        unsigned run = in_runs ? run_length(next, rest) : 1;
        struct msghdr *head = &messages[length].msg_hdr;
        *head = (struct msghdr){
            .msg_name = (void *)address, .msg_namelen = address_size, .msg_iov = next, .msg_iovlen = run};
        if (run > 1) {
            sizes[length].head = (struct cmsghdr){
                .cmsg_len = CMSG_LEN(sizeof(uint16_t)), .cmsg_level = IPPROTO_UDP, .cmsg_type = UDP_SEGMENT};
            const uint16_t size = (uint16_t)next->iov_len;
            memcpy(CMSG_DATA(&sizes[length].head), &size, sizeof size);
            head->msg_control = &sizes[length];
            head->msg_controllen = sizeof sizes[length];
        }
        runs[length] = run;
        next += run;
        rest -= run;
    }
    int sent = sendmmsg(socket, messages, length, MSG_DONTWAIT | MSG_NOSIGNAL);
    /* A datagram is larger than this path carries, or this kernel cannot cut. */
    if (sent < 0 && in_runs && runs[0] > 1 && (errno == EINVAL || errno == EIO || errno == EMSGSIZE))
        return posix_send_datagrams(socket, address, address_size, bytes, starts, ends, first, count, false);
    int taken = 0;
    for (int index = 0; index < sent; index++) taken += (int)runs[index];
    return sent < 0 ? -1 : taken;
}

int posix_event_create(void) { return eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC); }

int posix_poll(struct pollfd *descriptors, size_t count, const struct timespec *timeout) {
    return ppoll(descriptors, (nfds_t)count, timeout, NULL);
}
