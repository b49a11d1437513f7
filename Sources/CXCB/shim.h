#pragma once
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <xcb/xcb.h>
#include <xcb/composite.h>
#include <xcb/damage.h>
#include <xcb/randr.h>
#include <xcb/res.h>
#include <xcb/shm.h>
#include <xcb/xcbext.h>
#include <xcb/xfixes.h>
#include <xcb/xinput.h>

/* The extension identifiers are mutable C globals, which Swift 6 does not let through. */
static inline void oriel_xcb_prefetch_extensions(xcb_connection_t *c) {
    xcb_prefetch_extension_data(c, &xcb_shm_id);
    xcb_prefetch_extension_data(c, &xcb_damage_id);
    xcb_prefetch_extension_data(c, &xcb_randr_id);
    xcb_prefetch_extension_data(c, &xcb_xfixes_id);
    xcb_prefetch_extension_data(c, &xcb_input_id);
    xcb_prefetch_extension_data(c, &xcb_composite_id);
    xcb_prefetch_extension_data(c, &xcb_res_id);
}
static inline const xcb_query_extension_reply_t *oriel_xcb_shm(xcb_connection_t *c) { return xcb_get_extension_data(c, &xcb_shm_id); }
static inline const xcb_query_extension_reply_t *oriel_xcb_damage(xcb_connection_t *c) { return xcb_get_extension_data(c, &xcb_damage_id); }
static inline const xcb_query_extension_reply_t *oriel_xcb_randr(xcb_connection_t *c) { return xcb_get_extension_data(c, &xcb_randr_id); }
static inline const xcb_query_extension_reply_t *oriel_xcb_xfixes(xcb_connection_t *c) { return xcb_get_extension_data(c, &xcb_xfixes_id); }
static inline const xcb_query_extension_reply_t *oriel_xcb_input(xcb_connection_t *c) { return xcb_get_extension_data(c, &xcb_input_id); }
static inline const xcb_query_extension_reply_t *oriel_xcb_composite(xcb_connection_t *c) { return xcb_get_extension_data(c, &xcb_composite_id); }
static inline const xcb_query_extension_reply_t *oriel_xcb_res(xcb_connection_t *c) { return xcb_get_extension_data(c, &xcb_res_id); }

/* Asks for events of XInput 2 when a pointer of the user moves, whatever window it is over. The mask follows the header
   in the request, which the struct of xcb leaves to its user. */
static inline xcb_void_cookie_t oriel_xcb_select_raw_motion(xcb_connection_t *c, xcb_window_t root) {
    struct { xcb_input_event_mask_t head; uint32_t mask; } selection = {
        {XCB_INPUT_DEVICE_ALL_MASTER, 1}, XCB_INPUT_XI_EVENT_MASK_RAW_MOTION};
    return xcb_input_xi_select_events_checked(c, root, 1, &selection.head);
}

/* The format of images of this depth; NULL if the server has none. */
static inline const xcb_format_t *oriel_xcb_format(const xcb_setup_t *setup, uint8_t depth) {
    const xcb_format_t *format = xcb_setup_pixmap_formats(setup);
    for (int rest = xcb_setup_pixmap_formats_length(setup); rest > 0; rest--, format++)
        if (format->depth == depth) return format;
    return NULL;
}

/* The visual of this number; NULL if the screen has none. */
static inline const xcb_visualtype_t *oriel_xcb_visual(const xcb_screen_t *screen, xcb_visualid_t id) {
    xcb_depth_iterator_t depths = xcb_screen_allowed_depths_iterator(screen);
    for (; depths.rem > 0; xcb_depth_next(&depths)) {
        xcb_visualtype_iterator_t visuals = xcb_depth_visuals_iterator(depths.data);
        for (; visuals.rem > 0; xcb_visualtype_next(&visuals))
            if (visuals.data->visual_id == id) return visuals.data;
    }
    return NULL;
}

/* Memory of a fixed size behind a descriptor: sealed, so that nobody who is given it can shrink it under a mapping.
   Returns the descriptor, or -1 with errno set. The constants are those of memfd_create(2) and fcntl(2), which glibc
   hides without _GNU_SOURCE. */
static inline int oriel_sealed_memory(const char *name, size_t size) {
    const unsigned close_on_exec = 1, allow_sealing = 2;
    const int add_seals = 1033, seal_seal = 1, seal_shrink = 2, seal_grow = 4;
    int descriptor = (int)syscall(SYS_memfd_create, name, close_on_exec | allow_sealing);
    if (descriptor < 0) return -1;
    if (ftruncate(descriptor, (off_t)size) != 0
        || fcntl(descriptor, add_seals, seal_seal | seal_shrink | seal_grow) != 0) {
        close(descriptor);
        return -1;
    }
    return descriptor;
}
