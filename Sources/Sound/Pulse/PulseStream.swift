import CPulse
import FrameBridge

// Common parts of recorders and players.

/// The bytes of that much sound in a stream.
func bytes(of time: Duration, channels: Int) -> UInt32 {
    UInt32(Int(time / .milliseconds(1)) * SoundBlock.sampleRate / 1000 * MemoryLayout<Int16>.size * channels)
}

/// The event for a stream's state; nil if it needs none.
func state(of stream: OpaquePointer, _ id: Int) -> SoundSession.Event? {
    switch pa_stream_get_state(stream) {
    case PA_STREAM_READY: .opened(id)
    case PA_STREAM_FAILED, PA_STREAM_TERMINATED: failure(of: stream, id)
    default: nil
    }
}

/// The failure of the last call for a stream, in libpulse's words.
func failure(of stream: OpaquePointer, _ id: Int) -> SoundSession.Event {
    failure(on: pa_stream_get_context(stream), id)
}

/// The failure of a stream by its connection.
func failure(on connection: OpaquePointer, _ id: Int) -> SoundSession.Event {
    // libpulse has no words for an unknown number.
    let reason = pa_strerror(pa_context_errno(connection))
    return .failed(id, reason: reason.map { String(cString: $0) } ?? "unknown")
}

/// Ends a stream and releases it. A stream that the server is about to open ends once it is open: before, libpulse
/// requests nothing.
func disconnect(_ stream: OpaquePointer) {
    let isOpening = pa_stream_get_state(stream) == PA_STREAM_CREATING
    let end: pa_stream_notify_cb_t = { stream, _ in
        if pa_stream_get_state(stream) == PA_STREAM_READY { pa_stream_disconnect(stream) }
    }
    pa_stream_set_state_callback(stream, isOpening ? end : nil, nil)
    if !isOpening { pa_stream_disconnect(stream) }
    pa_stream_unref(stream)
}
