/* Loaded into oriel (LD_PRELOAD): does what code in a process that was taken over might try, from within, once the process has
   given its rights up. That is when it calls inotify_init1, or, if it does nothing else, listens or reads. Each try is a line on standard error: "intruder NAME CODE", where CODE
   is 0 for what worked, or errno.

   ORIEL_INTRUDER_FOLDER   the folder of a broadcast, for a sender; unset for a capture process, which may write it
   ORIEL_INTRUDER_LISTENS  set for a server without a broadcast
   ORIEL_INTRUDER_SHOWS    set for a window, in which it begins with the first picture
   ORIEL_INTRUDER_READS    set for a process that hears what to do on a pipe, in which it begins with the first word
   ORIEL_INTRUDER_ASKS     set for one of these that starts programs
   ORIEL_INTRUDER_CAPTURES set for a capture process
   ORIEL_INTRUDER_HEARS    set for a process that has the sound server
   ORIEL_INTRUDER_RECORDS  set for a recorder, in which it begins with the first file
   ORIEL_INTRUDER_MEETS    set for a process that has the devices nearby, in which it begins with the first port
   ORIEL_INTRUDER_ACCEPTS  set for a sender that takes connections
   ORIEL_INTRUDER_OWN      the folder that such a process may write, if it may write one
   ORIEL_INTRUDER_MINE     a file of the same user, to move elsewhere
   ORIEL_INTRUDER_OUTSIDE  a file of the same user elsewhere */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>

#define TRY(name, of, call)                                                                       \
    do {                                                                                          \
        errno = 0;                                                                                \
        intptr_t result = (intptr_t)(call);                                                       \
        dprintf(2, "intruder %s%s%s %d\n", name, *(of) ? ":" : "", of, result == -1 ? errno : 0); \
    } while (0)

static char *path(const char *folder, const char *name) {
    char *text;
    if (asprintf(&text, "%s/%s", folder, name) < 0) abort();
    return text;
}

/* A process that has all rights in a namespace of its own. */
static long namespace(void) {
    long child = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, NULL);
    if (child == 0) _exit(0);
    return child;
}

static void change(const char *file, const char *of, const char *mine) {
    TRY("write", of, open(file, O_WRONLY));
    TRY("write-and-read", of, open(file, O_RDWR));
    TRY("empty", of, open(file, O_WRONLY | O_TRUNC));
    TRY("truncate", of, truncate(file, 0));
    TRY("replace", of, rename(mine, file));
    TRY("exchange", of, renameat2(AT_FDCWD, mine, AT_FDCWD, file, RENAME_EXCHANGE));
    TRY("take", of, rename(file, mine));
    TRY("remove", of, unlink(file));
    TRY("chmod", of, chmod(file, 0644));
    TRY("chown", of, chown(file, geteuid(), getegid()));
    TRY("touch", of, utimensat(AT_FDCWD, file, NULL, 0));
    TRY("attribute", of, setxattr(file, "user.oriel", "", 0, 0));
}

static void change_open(const char *file, const char *of) {
    int descriptor = open(file, O_RDONLY);
    if (descriptor < 0) return;
    char again[32];
    snprintf(again, sizeof again, "/proc/self/fd/%d", descriptor);
    TRY("reopen", of, open(again, O_RDWR));
    TRY("fchmod", of, fchmod(descriptor, 0644));
    TRY("lease", of, fcntl(descriptor, F_SETLEASE, F_RDLCK));
    TRY("signal-owner", of, fcntl(descriptor, F_SETOWN, getppid()));
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int code = fcntl(descriptor, F_OFD_SETLK, &lock);
    if (code == 0) dprintf(2, "intruder lock:%s 0\n", of);
    void *page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, descriptor, 0);
    if (page != MAP_FAILED) TRY("make-writable", of, mprotect(page, 4096, PROT_READ | PROT_WRITE));
    close(descriptor);
}

/* What was opened before. */
static void change_inherited(const char *folder) {
    for (int descriptor = 3; descriptor < 256; descriptor++) {
        char link[32], target[4096];
        snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
        ssize_t count = readlink(link, target, sizeof target - 1);
        struct stat info;
        if (count < 0 || fstat(descriptor, &info) != 0 || !S_ISREG(info.st_mode)) continue;
        target[count] = 0;
        if (strncmp(target, "/memfd:oriel-frames", 19) == 0) {
            TRY("write", "memory", pwrite(descriptor, "", 1, 0));
            TRY("shrink", "memory", ftruncate(descriptor, 0));
            TRY("map", "memory", mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0));
        }
        if (strncmp(target, folder, strlen(folder)) != 0) continue;
        int mode = fcntl(descriptor, F_GETFL) & O_ACCMODE;
        /* Without the number of a generation. */
        target[strcspn(target + strlen(folder), ".") + strlen(folder)] = 0;
        dprintf(2, "intruder inherited:%s %d\n", target + strlen(folder) + 1, mode == O_RDONLY ? EACCES : 0);
    }
}

/* Where commands ask this sender, it can neither put another socket nor lead them elsewhere. */
static void intrude_own_folder(const char *folder, const char *mine) {
    char *own, *control;
    if (asprintf(&own, "%s/senders/%d", folder, getpid()) < 0) abort();
    control = path(own, "control");
    TRY("remove", "socket", unlink(control));
    TRY("replace", "socket", rename(mine, control));
    TRY("take", "socket", rename(control, mine));
    TRY("create", "file", open(path(own, "file"), O_WRONLY | O_CREAT, 0600));
    /* From what it has of Unix sockets, no way leads to one that others listen at. */
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/control", open(own, O_PATH));
    for (int descriptor = 3; descriptor < 256; descriptor++) {
        int family = 0;
        socklen_t size = sizeof family;
        if (getsockopt(descriptor, SOL_SOCKET, SO_DOMAIN, &family, &size) != 0 || family != AF_UNIX) continue;
        TRY("connect", "socket", connect(descriptor, (struct sockaddr *)&address, sizeof address));
    }
}

static void intrude_folder(const char *folder, const char *mine) {
    struct dirent *entry;
    DIR *names = opendir(folder);
    while (names && (entry = readdir(names))) {
        struct stat info;
        char *file = path(folder, entry->d_name);
        if (stat(file, &info) != 0 || S_ISDIR(info.st_mode)) continue;
        const char *of = strncmp(entry->d_name, "frames.", 7) == 0 ? "frames" : entry->d_name;
        if (S_ISREG(info.st_mode)) change_open(file, of);
        change(file, of, mine);
    }
    char *request = path(folder, "request");
    TRY("create", "request", open(request, O_WRONLY | O_CREAT, 0600));
    TRY("rename", "request", rename(mine, request));
    TRY("link", "request", link(mine, request));
    TRY("symlink", "request", symlink(mine, request));
    TRY("pipe", "request", mkfifo(request, 0600));
    TRY("folder", "request", mkdir(request, 0700));
    TRY("rename", "senders", rename(path(folder, "senders"), request));
    TRY("folder", "another-sender", mkdir(path(folder, "senders/1"), 0700));
    intrude_own_folder(folder, mine);
    TRY("chmod", "folder", chmod(folder, 0777));
    change_inherited(folder);
}

static void intrude_system(const char *outside, const char *mine) {
    char parent[64], letter = 'x';
    int others = getppid();
    change(outside, "outside", mine);
    snprintf(parent, sizeof parent, "/proc/%d/mem", others);
    TRY("memory", "parent", open(parent, O_RDONLY));
    TRY("signal", "parent", kill(others, 0));
    TRY("limit", "parent", prlimit(others, RLIMIT_CORE, &(struct rlimit){0, 0}, NULL));
    TRY("priority", "parent", setpriority(PRIO_PROCESS, (id_t)others, 19));
    TRY("type", "", ioctl(2, TIOCSTI, &letter));
    TRY("type-high", "", ioctl(2, TIOCSTI | 1ul << 32, &letter));
    TRY("console", "", ioctl(2, TIOCLINUX, &letter));
    TRY("foreground", "", ioctl(2, TIOCSPGRP, &others));
    TRY("shmget", "key", shmget(4711, 4096, IPC_CREAT | 0600));
    TRY("shmctl", "", shmctl(0, SHM_STAT, &(struct shmid_ds){0}));
    TRY("semget", "", semget(IPC_PRIVATE, 1, 0600));
    TRY("msgget", "", msgget(IPC_PRIVATE, 0600));
    TRY("mq_open", "", mq_open("/oriel", O_RDWR | O_CREAT, 0600, NULL));
    if (getenv("ORIEL_INTRUDER_ASKS")) return;
    TRY("namespace", "", namespace());
    TRY("execute", "", execl("/bin/true", "true", NULL));
}

static void intrude_sender(const char *outside) {
    TRY("read", "outside", open(outside, O_RDONLY));
    TRY("shmget", "own", shmget(IPC_PRIVATE, 4096, 0600));
    TRY("shmat", "", shmat(0, NULL, 0));
    TRY("unix", "", socket(AF_UNIX, SOCK_STREAM, 0));
    TRY("list", "shared-memory", opendir("/dev/shm") ? 0 : -1);
    TRY("open", "terminal", open("/dev/tty", O_RDWR));
    TRY("open", "terminals", open("/dev/ptmx", O_RDWR));
    TRY("open", "kernel-log", open("/dev/kmsg", O_RDONLY));
    TRY("list", "devices", opendir("/sys/class") ? 0 : -1);
    TRY("own:random", "", open("/dev/urandom", O_RDONLY));
    TRY("own:processors", "", open("/sys/devices/system/cpu/online", O_RDONLY));
}

/* What a sender has of the network, and what not. */
static void use_network(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int tcp = socket(AF_INET, SOCK_STREAM, 0);
    TRY("own:tcp", "", tcp);
    TRY("own:bind", "", bind(tcp, (struct sockaddr *)&address, sizeof address));
    TRY(getenv("ORIEL_INTRUDER_ACCEPTS") ? "own:listen" : "listen", "", listen(tcp, 1));
    TRY("own:udp", "", socket(AF_INET, SOCK_DGRAM, 0));
    TRY("own:netlink", "", socket(AF_NETLINK, SOCK_RAW, 0));
    TRY("packet", "", socket(AF_PACKET, SOCK_RAW, 0));
    TRY("vsock", "", socket(AF_VSOCK, SOCK_STREAM, 0));
    TRY("bluetooth", "", socket(AF_BLUETOOTH, SOCK_RAW, 0));
    TRY("kernel", "", socket(AF_ALG, SOCK_SEQPACKET, 0));
}

static void miss_network(void) {
    TRY("tcp", "", socket(AF_INET, SOCK_STREAM, 0));
    TRY("udp", "", socket(AF_INET6, SOCK_DGRAM, 0));
    TRY("netlink", "", socket(AF_NETLINK, SOCK_RAW, 0));
}

/* One that may write a folder: nothing in it leads elsewhere. */
static void use_folder(const char *own, const char *outside) {
    char *file = path(own, "file"), *link = path(own, "link");
    TRY("own:write", "", open(file, O_RDWR | O_CREAT, 0600));
    TRY("own:remove", "", unlink(file));
    TRY("symlink", "own", symlink(outside, link));
}

/* One that asks a person has the bus and the terminal, and the folder of those who are known. */
static void intrude_asker(const char *outside, const char *own) {
    TRY("own:unix", "", socket(AF_UNIX, SOCK_STREAM, 0));
    TRY("read", "outside", open(outside, O_RDONLY));
    TRY("list", "shared-memory", opendir("/dev/shm") ? 0 : -1);
    /* The key of TLS stands beside that folder. */
    TRY("read", "key", open(path(own, "../https.pem"), O_RDONLY));
    TRY("write", "key", open(path(own, "../https.pem"), O_WRONLY));
    TRY("create", "state", open(path(own, "../file"), O_WRONLY | O_CREAT, 0600));
    char *beside;
    if (asprintf(&beside, "%s.beside", outside) < 0) abort();
    TRY("create", "beside", open(beside, O_WRONLY | O_CREAT, 0600));
    TRY("end", "parent", kill(getppid(), SIGTERM));
    TRY("namespace", "", namespace());
    TRY("shmget", "own", shmget(IPC_PRIVATE, 4096, 0600));
    TRY("open", "terminals", open("/dev/ptmx", O_RDWR));
    TRY("listen", "", listen(socket(AF_UNIX, SOCK_STREAM, 0), 1));
}

/* One that has the X server, by Unix sockets and shared segments. */
static void intrude_capture(const char *outside) {
    TRY("own:unix", "", socket(AF_UNIX, SOCK_STREAM, 0));
    TRY("own:segment", "", shmctl(shmget(IPC_PRIVATE, 4096, 0600), IPC_RMID, NULL));
    TRY("read", "outside", open(outside, O_RDONLY));
    TRY("list", "shared-memory", opendir("/dev/shm") ? 0 : -1);
    TRY("open", "terminal", open("/dev/tty", O_RDWR));
    TRY("open", "terminals", open("/dev/ptmx", O_RDWR));
    TRY("list", "devices", opendir("/sys/class") ? 0 : -1);
}

/* One that has the sound server, by Unix sockets. */
static void intrude_hearer(const char *outside) {
    TRY("own:unix", "", socket(AF_UNIX, SOCK_STREAM, 0));
    TRY("listen", "", listen(socket(AF_UNIX, SOCK_STREAM, 0), 1));
    TRY("read", "outside", open(outside, O_RDONLY));
    TRY("shmget", "own", shmget(IPC_PRIVATE, 4096, 0600));
    TRY("list", "shared-memory", opendir("/dev/shm") ? 0 : -1);
    TRY("open", "terminal", open("/dev/tty", O_RDWR));
    TRY("open", "terminals", open("/dev/ptmx", O_RDWR));
    TRY("list", "devices", opendir("/sys/class") ? 0 : -1);
}

static void intrude(void) {
    const char *folder = getenv("ORIEL_INTRUDER_FOLDER"), *outside = getenv("ORIEL_INTRUDER_OUTSIDE");
    const char *mine = getenv("ORIEL_INTRUDER_MINE");
    if (!outside || !mine) return;
    if (folder) intrude_folder(folder, mine);
    intrude_system(outside, mine);
    bool records = getenv("ORIEL_INTRUDER_RECORDS");
    bool reads = getenv("ORIEL_INTRUDER_READS"), asks = getenv("ORIEL_INTRUDER_ASKS"), shows = getenv("ORIEL_INTRUDER_SHOWS");
    bool meets = getenv("ORIEL_INTRUDER_MEETS");
    if (folder || getenv("ORIEL_INTRUDER_LISTENS") || shows || records || meets || (reads && !asks)) intrude_sender(outside);
    if (folder || meets) use_network();
    bool hears = getenv("ORIEL_INTRUDER_HEARS"), captures = getenv("ORIEL_INTRUDER_CAPTURES");
    const char *own = getenv("ORIEL_INTRUDER_OWN");
    if (hears) intrude_hearer(outside);
    if (captures) intrude_capture(outside);
    if (shows || reads || hears || captures || records) miss_network();
    if (asks && own) intrude_asker(outside, own);
    if (own) use_folder(own, outside);
    dprintf(2, "intruder done 0\n");
}

static void intrude_once(void) {
    static int has_begun;
    if (has_begun) return;
    has_begun = 1;
    intrude();
}

int listen(int socket, int backlog) {
    struct sockaddr address;
    bool is_local = getsockname(socket, &address, &(socklen_t){sizeof address}) == 0 && address.sa_family == AF_UNIX;
    if (getenv("ORIEL_INTRUDER_LISTENS") || (getenv("ORIEL_INTRUDER_MEETS") && !is_local)) intrude_once();
    int (*real)(int, int) = (int (*)(int, int))dlsym(RTLD_NEXT, "listen");
    return real(socket, backlog);
}

ssize_t read(int descriptor, void *buffer, size_t size) {
    ssize_t (*real)(int, void *, size_t) = (ssize_t (*)(int, void *, size_t))dlsym(RTLD_NEXT, "read");
    ssize_t count = real(descriptor, buffer, size);
    if (count > 0 && getenv("ORIEL_INTRUDER_READS")) intrude_once();
    return count;
}

int fallocate(int descriptor, int mode, off_t offset, off_t length) {
    if (getenv("ORIEL_INTRUDER_RECORDS")) intrude_once();
    int (*real)(int, int, off_t, off_t) = (int (*)(int, int, off_t, off_t))dlsym(RTLD_NEXT, "fallocate");
    return real(descriptor, mode, offset, length);
}

struct cookie {
    unsigned sequence;
};

struct cookie xcb_configure_window(void *connection, uint32_t window, uint16_t mask, const void *values) {
    if (getenv("ORIEL_INTRUDER_SHOWS")) intrude_once();
    struct cookie (*real)(void *, uint32_t, uint16_t, const void *) =
        (struct cookie (*)(void *, uint32_t, uint16_t, const void *))dlsym(RTLD_NEXT, "xcb_configure_window");
    return real(connection, window, mask, values);
}

int inotify_init1(int flags) {
    intrude_once();
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "inotify_init1");
    return real(flags);
}
