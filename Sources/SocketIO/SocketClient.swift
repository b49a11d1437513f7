package import JSON
package import Time

/// A Socket.IO client in the namespace `/`. It connects, and reconnects whenever the connection is lost. Sans-IO: after
/// each call, perform the actions of `takeOutputs`, and call `tick` when `nextDeadline` comes.
package struct SocketClient: Sendable {
    package enum Output: Sendable, Equatable {
        case transport(EngineClient.Action)
        /// The connection is established. From now on packets may be sent.
        case connected(id: String)
        case received(SocketPacket)
        /// The connection is lost. The next try is at `retryAt`; nil if there is none.
        case disconnected(Reason, retryAt: Instant?)
    }

    package enum Reason: Sendable, Equatable {
        case transport(EngineClient.End)
        /// The server refuses the client in the namespace, with a reason.
        case refused(String)
        /// The server has ended the connection to the namespace.
        case sentAway
    }

    private enum Phase {
        case opening
        /// The server has not accepted the client in the namespace yet.
        case connecting(until: Instant)
        case connected
    }

    private enum State {
        case trying(EngineClient, Phase)
        case waiting(until: Instant)
        case ended
    }

    /// After this time without acceptance, the client tries again.
    private static let connectTimeout = Duration.seconds(20)
    /// Bytes of the attachments of a packet.
    private static let sizeLimit = 1_000_000

    private let payload: JSONText?
    private var state: State
    private var reader = SocketPacketReader()
    private let jitter: Double
    private var backoff = Backoff(.milliseconds(200)...(.seconds(1)))
    private var outputs: [Output] = []

    /// Begins to connect.
    ///
    /// - Parameters:
    ///   - payload: an object for the server when the client connects.
    ///   - jitter: a random share, 0…1, so that the clients of a server that is back do not all come at once.
    package init(
        payload: JSONText? = nil,
        jitter: Double,
        now: Instant
    ) {
        (self.payload, self.jitter) = (payload, jitter)
        state = .ended
        begin(now: now)
    }

    package var isConnected: Bool {
        if case .trying(_, .connected) = state { true } else { false }
    }

    package var nextDeadline: Instant? {
        switch state {
        case .trying(let engine, .connecting(let end)): earliest(engine.nextDeadline, end)
        case .trying(let engine, _): engine.nextDeadline
        case .waiting(let end): end
        case .ended: nil
        }
    }

    package mutating func takeOutputs() -> [Output] { exchange(&outputs, with: []) }

    // MARK: - Actions of the user

    /// Sends an event or an acknowledgement. Returns false, and sends nothing, while there is no connection.
    package mutating func send(_ packet: SocketPacket, now: Instant) -> Bool {
        guard isConnected else { return false }
        write(packet, now: now)
        return true
    }

    /// Ends the connection for good.
    package mutating func close(now: Instant) {
        if isConnected { write(SocketPacket(.disconnect), now: now) }
        change(now: now) { $0.close() }
        state = .ended
    }

    package mutating func tick(now: Instant) {
        switch state {
        case .waiting(let end) where end <= now: begin(now: now)
        case .trying(_, .connecting(let end)) where end <= now: change(now: now) { $0.close() }
        case .trying: change(now: now) { $0.tick(now: now) }
        case .waiting, .ended: break
        }
    }

    /// Accounts for a suspend of the machine: a connection that the server has given up meanwhile is made anew at once.
    package mutating func slept(for time: Duration, now: Instant) {
        switch state {
        case .waiting: return begin(now: now)
        case .trying(let engine, .connecting(let end)): state = .trying(engine, .connecting(until: end - time))
        case .trying, .ended: break
        }
        change(now: now) { $0.slept(for: time) }
        tick(now: now)
    }

    // MARK: - Common

    private mutating func begin(now: Instant) {
        reader = SocketPacketReader()
        state = .trying(EngineClient(now: now), .opening)
        change(now: now) { _ in }
    }

    private mutating func write(_ packet: SocketPacket, now: Instant) {
        change(now: now) { engine in
            for message in packet.messages { engine.send(message) }
        }
    }

    /// Changes the transport, as by what its socket and its requests receive. It does nothing between two connections.
    package mutating func change(now: Instant, _ body: (inout EngineClient) -> Void) {
        guard case .trying(var engine, let phase) = state else { return }
        // Avoids a copy of the engine.
        state = .ended
        body(&engine)
        let outputs = engine.takeOutputs()
        state = .trying(engine, phase)
        for output in outputs {
            switch output {
            case .transport(let action): self.outputs.append(.transport(action))
            case .opened:
                setPhase(.connecting(until: now + Self.connectTimeout))
                write(SocketPacket(.connect, data: payload), now: now)
            case .received(let message): read(message, now: now)
            case .ended(let end): retry(after: .transport(end), now: now)
            }
        }
    }

    private mutating func setPhase(_ phase: Phase) {
        if case .trying(let engine, _) = state { state = .trying(engine, phase) }
    }

    private mutating func read(_ message: EngineMessage, now: Instant) {
        guard case .trying(_, let phase) = state else { return }
        switch reader.read(message, sizeLimit: Self.sizeLimit) {
        case .incomplete: break
        case .invalid: change(now: now) { $0.close() }
        case .packet(let packet) where packet.namespace == "/": receive(packet, in: phase, now: now)
        case .packet: break
        }
    }

    private mutating func receive(_ packet: SocketPacket, in phase: Phase, now: Instant) {
        switch (phase, packet.kind) {
        case (.connecting, .connect):
            setPhase(.connected)
            backoff.succeed()
            outputs.append(.connected(id: packet.data?["sid"]?.string ?? ""))
        case (.connecting, .connectError):
            let words = packet.data?["message"]?.string ?? packet.data?.string ?? "no reason given"
            leave(.refused(words), now: now)
        case (.connected, .disconnect): leave(.sentAway, now: now)
        case (.connected, .event), (.connected, .binaryEvent), (.connected, .acknowledgement),
            (.connected, .binaryAcknowledgement):
            outputs.append(.received(packet))
        default: break
        }
    }

    /// Ends the connection for good, at the server's wish.
    private mutating func leave(_ reason: Reason, now: Instant) {
        guard case .trying(var engine, _) = state else { return }
        state = .ended
        engine.close()
        for output in engine.takeOutputs() {
            if case .transport(let action) = output { outputs.append(.transport(action)) }
        }
        outputs.append(.disconnected(reason, retryAt: nil))
    }

    private mutating func retry(after reason: Reason, now: Instant) {
        let until = now + backoff.fail() * (1 - jitter / 2)
        state = .waiting(until: until)
        outputs.append(.disconnected(reason, retryAt: until))
    }
}
