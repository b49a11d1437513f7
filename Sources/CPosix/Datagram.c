#define _GNU_SOURCE
#include "CPosix.h"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

enum { batch_limit = 64 };

int posix_send_datagrams(int socket, const uint8_t *bytes, const ptrdiff_t *ends, ptrdiff_t first, ptrdiff_t count) {
    struct mmsghdr messages[batch_limit] = {0};
    struct iovec parts[batch_limit];
    unsigned length = 0;
    for (ptrdiff_t i = first; i < count && length < batch_limit; i++, length++) {
        ptrdiff_t start = i == 0 ? 0 : ends[i - 1];
        parts[length] = (struct iovec){.iov_base = (void *)(bytes + start), .iov_len = (size_t)(ends[i] - start)};
        messages[length].msg_hdr = (struct msghdr){.msg_iov = &parts[length], .msg_iovlen = 1};
    }
    return sendmmsg(socket, messages, length, MSG_DONTWAIT | MSG_NOSIGNAL);
}

int posix_event_create(void) { return eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC); }

int posix_poll(struct pollfd *descriptors, size_t count, const struct timespec *timeout) {
    return ppoll(descriptors, (nfds_t)count, timeout, NULL);
}
