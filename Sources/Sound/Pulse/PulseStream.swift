import CPulse
import FrameBridge

// Common parts of recorders and players.

/// An object whose address libpulse passes to callbacks.
protocol CallbackTarget: AnyObject {}

extension CallbackTarget {
    var address: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }

    static func of(_ address: UnsafeMutableRawPointer?) -> Self {
        Unmanaged<Self>.fromOpaque(address!).takeUnretainedValue()
    }
}

/// Makes a stream of 16 bit at 48 kHz, and does not connect it.
///
/// - Parameter cancelsEcho: whether to ask for the server's echo canceller, which it only has for calls. A server
///   without one ignores that.
func makeStream(on context: OpaquePointer, _ name: String, channels: Int, cancelsEcho: Bool) -> OpaquePointer {
    let rate = UInt32(SoundBlock.sampleRate)
    var format = pa_sample_spec(format: oriel_pulse_s16_native, rate: rate, channels: UInt8(channels))
    let properties = pa_proplist_new()
    defer { pa_proplist_free(properties) }
    pa_proplist_sets(properties, PA_PROP_MEDIA_NAME, name)
    if cancelsEcho {
        pa_proplist_sets(properties, PA_PROP_MEDIA_ROLE, "phone")
        pa_proplist_sets(properties, PA_PROP_FILTER_WANT, "echo-cancel")
    }
    guard let stream = pa_stream_new_with_proplist(context, nil, &format, nil, properties) else {
        preconditionFailure("libpulse has no memory for a stream")
    }
    return stream
}

/// The bytes of that much sound in a stream.
func bytes(of time: Duration, channels: Int) -> UInt32 {
    UInt32(Int(time / .milliseconds(1)) * SoundBlock.sampleRate / 1000 * MemoryLayout<Int16>.size * channels)
}

/// The event for a stream's state; nil if it needs none.
func state(of stream: OpaquePointer, _ id: Int) -> SoundSession.Event? {
    switch pa_stream_get_state(stream) {
    case PA_STREAM_READY: .opened(id)
    case PA_STREAM_FAILED, PA_STREAM_TERMINATED: failure(on: pa_stream_get_context(stream), id)
    default: nil
    }
}

/// The failure of the last call for a stream on a connection, in libpulse's words.
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
