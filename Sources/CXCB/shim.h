#pragma once
#include <stdlib.h>
#include <xcb/xcb.h>
#include <xcb/damage.h>
#include <xcb/randr.h>
#include <xcb/shm.h>
#include <xcb/xfixes.h>

/* The extension identifiers are mutable C globals, which Swift 6 does not let through. */
static inline const xcb_query_extension_reply_t *oriel_xcb_shm(xcb_connection_t *c) { return xcb_get_extension_data(c, &xcb_shm_id); }
static inline const xcb_query_extension_reply_t *oriel_xcb_damage(xcb_connection_t *c) { return xcb_get_extension_data(c, &xcb_damage_id); }
static inline const xcb_query_extension_reply_t *oriel_xcb_randr(xcb_connection_t *c) { return xcb_get_extension_data(c, &xcb_randr_id); }
static inline const xcb_query_extension_reply_t *oriel_xcb_xfixes(xcb_connection_t *c) { return xcb_get_extension_data(c, &xcb_xfixes_id); }
