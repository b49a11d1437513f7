#define _GNU_SOURCE
#include "CPosix.h"

#include <errno.h>
#include <fcntl.h>

static struct flock whole_file(bool exclusive) {
    return (struct flock){.l_type = exclusive ? F_WRLCK : F_RDLCK, .l_whence = SEEK_SET};
}

int posix_lock(int descriptor, bool exclusive) {
    struct flock lock = whole_file(exclusive);
    return fcntl(descriptor, F_OFD_SETLK, &lock) == 0 ? 0 : errno;
}

int posix_lock_query(int descriptor, bool exclusive, bool *locked) {
    struct flock lock = whole_file(exclusive);
    if (fcntl(descriptor, F_OFD_GETLK, &lock) != 0) return errno;
    *locked = lock.l_type != F_UNLCK;
    return 0;
}
