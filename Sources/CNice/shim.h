#pragma once
#include <glib-unix.h>
#include <nice/agent.h>
#include <stdbool.h>

/* Variadic functions and macros that Swift does not import. */

/* An agent of one stream of RFC 8445: UDP, trickle, regular nomination, checks every 4 to 6 s once there is a path. */
static inline NiceAgent *oriel_ice_agent_new(GMainContext *context, bool controlling, bool relay_only) {
    NiceAgent *agent = nice_agent_new_full(
        context, NICE_COMPATIBILITY_RFC5245,
        NICE_AGENT_OPTION_REGULAR_NOMINATION | NICE_AGENT_OPTION_ICE_TRICKLE);
    g_object_set(
        agent, "upnp", FALSE, "ice-tcp", FALSE, "ice-udp", TRUE, "keepalive-conncheck", TRUE,
        "controlling-mode", controlling, "force-relay", relay_only, NULL);
    return agent;
}

static inline void oriel_ice_agent_set_stun(NiceAgent *agent, const char *address, unsigned port) {
    g_object_set(agent, "stun-server", address, "stun-server-port", port, NULL);
}

static inline void oriel_signal_connect(NiceAgent *agent, const char *signal, GCallback handler, gpointer context) {
    g_signal_connect(agent, signal, handler, context);
}

static inline void oriel_signal_disconnect(NiceAgent *agent, gpointer context) {
    g_signal_handlers_disconnect_by_data(agent, context);
}

/* Sends a datagram on the path in use: 1 if the system took it, 0 if it takes none for now, -1 if it is lost. */
static inline int oriel_ice_agent_send(
    NiceAgent *agent, guint stream, guint component, const void *bytes, gsize count) {
    GOutputVector vector = {bytes, count};
    NiceOutputMessage message = {&vector, 1};
    GError *error = NULL;
    if (nice_agent_send_messages_nonblocking(agent, stream, component, &message, 1, NULL, &error) == 1) return 1;
    int outcome = g_error_matches(error, G_IO_ERROR, G_IO_ERROR_WOULD_BLOCK) ? 0 : -1;
    g_clear_error(&error);
    return outcome;
}

/* The socket of the path in use, and the peer's address: -1 without a path, or where a relay wraps what is sent. */
static inline int oriel_ice_agent_direct_socket(
    NiceAgent *agent, guint stream, guint component, struct sockaddr_storage *address) {
    NiceCandidate *local, *remote;
    if (!nice_agent_get_selected_pair(agent, stream, component, &local, &remote)) return -1;
    if (local->transport != NICE_CANDIDATE_TRANSPORT_UDP || local->type == NICE_CANDIDATE_TYPE_RELAYED) return -1;
    GSocket *socket = nice_agent_get_selected_socket(agent, stream, component);
    if (!socket) return -1;
    int descriptor = g_socket_get_fd(socket);
    /* The agent keeps it open. */
    g_object_unref(socket);
    nice_address_copy_to_sockaddr(&remote->addr, (struct sockaddr *)address);
    return descriptor;
}

/* Sends a datagram from each UDP socket of the agent that can reach the address. */
static inline void oriel_ice_agent_send_from_all(
    NiceAgent *agent, guint stream, guint component, const NiceAddress *address, const void *bytes, gsize count) {
    struct sockaddr_storage target;
    nice_address_copy_to_sockaddr(address, (struct sockaddr *)&target);
    socklen_t size = target.ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
    GPtrArray *sockets = nice_agent_get_sockets(agent, stream, component);
    if (!sockets) return;
    for (guint i = 0; i < sockets->len; i++) {
        GSocket *socket = g_ptr_array_index(sockets, i);
        GSocketFamily family = target.ss_family == AF_INET6 ? G_SOCKET_FAMILY_IPV6 : G_SOCKET_FAMILY_IPV4;
        if (g_socket_get_socket_type(socket) != G_SOCKET_TYPE_DATAGRAM || g_socket_get_family(socket) != family) continue;
        sendto(g_socket_get_fd(socket), bytes, count, MSG_DONTWAIT, (struct sockaddr *)&target, size);
    }
    g_ptr_array_unref(sockets);
}

static inline uint32_t oriel_address_size(const struct sockaddr_storage *address) {
    return address->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
}

/* A source that only ends a wait, in microseconds of g_get_monotonic_time; -1 for never. Unlike g_source_set_ready_time, a
 * new deadline does not wake the context, so that its own thread can set one for each wait. */
typedef struct {
    GSource source;
    gint64 deadline;
} OrielTimer;

static gboolean oriel_timer_prepare(GSource *source, gint *timeout) {
    gint64 deadline = ((OrielTimer *)source)->deadline;
    gint64 remaining = MAX(deadline - g_source_get_time(source), 0);
    *timeout = deadline < 0 ? -1 : (gint)MIN((remaining + 999) / 1000, G_MAXINT);
    return FALSE;
}

static GSourceFuncs oriel_timer_functions = {oriel_timer_prepare, NULL, NULL, NULL, NULL, NULL};

static inline GSource *oriel_timer_new(GMainContext *context) {
    GSource *source = g_source_new(&oriel_timer_functions, sizeof(OrielTimer));
    ((OrielTimer *)source)->deadline = -1;
    g_source_attach(source, context);
    return source;
}

/* Only for the thread that runs the context. */
static inline void oriel_timer_set(GSource *source, gint64 deadline) { ((OrielTimer *)source)->deadline = deadline; }

/* A source that calls `ready` while a descriptor is readable. */
static inline GSource *oriel_watch_new(GMainContext *context, int descriptor, GUnixFDSourceFunc ready, gpointer data) {
    GSource *source = g_unix_fd_source_new(descriptor, G_IO_IN);
    g_source_set_callback(source, G_SOURCE_FUNC(ready), data, NULL);
    g_source_attach(source, context);
    return source;
}
