import CPulse
import FrameBridge
import Glibc
import Posix
import Time

/// A recording stream of the sound server: 16 bit at 48 kHz, in pieces of 20 ms. Used by the thread of its loop.
final class PulseRecorder: CallbackTarget {
    /// A piece is one encoded frame. A shorter one would wake three threads more often, and be no earlier in a packet.
    private static let piece = Duration.milliseconds(20)
    /// The piece during silence, which costs less.
    private static let silentPiece = Duration.milliseconds(100)
    /// How much the server keeps for a process that does not get to run.
    private static let mostKept = Duration.seconds(1)
    /// A server that reports a longer one is wrong.
    private static let longestLatency = Duration.seconds(60)

    let id: Int
    let target: SoundTarget
    private let stream: OpaquePointer
    private let tell: (SoundSession.Event) -> Void
    private let change: ((inout CapturedStream, _ now: Instant) -> Void) -> Void
    private var askedAt: Instant?
    /// The unanswered request for a report. It ends with this object, as its answer would point to a freed one.
    private var asking: OpaquePointer?
    private var check = ReportCheck()
    private var isSilent = false
    private var isClosed = false

    private var frameBytes: Int { target.channels * MemoryLayout<Int16>.size }

    /// Begins to open the stream.
    ///
    /// - Parameters:
    ///   - tell: gets `opened` or `failed`.
    ///   - change: lends the stream that gets samples, losses and capture times.
    init(
        _ id: Int,
        _ target: SoundTarget,
        on connection: PulseConnection,
        tell: @escaping (SoundSession.Event) -> Void,
        change: @escaping ((inout CapturedStream, _ now: Instant) -> Void) -> Void
    ) {
        (self.id, self.target, self.tell, self.change) = (id, target, tell, change)
        stream = makeStream(
            on: connection.context,
            "sound of a broadcast",
            channels: target.channels,
            cancelsEcho: target.cancelsEcho
        )
        pa_stream_set_state_callback(stream, { _, this in PulseRecorder.of(this).noteState() }, address)
        pa_stream_set_read_callback(stream, { _, _, this in PulseRecorder.of(this).read() }, address)
        pa_stream_set_moved_callback(stream, { _, this in PulseRecorder.of(this).noteMove() }, address)
    }

    deinit { close() }

    /// Connects it. Call it once.
    func connect() {
        var flags = PA_STREAM_ADJUST_LATENCY.rawValue | PA_STREAM_DONT_INHIBIT_AUTO_SUSPEND.rawValue
        // The server moves the stream of a microphone to the filter that it makes.
        if !target.cancelsEcho { flags |= PA_STREAM_DONT_MOVE.rawValue }
        var buffer = buffer(of: Self.piece)
        let device: String?
        switch target {
        case .monitor(let name), .microphone(let name, _), .output(let name): device = name
        case .input(let index):
            device = nil
            pa_stream_set_monitor_stream(stream, index)
        }
        if pa_stream_connect_record(stream, device, &buffer, pa_stream_flags_t(flags)) < 0 {
            tell(failure(on: pa_stream_get_context(stream), id))
        }
    }

    /// Ends it. No further event is reported.
    func close() {
        if isClosed { return }
        isClosed = true
        if let asking { pa_operation_cancel(asking) }
        release(asking)
        asking = nil
        pa_stream_set_read_callback(stream, nil, nil)
        pa_stream_set_moved_callback(stream, nil, nil)
        disconnect(stream)
    }

    /// Asks the server for the capture time of samples, unless it was asked within the interval.
    func askForReport(after interval: Duration) {
        let now: Instant = MonotonicClock.now()
        guard asking == nil, !isClosed, pa_stream_get_state(stream) == PA_STREAM_READY else { return }
        if let askedAt, now < askedAt + interval { return }
        askedAt = now
        let answer: pa_stream_success_cb_t = { _, isKnown, this in PulseRecorder.of(this).noteReport(isKnown != 0) }
        asking = pa_stream_update_timing_info(stream, answer, address)
    }

    /// Says whether there is silence, so that pieces may be larger.
    func setSilent(_ isSilent: Bool) {
        guard isSilent != self.isSilent, pa_stream_get_state(stream) == PA_STREAM_READY else { return }
        self.isSilent = isSilent
        var buffer = buffer(of: isSilent ? Self.silentPiece : Self.piece)
        release(pa_stream_set_buffer_attr(stream, &buffer, nil, nil))
    }

    private func buffer(of piece: Duration) -> pa_buffer_attr {
        pa_buffer_attr(
            maxlength: bytes(of: Self.mostKept, channels: target.channels),
            tlength: .max,
            prebuf: .max,
            minreq: .max,
            fragsize: bytes(of: piece, channels: target.channels)
        )
    }

    // MARK: - Replies of the server

    private func noteState() { if let event = state(of: stream, id) { tell(event) } }

    /// A recording of a microphone that is gone must not become one of another source.
    private func noteMove() {
        guard let name = pa_stream_get_device_name(stream).map({ String(cString: $0) }),
            case .microphone(let wanted, _) = target, name != wanted, !name.isEchoCanceller(of: wanted)
        else { return }
        // No sample of the other device is read before the server has ended the stream.
        pa_stream_set_read_callback(stream, nil, nil)
        pa_stream_disconnect(stream)
    }

    private func read() {
        while pa_stream_readable_size(stream) > 0 {
            var (data, count): (UnsafeRawPointer?, Int) = (nil, 0)
            guard pa_stream_peek(stream, &data, &count) >= 0, count > 0 else { break }
            if let data {
                let start = data.assumingMemoryBound(to: Int16.self)
                let samples = UnsafeBufferPointer(start: start, count: count / MemoryLayout<Int16>.size)
                change { $0.append(samples, at: $1) }
            } else {
                change { stream, _ in stream.skip(count / frameBytes) }
            }
            // The receiver may have closed this stream.
            if isClosed { return }
            pa_stream_drop(stream)
        }
    }

    private func noteReport(_ isKnown: Bool) {
        release(asking)
        asking = nil
        guard isKnown, let found = pa_stream_get_timing_info(stream)?.pointee else { return }
        if found.read_index_corrupt != 0 || found.write_index_corrupt != 0 { return }
        let mostAhead = Int64(bytes(of: Self.longestLatency, channels: target.channels))
        let ahead: Int64
        switch check.take(recorded: found.write_index, sent: found.read_index, mostAhead: mostAhead) {
        case .ahead(let count): ahead = count
        case .wrong: return
        case .hopeless:
            // Another stream will be opened instead.
            tell(.failed(id, reason: "the sound server is wrong about it"))
            return
        }
        guard max(found.source_usec, found.sink_usec) <= UInt64(Self.longestLatency / .microseconds(1)) else { return }
        // libpulse uses the wall clock.
        let then = found.timestamp.tv_sec * 1_000_000_000 + found.timestamp.tv_usec * 1000
        let age = Int64(clamping: MonotonicClock.wallClock()) - Int64(then)
        let instant: Instant = MonotonicClock.now().advanced(byNanoseconds: -age)
        // A monitor hears sound before it is played.
        let latency = Int64(found.source_usec) - Int64(found.sink_usec)
        let capturedAt = instant.advanced(byNanoseconds: -latency * 1000)
        change { $0.note(ahead: ahead / Int64(frameBytes), capturedAt: capturedAt, at: $1) }
    }
}

extension String {
    /// Whether a source is the echo canceller of a microphone. PulseAudio names it MICROPHONE.echo-cancel, and adds a
    /// number if that name is taken.
    func isEchoCanceller(of microphone: String) -> Bool {
        guard hasPrefix("\(microphone).echo-cancel") else { return false }
        let rest = dropFirst(microphone.count + ".echo-cancel".count)
        return rest.isEmpty || rest.first == "." && UInt32(rest.dropFirst()) != nil
    }
}
