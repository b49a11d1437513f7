#define _GNU_SOURCE
#include "CPosix.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

union control {
    struct cmsghdr head;
    char bytes[CMSG_SPACE(sizeof(int))];
};

int posix_bind_path(int socket, const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    strcpy(address.sun_path, path);
    return bind(socket, (struct sockaddr *)&address, sizeof address);
}

int posix_send_descriptor(int socket, const char *path, int descriptor) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char byte = 0;
    struct iovec part = {.iov_base = &byte, .iov_len = 1};
    union control control = {0};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    if (path != NULL) {
        if (strlen(path) >= sizeof address.sun_path) {
            errno = ENAMETOOLONG;
            return -1;
        }
        strcpy(address.sun_path, path);
        message.msg_name = &address;
        message.msg_namelen = sizeof address;
    }
    control.head = (struct cmsghdr){
        .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(&control.head), &descriptor, sizeof descriptor);
    return sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -1 : 0;
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
