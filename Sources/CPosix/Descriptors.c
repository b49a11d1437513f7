#define _GNU_SOURCE
#include "CPosix.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

union control {
    struct cmsghdr head;
    char bytes[CMSG_SPACE(sizeof(int))];
};

/* Returns 0, or -1 with errno set if the path is too long. */
static int name_socket(struct sockaddr_un *address, const char *path) {
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address->sun_path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    strcpy(address->sun_path, path);
    return 0;
}

int posix_bind_path(int socket, const char *path) {
    struct sockaddr_un address;
    if (name_socket(&address, path) != 0) return -1;
    return bind(socket, (struct sockaddr *)&address, sizeof address);
}

int posix_connect_at(int socket, int directory, const char *name) {
    char path[32];
    struct sockaddr_un address;
    struct stat info;
    int place = openat(directory, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (place < 0) return -1;
    snprintf(path, sizeof path, "/proc/self/fd/%d", place);
    int result = -1;
    if (fstat(place, &info) == 0 && !S_ISSOCK(info.st_mode)) errno = ENOTSOCK;
    else if (name_socket(&address, path) == 0) result = connect(socket, (struct sockaddr *)&address, sizeof address);
    int code = errno;
    close(place);
    errno = code;
    return result;
}

int posix_accept(int socket) { return accept4(socket, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC); }

int posix_send_descriptor(int socket, const char *path, int descriptor) {
    struct sockaddr_un address;
    char byte = 0;
    struct iovec part = {.iov_base = &byte, .iov_len = 1};
    union control control = {0};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    if (path != NULL) {
        if (name_socket(&address, path) != 0) return -1;
        message.msg_name = &address;
        message.msg_namelen = sizeof address;
    }
    control.head = (struct cmsghdr){
        .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(&control.head), &descriptor, sizeof descriptor);
    return sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -1 : 0;
}

ssize_t posix_send_with_descriptor(int socket, const void *bytes, size_t count, int descriptor) {
    struct iovec part = {.iov_base = (void *)bytes, .iov_len = count};
    union control control = {0};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    control.head = (struct cmsghdr){
        .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(&control.head), &descriptor, sizeof descriptor);
    return sendmsg(socket, &message, MSG_NOSIGNAL);
}

ssize_t posix_receive_with_descriptor(int socket, void *bytes, size_t count, int *descriptor) {
    struct iovec part = {.iov_base = bytes, .iov_len = count};
    union control control = {0};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control,
        .msg_controllen = CMSG_LEN(sizeof(int))};
    *descriptor = -1;
    ssize_t got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    struct cmsghdr *head = got < 0 ? NULL : CMSG_FIRSTHDR(&message);
    if (head && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS && head->cmsg_len == CMSG_LEN(sizeof(int)))
        memcpy(descriptor, CMSG_DATA(head), sizeof *descriptor);
    return got;
}

int posix_receive_descriptor(int socket) {
    char byte;
    struct iovec part = {.iov_base = &byte, .iov_len = 1};
    union control control = {0};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control,
        /* Room for one: of a message with more the kernel drops the others. */
        .msg_controllen = CMSG_LEN(sizeof(int))};
    ssize_t count = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    if (count < 0) return -1;
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    if (head == NULL || head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS ||
        head->cmsg_len != CMSG_LEN(sizeof(int))) {
        errno = count == 0 && message.msg_controllen == 0 ? ECONNRESET : EBADMSG;
        return -1;
    }
    int descriptor;
    memcpy(&descriptor, CMSG_DATA(head), sizeof descriptor);
    return descriptor;
}
