#define _GNU_SOURCE
#include "CPosix.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int posix_rename_new(int directory, const char *from, const char *to) {
    if (renameat2(directory, from, directory, to, RENAME_NOREPLACE) == 0) return 0;
    /* A file system without that flag, such as NFS, may have links. */
    if (errno != EINVAL && errno != ENOSYS) return -1;
    if (linkat(directory, from, directory, to, 0) != 0) return -1;
    return unlinkat(directory, from, 0);
}

int posix_reserve(int descriptor, off_t offset, off_t length) {
    return fallocate(descriptor, FALLOC_FL_KEEP_SIZE, offset, length);
}
