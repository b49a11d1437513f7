import CPulse

// What recorders and players of the sound server have in common.

/// What has become of a stream, if that is news.
func state(of stream: OpaquePointer, _ id: Int) -> SoundSession.Event? {
    switch pa_stream_get_state(stream) {
    case PA_STREAM_READY: .opened(id)
    case PA_STREAM_FAILED, PA_STREAM_TERMINATED: failure(of: stream, id)
    default: nil
    }
}

/// Why the last call for a stream failed, in libpulse's words.
func failure(of stream: OpaquePointer, _ id: Int) -> SoundSession.Event {
    failure(on: pa_stream_get_context(stream), id)
}

/// The same for a stream that a connection has, or should have.
func failure(on connection: OpaquePointer, _ id: Int) -> SoundSession.Event {
    // libpulse has no words for a number that it does not know.
    let reason = pa_strerror(pa_context_errno(connection))
    return .failed(id, reason: reason.map { String(cString: $0) } ?? "unknown")
}

/// Ends a stream and lets go of it. One that the server is about to open ends as soon as it is open: before, libpulse asks for nothing.
func disconnect(_ stream: OpaquePointer) {
    let isOpening = pa_stream_get_state(stream) == PA_STREAM_CREATING
    let end: pa_stream_notify_cb_t = { stream, _ in
        if pa_stream_get_state(stream) == PA_STREAM_READY { pa_stream_disconnect(stream) }
    }
    pa_stream_set_state_callback(stream, isOpening ? end : nil, nil)
    if !isOpening { pa_stream_disconnect(stream) }
    pa_stream_unref(stream)
}
