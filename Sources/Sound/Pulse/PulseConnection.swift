import CPulse
import Posix
import Time

/// A connection to the sound server, used by the thread of its loop. It also lists the server's devices and streams,
/// and lists them again after a change.
final class PulseConnection: CallbackTarget {
    private static let askInterval = Duration.seconds(1)

    let context: OpaquePointer
    /// The address of the server; nil for the one in the environment (PULSE_SERVER), or the user's own.
    let server: String?
    private let report: (SoundSession.Event) -> Void
    /// Whether the server is PipeWire; nil if unknown.
    private(set) var isPipeWire: Bool?
    /// Other connections of this process, by the server's numbers. A stream may be listed for a while after its
    /// connection has ended.
    private var others: Set<UInt32> = []
    /// The list so far; nil while none is being made.
    private var found: ServerView?
    /// Whether there was a change while the list was being made.
    private var isStale = false
    private var isClosed = false
    private var isAsking = false
    private var askedAt = Instant.start

    /// - Parameter report: gets `connected` or `serverLost`, then `viewed` with each list, and `answered`; never within
    ///   this call.
    init(_ loop: PulseLoop, to server: String? = nil, report: @escaping (SoundSession.Event) -> Void) {
        (context, self.server, self.report) = (loop.makeContext(), server, report)
        pa_context_set_state_callback(context, { _, this in PulseConnection.of(this).noteState() }, address)
        pa_context_set_subscribe_callback(
            context,
            { _, event, _, this in PulseConnection.of(this).noteChange(event) },
            address
        )
    }

    deinit { close() }

    /// Connects. Call it once.
    func connect() {
        // Reports a state that is wrong at once, too.
        pa_context_connect(context, server, PA_CONTEXT_NOAUTOSPAWN, nil)
    }

    /// Ends the connection. No further event is reported.
    func close() {
        if isClosed { return }
        isClosed = true
        pa_context_set_state_callback(context, nil, nil)
        pa_context_set_subscribe_callback(context, nil, nil)
        pa_context_disconnect(context)
        pa_context_unref(context)
    }

    /// Asks the server for an answer, unless it was asked within the last second or still owes one.
    func askForAnswer() {
        let now: Instant = MonotonicClock.now()
        guard !isAsking, now >= askedAt + Self.askInterval, pa_context_get_state(context) == PA_CONTEXT_READY else {
            return
        }
        (isAsking, askedAt) = (true, now)
        release(pa_context_get_server_info(context, { _, _, this in PulseConnection.of(this).noteAnswer() }, address))
    }

    private func noteAnswer() {
        isAsking = false
        report(.answered)
    }

    /// Treats the playback of another connection as this process's own.
    func addOwn(_ connection: OpaquePointer) { others.insert(pa_context_get_index(connection)) }

    private func isOwn(_ client: UInt32) -> Bool { client == pa_context_get_index(context) || others.contains(client) }

    /// The reason why the last call failed, in libpulse's words, with the server if it has a name.
    private var problem: String {
        let reason = String(cString: pa_strerror(pa_context_errno(context)))
        return StateFolder.environment("PULSE_SERVER").map { "\($0): \(reason)" } ?? reason
    }

    private func noteState() {
        switch pa_context_get_state(context) {
        case PA_CONTEXT_READY:
            let kinds = [
                PA_SUBSCRIPTION_MASK_SERVER, PA_SUBSCRIPTION_MASK_SINK, PA_SUBSCRIPTION_MASK_SOURCE,
                PA_SUBSCRIPTION_MASK_SINK_INPUT,
            ]
            let mask = pa_subscription_mask_t(kinds.reduce(0) { $0 | $1.rawValue })
            release(pa_context_subscribe(context, mask, nil, nil))
            report(.connected)
            look()
        case PA_CONTEXT_FAILED, PA_CONTEXT_TERMINATED: report(.serverLost(reason: problem))
        default: break
        }
    }

    private func noteChange(_ event: pa_subscription_event_type_t) {
        let facility = event.rawValue & PA_SUBSCRIPTION_EVENT_FACILITY_MASK.rawValue
        let kind = event.rawValue & PA_SUBSCRIPTION_EVENT_TYPE_MASK.rawValue
        let isDevice = [PA_SUBSCRIPTION_EVENT_SINK.rawValue, PA_SUBSCRIPTION_EVENT_SOURCE.rawValue].contains(facility)
        // An existing device changes only in volume.
        if isDevice, kind == PA_SUBSCRIPTION_EVENT_CHANGE.rawValue { return }
        look()
    }

    // MARK: - Devices and streams of the server

    private func look() {
        if found != nil {
            isStale = true
            return
        }
        found = ServerView()
        let server: pa_server_info_cb_t = { _, info, this in PulseConnection.of(this).receive(info) }
        let source: pa_source_info_cb_t = { _, info, end, this in
            if end == 0 { PulseConnection.of(this).receive(info) }
        }
        let sink: pa_sink_info_cb_t = { _, info, end, this in if end == 0 { PulseConnection.of(this).receive(info) } }
        let input: pa_sink_input_info_cb_t = { _, info, end, this in
            let this = PulseConnection.of(this)
            if end == 0 { this.receive(info) } else { this.endLook() }
        }
        release(pa_context_get_server_info(context, server, address))
        release(pa_context_get_source_info_list(context, source, address))
        release(pa_context_get_sink_info_list(context, sink, address))
        release(pa_context_get_sink_input_info_list(context, input, address))
    }

    /// Replies come in the order of the requests.
    private func endLook() {
        guard let found else { return }
        self.found = nil
        if isStale {
            isStale = false
            look()
        } else {
            report(.viewed(found))
        }
    }

    private func receive(_ info: UnsafePointer<pa_server_info>?) {
        guard let info = info?.pointee else { return }
        found?.defaultSink = text(info.default_sink_name)
        found?.defaultSource = text(info.default_source_name)
        isPipeWire = text(info.server_name).map { $0.contains("PipeWire") }
    }

    private func receive(_ info: UnsafePointer<pa_source_info>?) {
        guard let info = info?.pointee, let name = text(info.name) else { return }
        found?.sources.append(
            ServerView.Source(
                name: name,
                description: text(info.description) ?? name,
                isMonitor: info.monitor_of_sink != oriel_pulse_invalid_index
            )
        )
    }

    private func receive(_ info: UnsafePointer<pa_sink_info>?) {
        guard let info = info?.pointee, let name = text(info.name), let monitor = text(info.monitor_source_name) else {
            return
        }
        found?.sinks.append(
            ServerView.Sink(
                index: info.index,
                name: name,
                description: text(info.description) ?? name,
                monitor: monitor
            )
        )
    }

    private func receive(_ info: UnsafePointer<pa_sink_input_info>?) {
        guard let info = info?.pointee else { return }
        found?.inputs.append(
            ServerView.Input(
                index: info.index,
                sink: info.sink,
                process: text(pa_proplist_gets(info.proplist, PA_PROP_APPLICATION_PROCESS_ID)).flatMap { Int32($0) },
                isOwn: isOwn(info.client)
            )
        )
    }

    private func text(_ pointer: UnsafePointer<CChar>?) -> String? { pointer.map { String(cString: $0) } }
}

/// Releases an operation that continues by itself.
func release(_ operation: OpaquePointer?) {
    if let operation { pa_operation_unref(operation) }
}
