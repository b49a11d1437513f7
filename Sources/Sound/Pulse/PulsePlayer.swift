import CPulse
import FrameBridge
import Posix
import Time

/// A stream that plays peers' voices with little delay: 16 bit at 48 kHz, one channel. Used by the thread of its loop.
///
/// It has its own connection to the sound server. PipeWire (up to 1.6 at least) sends no recording to a connection in a
/// period in which it asks that connection for samples. It asks in each period, so recordings on the same connection
/// would stand still for seconds.
final class PulsePlayer: CallbackTarget {
    /// The delay from the request for samples to the sound, with the speakers' own delay: at first, and at the most.
    private static let latencies = Duration.milliseconds(10)...Duration.milliseconds(40)
    private static let piece = Duration.milliseconds(5)
    /// The shortest time between two increases: one delay can make the server wait several times.
    private static let growthInterval = Duration.seconds(1)

    let id: Int
    private let connection: PulseConnection
    private let context: OpaquePointer
    private let stream: OpaquePointer
    private var sink = ""
    private let tell: (SoundSession.Event) -> Void
    private let play: (UnsafeMutableBufferPointer<Int16>) -> Void
    private var isClosed = false
    private var latency = latencies.lowerBound
    private var mayGrowAt = Instant.start
    private var starvation = Starvation()
    /// How often the server had nothing to play although it had asked.
    private(set) var underruns = 0

    /// Begins to open the stream.
    ///
    /// - Parameters:
    ///   - connection: to the same server. It learns that this playback is this process's own.
    ///   - tell: gets `opened` or `failed`.
    ///   - play: fills in the next samples.
    init(
        _ id: Int,
        on loop: PulseLoop,
        beside connection: PulseConnection,
        tell: @escaping (SoundSession.Event) -> Void,
        play: @escaping (UnsafeMutableBufferPointer<Int16>) -> Void
    ) {
        (self.id, self.connection, self.tell, self.play) = (id, connection, tell, play)
        context = loop.makeContext()
        stream = makeStream(on: context, "voices of a broadcast's viewers", channels: 1, cancelsEcho: true)
        pa_context_set_state_callback(context, { _, this in PulsePlayer.of(this).noteConnection() }, address)
        pa_stream_set_state_callback(stream, { _, this in PulsePlayer.of(this).noteState() }, address)
        pa_stream_set_write_callback(stream, { _, count, this in PulsePlayer.of(this).write(count) }, address)
        pa_stream_set_underflow_callback(stream, { _, this in PulsePlayer.of(this).noteUnderrun() }, address)
        pa_stream_set_started_callback(stream, { _, this in PulsePlayer.of(this).starvation.noteStart() }, address)
    }

    deinit { close() }

    /// Connects it. Call it once.
    ///
    /// - Parameter sink: the name of the sink.
    func connect(to sink: String) {
        self.sink = sink
        // Reports a state that is wrong at once, too.
        pa_context_connect(context, connection.server, PA_CONTEXT_NOAUTOSPAWN, nil)
    }

    private func noteConnection() {
        switch pa_context_get_state(context) {
        case PA_CONTEXT_READY: open()
        case PA_CONTEXT_FAILED, PA_CONTEXT_TERMINATED: tell(failure(on: context, id))
        default: break
        }
    }

    private func open() {
        connection.addOwn(context)
        // The server waits until it has the first samples.
        mayGrowAt = MonotonicClock.now() + Self.growthInterval
        var buffer = bufferAttributes
        if pa_stream_connect_playback(stream, sink, &buffer, PA_STREAM_ADJUST_LATENCY, nil, nil) < 0 {
            tell(failure(on: context, id))
        }
    }

    private var bufferAttributes: pa_buffer_attr {
        pa_buffer_attr(
            maxlength: .max,
            tlength: bytes(of: latency, channels: 1),
            prebuf: 0,
            minreq: bytes(of: Self.piece, channels: 1),
            fragsize: .max
        )
    }

    /// The server had nothing to play: samples came late, or the speakers now take more of them at once.
    private func noteUnderrun() {
        underruns += 1
        let now: Instant = MonotonicClock.now()
        starvation.noteUnderrun(at: now)
        guard latency < Self.latencies.upperBound, now >= mayGrowAt else { return }
        (latency, mayGrowAt) = (latency * 2, now + Self.growthInterval)
        var buffer = bufferAttributes
        release(pa_stream_set_buffer_attr(stream, &buffer, nil, nil))
    }

    /// Whether the server has not played requested samples for long. Only PipeWire reports that.
    func isStarved(at now: Instant) -> Bool { connection.isPipeWire == true && starvation.isLong(at: now) }

    /// Ends it. No further event is reported, and samples that were not played yet are dropped.
    func close() {
        if isClosed { return }
        isClosed = true
        pa_context_set_state_callback(context, nil, nil)
        pa_stream_set_state_callback(stream, nil, nil)
        pa_stream_set_write_callback(stream, nil, nil)
        pa_stream_set_underflow_callback(stream, nil, nil)
        pa_stream_set_started_callback(stream, nil, nil)
        // The stream ends with its connection.
        pa_context_disconnect(context)
        pa_stream_unref(stream)
        pa_context_unref(context)
    }

    private func noteState() { if let event = state(of: stream, id) { tell(event) } }

    /// Writes the bytes that the server wants.
    private func write(_ wanted: Int) {
        var rest = wanted
        while rest >= MemoryLayout<Int16>.size {
            var (memory, count): (UnsafeMutableRawPointer?, Int) = (nil, rest)
            guard pa_stream_begin_write(stream, &memory, &count) >= 0, let memory, count > 0 else { return }
            let samples = memory.assumingMemoryBound(to: Int16.self)
            let size = MemoryLayout<Int16>.size
            play(UnsafeMutableBufferPointer(start: samples, count: count / size))
            guard pa_stream_write(stream, memory, count / size * size, nil, 0, PA_SEEK_RELATIVE) >= 0 else { return }
            rest -= count
        }
    }
}
