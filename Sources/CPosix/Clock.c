#define _GNU_SOURCE
#include "CPosix.h"

#include <stdint.h>
#include <sys/timerfd.h>
#include <unistd.h>

int posix_clock_watch(void) {
    /* The last instant that there is. */
    const struct itimerspec never = {.it_value.tv_sec = sizeof(time_t) == 8 ? INT64_MAX : INT32_MAX};
    int descriptor = timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK | TFD_CLOEXEC);
    if (descriptor < 0) return -1;
    if (timerfd_settime(descriptor, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &never, NULL) == 0) return descriptor;
    close(descriptor);
    return -1;
}
