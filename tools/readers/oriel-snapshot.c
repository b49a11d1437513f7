/* oriel-snapshot: attaches to a live Oriel broadcast and writes its latest whole frame as a PNG.
 *
 * Compile it with:  cc -O2 -I Sources/COrielBridge -o oriel-snapshot tools/readers/oriel-snapshot.c
 *
 * It needs Linux and the C library, nothing else, and was written from the document "The format of a bridge" and from
 * oriel_bridge.h alone, without a look at any other source: an example for those who want to read frames themselves. */
#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "oriel_bridge.h"

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x10
#endif
#define MILLISECOND INT64_C(1000000)
#define SECOND (1000 * MILLISECOND)

enum { FAILED = 1, WRONG_USAGE = 64, NOTHING_YET = 75 };

struct reader {
    const char *path;
    int folder;
    int64_t locked_ns;
    char name[32];                            /* of the frames below */
    const struct oriel_bridge_header *frames; /* the mapping; NULL until some are open */
    int file;                                 /* what is mapped */
    struct oriel_bridge_header checked;       /* a copy of its header, of which the first 64 bytes hold */
    uint64_t latest_read;
    unsigned long pictures, overruns, generations;
    struct oriel_bridge_slot picture; /* the metadata of the last picture */
    uint8_t *planes;                  /* its luma and then its chroma, without padding between rows */
};

__attribute__((noreturn, format(printf, 2, 3))) static void fail(int code, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fputs("oriel-snapshot: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    exit(code);
}

static void require(const struct reader *reader, bool is_right, const char *what) {
    if (!is_right) fail(FAILED, "%s/%s is damaged (%s): start the broadcast anew.", reader->path, reader->name, what);
}

static void end_at_bus_error(int number) {
    static const char text[] = "oriel-snapshot: cannot read the frames, their file shrank: start the broadcast anew.\n";
    ssize_t ignored = write(STDERR_FILENO, text, sizeof text - 1);
    (void)ignored, (void)number;
    _exit(FAILED);
}

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * SECOND + now.tv_nsec;
}

static void sleep_ms(long milliseconds) {
    nanosleep(&(struct timespec){ .tv_nsec = milliseconds * MILLISECOND }, NULL);
}

static void *allocate(size_t bytes) {
    void *memory = malloc(bytes);
    if (!memory) fail(FAILED, "cannot get %zu bytes of memory for the picture: end other programs.", bytes);
    return memory;
}

enum { CRC32, CRC32C };
static uint32_t crc_tables[2][256];

static void make_crc_tables(void) {
    static const uint32_t polynomials[2] = { 0xEDB88320, 0x82F63B78 };
    for (unsigned i = 0; i < 2 * 256; i++) {
        uint32_t value = i % 256;
        for (int bit = 0; bit < 8; bit++) value = (value >> 1) ^ (value & 1 ? polynomials[i / 256] : 0);
        crc_tables[i / 256][i % 256] = value;
    }
}

static uint32_t crc(int kind, uint32_t before, const void *data, size_t count) {
    uint32_t value = ~before;
    for (const uint8_t *byte = data; count-- > 0; byte++) {
        value = (value >> 8) ^ crc_tables[kind][(value ^ *byte) & 0xFF];
    }
    return ~value;
}

/* The folder */

static void refuse_unless_private(const struct reader *reader, const struct stat *info, const char *name) {
    if (info->st_uid != geteuid() || (info->st_mode & 077) != 0) {
        fail(FAILED, "refusing %s/%s, which is somebody else's or open to others: make it yours, for you alone.",
             reader->path, name);
    }
}

/* -1: there is no such file. */
static int open_private(const struct reader *reader, const char *name) {
    int file = openat(reader->folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0 && errno == ENOENT) return -1;
    struct stat info;
    if (file < 0 || fstat(file, &info) != 0) {
        fail(FAILED, "cannot open %s/%s (%s): check what it is.", reader->path, name, strerror(errno));
    }
    if (!S_ISREG(info.st_mode)) fail(FAILED, "%s/%s is not a regular file: remove it.", reader->path, name);
    refuse_unless_private(reader, &info, name);
    return file;
}

/* Takes the reader's lock and never gives it back: the kernel does that at the end. */
static bool attach(struct reader *reader) {
    struct stat info;
    int folder = open(reader->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0 && errno == ENOENT) return false;
    if (folder < 0 || fstat(folder, &info) != 0) {
        fail(FAILED, "cannot open the folder %s (%s): name that of a broadcast.", reader->path, strerror(errno));
    }
    refuse_unless_private(reader, &info, ".");
    reader->folder = folder;
    int lock = open_private(reader, "reader.lock");
    if (lock < 0) {
        close(folder);
        return false;
    }
    /* Before the lock is taken, as a writer may be so quick that it has a picture before that returns. */
    reader->locked_ns = now_ns();
    struct flock shared = { .l_type = F_RDLCK, .l_whence = SEEK_SET };
    if (fcntl(lock, F_OFD_SETLK, &shared) != 0 || fchmod(lock, 0600) != 0) {
        fail(FAILED, "cannot lock %s/reader.lock (%s): see what holds it.", reader->path, strerror(errno));
    }
    return true;
}

static bool writer_lives(const struct reader *reader) {
    int file = open_private(reader, "writer.lock");
    if (file < 0) return false;
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    bool is_held = fcntl(file, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
    close(file);
    return is_held;
}

/* The generation that `status` names; 0 if there are no frames, or no status that counts. */
static uint64_t current_generation(const struct reader *reader) {
    static const char *const needed[] = { "state=", "gen=", "pid=", "started_ns=" };
    int file = open_private(reader, "status");
    if (file < 0) return 0;
    char text[1026];
    ssize_t count = read(file, text, sizeof text - 1);
    close(file);
    if (count < 0 || count > 1024) return 0;
    text[count] = '\0';

    unsigned found = 0;
    uint64_t generation = 0;
    char *rest = text;
    for (char *line; (line = strsep(&rest, "\n"));) {
        for (int key = 0; key < 4; key++) {
            if (strncmp(line, needed[key], strlen(needed[key])) == 0) found |= 1U << key;
        }
        if (strncmp(line, "gen=", 4) == 0) {
            char *end;
            generation = strtoull(line + 4, &end, 16);
            if (!isxdigit((unsigned char)line[4]) || strlen(line) > 4 + 16 || *end != '\0') return 0;
        }
    }
    return found == 0xF ? generation : 0;
}

/* Frames */

/* -1: the memory is not to be had at the moment, because of `*why`. */
static int receive_memory(const struct reader *reader, const char **why) {
    int pair[2], sender = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (sender < 0 || socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair) != 0) {
        fail(FAILED, "cannot make a socket for %s/%s (%s): try again.", reader->path, reader->name, strerror(errno));
    }
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/%s", reader->folder, reader->name);
    char byte = 0;
    struct iovec data = { .iov_base = &byte, .iov_len = 1 };
    union { struct cmsghdr header; char bytes[CMSG_SPACE(sizeof(int))]; } control = {
        .header = { .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS } };
    /* CMSG_LEN, not CMSG_SPACE: a second descriptor would fit into the padding of the answer. */
    struct msghdr message = { .msg_name = &address, .msg_namelen = sizeof address, .msg_iov = &data, .msg_iovlen = 1,
                              .msg_control = &control, .msg_controllen = CMSG_LEN(sizeof(int)) };
    memcpy(CMSG_DATA(&control.header), &pair[1], sizeof(int));
    int error = EAGAIN;
    for (int attempt = 0; error == EAGAIN && attempt < 100; attempt++) {
        if (attempt > 0) sleep_ms(1);
        error = sendmsg(sender, &message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? errno : 0;
    }
    close(sender);
    close(pair[1]);
    if (error != 0 && error != EAGAIN && error != ECONNREFUSED && error != ECONNRESET && error != EPIPE && error != ENOENT) {
        fail(FAILED, "cannot ask %s/%s for memory (%s): try again.", reader->path, reader->name, strerror(error));
    }

    int memory = -1;
    struct pollfd answer = { .fd = pair[0], .events = POLLIN };
    message.msg_name = NULL;
    message.msg_namelen = 0;
    *why = error == 0 || error == EAGAIN ? "its writer does not answer" : "its writer is gone";
    if (error == 0 && poll(&answer, 1, 100) == 1 && recvmsg(pair[0], &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) >= 0
        && CMSG_FIRSTHDR(&message) && control.header.cmsg_len == CMSG_LEN(sizeof(int))
        && control.header.cmsg_level == SOL_SOCKET && control.header.cmsg_type == SCM_RIGHTS) {
        memcpy(&memory, CMSG_DATA(&control.header), sizeof(int));
        int needed = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE;
        int seals = fcntl(memory, F_GET_SEALS);
        require(reader, seals >= 0 && (seals & needed) == needed, "its memory is not sealed");
    }
    close(pair[0]);
    return memory;
}

static void check_header(const struct reader *reader, const struct oriel_bridge_header *header, uint64_t generation,
                         uint64_t size) {
    require(reader, header->magic == ORIEL_BRIDGE_MAGIC, "it does not begin with ORIELFV1");
    require(reader, header->byte_order == ORIEL_BRIDGE_BYTE_ORDER, "its byte order is another one");
    require(reader, header->checksum == crc(CRC32C, 0, header, 60), "the checksum of its header is wrong");
    if (header->major > ORIEL_BRIDGE_MAJOR) {
        fail(FAILED, "%s/%s has version %d.%d of the format, which is newer: use the same version on both sides.",
             reader->path, reader->name, header->major, header->minor);
    }
    require(reader, header->major == ORIEL_BRIDGE_MAJOR, "its version is unknown");
    require(reader, header->header_bytes == ORIEL_BRIDGE_PAGE, "its header has another size");
    require(reader, header->slot_count == ORIEL_BRIDGE_SLOTS, "it does not have three slots");
    require(reader, header->generation == generation, "its generation is not that of its name");
    require(reader, header->file_bytes <= size, "it is shorter than it says");
    uint64_t bytes = header->file_bytes, stride = header->slot_stride, offset = header->slots_offset;
    require(reader, stride >= ORIEL_BRIDGE_PAGE && stride % ORIEL_BRIDGE_PAGE == 0, "its slots have a wrong size");
    require(reader, offset >= ORIEL_BRIDGE_PAGE && offset % ORIEL_BRIDGE_PAGE == 0, "its slots are misplaced");
    require(reader, offset <= bytes && stride <= (bytes - offset) / ORIEL_BRIDGE_SLOTS, "its slots do not fit");
}

/* Opens the frames that `status` names, if they are not open yet. NULL, or why there are none. */
static const char *open_frames(struct reader *reader) {
    uint64_t generation = current_generation(reader);
    if (generation == 0 || (reader->frames && generation == reader->checked.generation)) return "nobody writes there";
    snprintf(reader->name, sizeof reader->name, "frames.%016llx", (unsigned long long)generation);

    struct stat info;
    const char *why = "its frames were just removed";
    bool is_socket = fstatat(reader->folder, reader->name, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISSOCK(info.st_mode);
    if (is_socket) refuse_unless_private(reader, &info, reader->name);
    int file = is_socket ? receive_memory(reader, &why) : open_private(reader, reader->name);
    if (file < 0) return why;

    union { struct oriel_bridge_header header; uint8_t bytes[ORIEL_BRIDGE_PAGE]; } page;
    ssize_t count = pread(file, &page, sizeof page, 0);
    require(reader, fstat(file, &info) == 0 && count == sizeof page, "its header is cut off");
    check_header(reader, &page.header, generation, (uint64_t)info.st_size);
    void *mapping = mmap(NULL, page.header.file_bytes, PROT_READ, MAP_SHARED, file, 0);
    if (mapping == MAP_FAILED) {
        fail(FAILED, "cannot map %s/%s (%s): end other programs.", reader->path, reader->name, strerror(errno));
    }
    if (reader->frames) {
        munmap((void *)reader->frames, reader->checked.file_bytes);
        close(reader->file);
    }
    reader->frames = mapping;
    reader->file = file;
    reader->checked = page.header;
    reader->latest_read = 0;
    reader->generations++;
    return NULL;
}

static bool frames_have_ended(const struct reader *reader) {
    struct stat info;
    return __atomic_load_n(&reader->frames->state, __ATOMIC_ACQUIRE) == ORIEL_BRIDGE_RETIRED
        || fstatat(reader->folder, reader->name, &info, AT_SYMLINK_NOFOLLOW) != 0;
}

/* Retired counts: a writer that wakes up to find that the picture has grown begins another generation. */
static bool is_active(const struct reader *reader) {
    int64_t heartbeat = (int64_t)__atomic_load_n(&reader->frames->heartbeat_ns, __ATOMIC_ACQUIRE);
    uint32_t state = __atomic_load_n(&reader->frames->state, __ATOMIC_ACQUIRE);
    return (state == ORIEL_BRIDGE_ACTIVE || state == ORIEL_BRIDGE_RETIRED) && now_ns() - heartbeat <= 2 * SECOND
        && writer_lives(reader);
}

static bool fits(const struct reader *reader, uint64_t offset, uint64_t rows, uint64_t stride, uint64_t row_bytes) {
    return offset >= ORIEL_BRIDGE_PAGE && stride >= row_bytes
        && offset + (rows - 1) * stride + row_bytes <= reader->checked.slot_stride;
}

static bool is_side(uint32_t side) {
    return side >= 2 && side <= ORIEL_BRIDGE_MAX_SIDE && side % 2 == 0;
}

static void check_slot(const struct reader *reader, const struct oriel_bridge_slot *slot) {
    require(reader, is_side(slot->width) && is_side(slot->height), "a frame has a wrong size");
    require(reader, slot->pixel_format == ORIEL_BRIDGE_NV12 && slot->matrix == ORIEL_BRIDGE_BT601
            && slot->range == ORIEL_BRIDGE_LIMITED && slot->orientation < 8, "a frame has an unknown kind of pixels");
    uint32_t columns = (slot->width - 1) / ORIEL_BRIDGE_TILE + 1, rows = (slot->height - 1) / ORIEL_BRIDGE_TILE + 1;
    require(reader, slot->tile_size == ORIEL_BRIDGE_TILE && slot->tile_columns == columns && slot->tile_rows == rows
            && slot->tiles_offset % 4 == 0, "a frame has wrong tiles");
    require(reader, fits(reader, slot->luma_offset, slot->height, slot->luma_stride, slot->width)
            && fits(reader, slot->chroma_offset, slot->height / 2, slot->chroma_stride, slot->width)
            && fits(reader, slot->tiles_offset, rows, columns * 4, columns * 4), "a frame does not fit into its slot");
}

static uint8_t *copy_rows(uint8_t *to, const uint8_t *from, uint32_t stride, uint32_t width, uint32_t rows) {
    for (uint32_t row = 0; row < rows; row++, to += width) memcpy(to, from + (size_t)row * stride, width);
    return to;
}

static void read_latest(struct reader *reader) {
    for (int attempt = 0; attempt < 4; attempt++) {
        uint64_t latest = __atomic_load_n(&reader->frames->latest, __ATOMIC_ACQUIRE), slot_index = latest & 0xFF;
        if (latest == 0 || latest == reader->latest_read) return;
        require(reader, slot_index < ORIEL_BRIDGE_SLOTS && latest >> 8 > 0, "its newest frame is nowhere");
        const uint8_t *bytes = (const uint8_t *)reader->frames + reader->checked.slots_offset
            + slot_index * reader->checked.slot_stride;
        const struct oriel_bridge_slot *shared = (const struct oriel_bridge_slot *)bytes;
        uint64_t sequence = __atomic_load_n(&shared->sequence, __ATOMIC_ACQUIRE);
        if (sequence % 2 != 0) continue;
        struct oriel_bridge_slot slot;
        memcpy(&slot, bytes, sizeof slot);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (__atomic_load_n(&shared->sequence, __ATOMIC_RELAXED) != sequence) continue;
        require(reader, slot.checksum == crc(CRC32C, 0, &slot.frame_number, 112), "the checksum of a frame is wrong");
        if (slot.frame_number != latest >> 8) continue;
        check_slot(reader, &slot);

        uint8_t *planes = allocate((size_t)slot.width * slot.height / 2 * 3);
        uint8_t *chroma = copy_rows(planes, bytes + slot.luma_offset, slot.luma_stride, slot.width, slot.height);
        copy_rows(chroma, bytes + slot.chroma_offset, slot.chroma_stride, slot.width, slot.height / 2);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (__atomic_load_n(&shared->sequence, __ATOMIC_RELAXED) != sequence) {
            free(planes);
            continue;
        }
        /* Of the page in which a file was cut, the rest reads as zeros, without a signal. */
        struct stat info;
        bool is_long_enough = fstat(reader->file, &info) == 0 && (uint64_t)info.st_size >= reader->checked.file_bytes;
        require(reader, is_long_enough, "its frames were cut off");
        reader->latest_read = latest;
        uint64_t horizon = __atomic_load_n(&reader->frames->horizon_ns, __ATOMIC_ACQUIRE);
        if (slot.captured_ns < horizon && horizon <= __atomic_load_n(&reader->frames->heartbeat_ns, __ATOMIC_ACQUIRE)) {
            free(planes); /* A pause came meanwhile: the picture that stands for it follows. */
            return;
        }
        free(reader->planes);
        reader->planes = planes;
        reader->picture = slot;
        reader->pictures++;
        return;
    }
    reader->overruns++;
}

/* Where `follow_ns` is 0: until there is a picture that is up to date. */
static void receive(struct reader *reader, int64_t follow_ns, int64_t first_picture_until) {
    int64_t until = reader->locked_ns + (follow_ns > 0 ? follow_ns : 300 * MILLISECOND);
    for (;;) {
        uint32_t wake = 0;
        const char *why_not = reader->frames && !frames_have_ended(reader) ? NULL : open_frames(reader);
        if (!why_not && frames_have_ended(reader)) why_not = "its frames were just replaced";
        if (!why_not) {
            wake = __atomic_load_n(&reader->frames->wake, __ATOMIC_ACQUIRE);
            read_latest(reader);
        }
        int64_t left = (reader->pictures > 0 ? until : first_picture_until) - now_ns();
        if (reader->pictures > 0 && left <= 0) return;
        if (reader->pictures > 0 && follow_ns == 0) {
            /* While nobody held the lock the writer slept, and what was there may be old. */
            bool is_fresh = (int64_t)(reader->picture.captured_ns - (uint64_t)reader->locked_ns) >= 0;
            if (is_fresh || !is_active(reader)) return;
        }
        if (left <= 0) {
            fail(NOTHING_YET, "no picture in %s, %s: see \"oriel status\", or wait longer with --wait.", reader->path,
                 why_not ? why_not : "there is no whole one yet");
        }
        if (why_not) {
            sleep_ms(10);
            continue;
        }
        /* A writer that was killed wakes nobody: look for the next one several times a second. */
        struct timespec timeout = { .tv_nsec = left < 100 * MILLISECOND ? left : 100 * MILLISECOND };
        syscall(SYS_futex, &reader->frames->wake, FUTEX_WAIT, wake, &timeout, NULL, 0);
    }
}

/* PNG */

static void put_u32(uint8_t *to, uint32_t value) {
    for (int byte = 0; byte < 4; byte++) to[byte] = (uint8_t)(value >> (24 - 8 * byte));
}

static void write_chunk(FILE *file, const char *type, const void *data, uint32_t count) {
    uint8_t head[8], tail[4];
    put_u32(head, count);
    memcpy(head + 4, type, 4);
    put_u32(tail, crc(CRC32, crc(CRC32, 0, type, 4), data, count));
    fwrite(head, 1, sizeof head, file);
    fwrite(data, 1, count, file);
    fwrite(tail, 1, sizeof tail, file);
}

static uint8_t clamp(int32_t value) {
    value = (value + (1 << 15)) >> 16;
    return value < 0 ? 0 : value > 255 ? 255 : (uint8_t)value;
}

/* BT.601, limited range, in 16 bits of fraction. */
static void convert_row(uint8_t *rgb, const uint8_t *luma, const uint8_t *chroma, uint32_t width) {
    for (uint32_t x = 0; x < width; x++, rgb += 3) {
        int32_t y = 76309 * (luma[x] - 16), cb = chroma[x & ~1U] - 128, cr = chroma[x | 1U] - 128;
        rgb[0] = clamp(y + 104597 * cr);
        rgb[1] = clamp(y - 25675 * cb - 53279 * cr);
        rgb[2] = clamp(y + 132201 * cb);
    }
}

static void write_picture(FILE *file, const uint8_t *planes, uint32_t width, uint32_t height) {
    uint8_t header[13] = { [8] = 8, [9] = 2 }, adler[4];
    put_u32(header, width);
    put_u32(header + 4, height);
    fwrite("\x89PNG\r\n\x1a\n", 1, 8, file);
    write_chunk(file, "IHDR", header, sizeof header);
    write_chunk(file, "IDAT", "\x78\x01", 2);
    /* At most 49153 bytes, so that each row fits into one stored block. */
    uint32_t row_bytes = 1 + 3 * width;
    uint8_t *block = allocate(5 + row_bytes), *row = block + 5;
    uint64_t sum = 1, sum_of_sums = 0;
    for (uint32_t y = 0; y < height; y++) {
        uint8_t low = (uint8_t)row_bytes, high = (uint8_t)(row_bytes >> 8);
        memcpy(block, (uint8_t[6]){ y + 1 == height, low, high, low ^ 0xFF, high ^ 0xFF }, 6);
        convert_row(row + 1, planes + (size_t)y * width, planes + (size_t)(height + y / 2) * width, width);
        for (uint32_t i = 0; i < row_bytes; i++) sum_of_sums += sum += row[i];
        sum %= 65521;
        sum_of_sums %= 65521;
        write_chunk(file, "IDAT", block, 5 + row_bytes);
    }
    free(block);
    put_u32(adler, (uint32_t)(sum_of_sums << 16 | sum));
    write_chunk(file, "IDAT", adler, sizeof adler);
    write_chunk(file, "IEND", "", 0);
}

static void write_file(const char *path, const struct reader *reader) {
    char *temporary;
    if (asprintf(&temporary, "%s.XXXXXX", path) < 0) fail(FAILED, "no memory to write %s: end other programs.", path);
    /* It keeps the mode 0600 of such files: what is on a screen is nobody else's business. */
    int descriptor = mkstemp(temporary);
    FILE *file = descriptor < 0 ? NULL : fdopen(descriptor, "wb");
    if (!file) fail(FAILED, "cannot make a file beside %s (%s): choose another place.", path, strerror(errno));
    write_picture(file, reader->planes, reader->picture.width, reader->picture.height);
    bool has_failed = ferror(file);
    if (fclose(file) != 0 || has_failed || rename(temporary, path) != 0) {
        int error = errno;
        unlink(temporary);
        fail(FAILED, "cannot write %s (%s): choose another place.", path, strerror(error));
    }
    free(temporary);
}

/* Command line */

static int64_t parse_seconds(const char *text) {
    char *end;
    double seconds = strtod(text, &end);
    if (end == text || *end != '\0' || !(seconds >= 0 && seconds <= 1e6)) {
        fail(WRONG_USAGE, "\"%s\" is no number of seconds: give one from 0 to 1000000.", text);
    }
    return (int64_t)(seconds * (double)SECOND);
}

static char *folder_of(const char *name) {
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    size_t length = strlen(name);
    if (length < 1 || length > 64 || name[0] == '.' || strspn(name, allowed) != length) {
        fail(WRONG_USAGE, "\"%s\" is no name of a broadcast: take 1 to 64 of A-Z a-z 0-9 . _ -, no dot first.", name);
    }
    const char *runtime = getenv("XDG_RUNTIME_DIR"), *temporary = getenv("TMPDIR");
    if (!temporary || !*temporary) temporary = "/tmp";
    char *path;
    int count = runtime && *runtime ? asprintf(&path, "%s/oriel/%s", runtime, name)
                                    : asprintf(&path, "%s/oriel-%u/%s", temporary, (unsigned)getuid(), name);
    if (count < 0) fail(FAILED, "no memory for the path of %s: end other programs.", name);
    return path;
}

int main(int count, char **arguments) {
    static const char usage[] =
        "oriel-snapshot [--name NAME | --dir PATH] [--follow SECONDS] [--wait SECONDS] FILE.png";
    static const struct option options[] = {
        { "name", required_argument, NULL, 'n' },   { "dir", required_argument, NULL, 'd' },
        { "follow", required_argument, NULL, 'f' }, { "wait", required_argument, NULL, 'w' },
        { "help", no_argument, NULL, 'h' },         { NULL, 0, NULL, 0 },
    };
    const char *name = NULL, *folder = NULL;
    int64_t follow_ns = 0, wait_ns = 2 * SECOND;
    opterr = 0;
    for (int option; (option = getopt_long(count, arguments, "", options, NULL)) != -1;) {
        switch (option) {
        case 'n': name = optarg; break;
        case 'd': folder = optarg; break;
        case 'f': follow_ns = parse_seconds(optarg); break;
        case 'w': wait_ns = parse_seconds(optarg); break;
        case 'h': printf("usage: %s\n", usage); return 0;
        default: fail(WRONG_USAGE, "cannot understand %s: use %s.", arguments[optind - 1], usage);
        }
    }
    if (optind != count - 1 || (name && folder)) fail(WRONG_USAGE, "wrong arguments: use %s.", usage);

    make_crc_tables();
    sigaction(SIGBUS, &(struct sigaction){ .sa_handler = end_at_bus_error }, NULL);
    struct reader reader = { .path = folder ? folder : folder_of(name ? name : "default") };
    int64_t first_picture_until = now_ns() + wait_ns;
    while (!attach(&reader)) {
        if (now_ns() >= first_picture_until) {
            fail(NOTHING_YET, "there is no broadcast in %s: start one with \"oriel start\".", reader.path);
        }
        sleep_ms(20);
    }
    receive(&reader, follow_ns, first_picture_until);
    write_file(arguments[optind], &reader);
    if (follow_ns > 0) {
        printf("frames=%lu overruns=%lu generations=%lu last=%llu\n", reader.pictures, reader.overruns,
               reader.generations, (unsigned long long)reader.picture.frame_number);
    }
    free(reader.planes);
    return 0;
}
