package import JSON
import Time

/// A Socket.IO server on top of an Engine.IO server. Sans-IO: after each call, perform the actions of `takeOutputs`,
/// and call `tick` when `nextDeadline` comes.
package struct SocketServer: Sendable {
    package enum Output: Sendable, Equatable {
        case transport(EngineServer.Action)
        /// A client connects to a namespace, with an object.
        case connected(client: String, namespace: String, JSONText?)
        /// An event or an acknowledgement comes.
        case received(client: String, SocketPacket)
        case disconnected(client: String, EngineSession.End)
    }

    private struct Session: Sendable {
        var reader = SocketPacketReader()
        /// The ids of the client in its namespaces.
        var clients: [String: String] = [:]
        /// Whether the client was ever in a namespace.
        var hasConnected = false
    }

    private struct Client: Sendable {
        var sid: String
        var namespace: String
    }

    /// The sessions, which requests and WebSockets reach.
    package var engine: EngineServer
    private let namespaces: Set<String>
    private let connectTimeout: Duration
    private let maxPayload: Int
    private let refusal: @Sendable (_ payload: JSONText?) -> String?
    private let makeID: @Sendable () -> String
    private var sessions: [String: Session] = [:]
    private var clients: [String: Client] = [:]
    private var outputs: [Output] = []

    /// - Parameters:
    ///   - namespaces: those that clients may connect to.
    ///   - connectTimeout: after this time without a namespace, a session is closed.
    ///   - refusal: a sentence with the reason why a client with this payload is refused; nil if it may connect.
    ///   - makeID: makes a name that nobody can guess.
    package init(
        namespaces: Set<String> = ["/"],
        settings: EngineSession.Settings = .init(),
        limits: EngineLimits,
        connectTimeout: Duration = .seconds(10),
        refusal: @escaping @Sendable (_ payload: JSONText?) -> String? = { _ in nil },
        makeID: @escaping @Sendable () -> String
    ) {
        engine = EngineServer(settings: settings, limits: limits, makeSID: makeID)
        (self.namespaces, self.connectTimeout, self.makeID) = (namespaces, connectTimeout, makeID)
        self.refusal = refusal
        maxPayload = settings.maxPayload
    }

    package mutating func takeOutputs() -> [Output] {
        takeEngineOutputs()
        return exchange(&outputs, with: [])
    }

    // MARK: - Actions of the server

    /// Sends an event or an acknowledgement to a client; does nothing if it is gone.
    package mutating func send(_ packet: SocketPacket, to id: String) {
        guard let client = clients[id] else { return }
        var packet = packet
        packet.namespace = client.namespace
        write(packet, to: client.sid)
    }

    /// Ends a client's connection to its namespace, and notifies the client.
    package mutating func disconnect(_ id: String) {
        guard let client = clients[id] else { return }
        remove(id, of: client.sid, from: client.namespace)
        write(SocketPacket(.disconnect, in: client.namespace), to: client.sid)
        outputs.append(.disconnected(client: id, .closedByServer))
    }

    // MARK: - Common

    private mutating func write(_ packet: SocketPacket, to sid: String) {
        for message in packet.messages { engine.send(message, to: sid) }
        takeEngineOutputs()
    }

    private mutating func takeEngineOutputs() {
        for output in engine.takeOutputs() {
            switch output {
            case .transport(let action): outputs.append(.transport(action))
            case .opened(let sid):
                sessions[sid] = Session()
                engine.expire(sid, at: engine.now + connectTimeout)
            case .received(let message, let sid): receive(message, of: sid)
            case .ended(let sid, let end):
                for id in sessions.removeValue(forKey: sid)?.clients.values.sorted() ?? [] {
                    clients[id] = nil
                    outputs.append(.disconnected(client: id, end))
                }
            }
        }
    }

    private mutating func receive(_ message: EngineMessage, of sid: String) {
        let kept = sessions[sid]?.reader.size
        let outcome = sessions[sid]?.reader.read(message, sizeLimit: maxPayload)
        if let size = sessions[sid]?.reader.size, size != kept {
            engine.setKept(size, for: sid)
            takeEngineOutputs()
        }
        switch outcome {
        case .packet(let packet):
            if let end = receive(packet, of: sid) { close(sid, end) }
        case .invalid: close(sid, .protocolViolated)
        case .incomplete, nil: break
        }
    }

    private mutating func close(_ sid: String, _ end: EngineSession.End) {
        engine.close(sid, end)
        takeEngineOutputs()
    }

    /// Returns the reason why the session is over; nil if the packet is allowed in it.
    private mutating func receive(_ packet: SocketPacket, of sid: String) -> EngineSession.End? {
        let id = sessions[sid]?.clients[packet.namespace]
        switch packet.kind {
        case .connect:
            guard id == nil else { return .protocolViolated }
            return connect(sid, packet)
        case .disconnect:
            guard let id else { return nil }
            remove(id, of: sid, from: packet.namespace)
            outputs.append(.disconnected(client: id, .closedByClient))
        case .event, .binaryEvent, .acknowledgement, .binaryAcknowledgement:
            guard let id else { return .protocolViolated }
            outputs.append(.received(client: id, packet))
        case .connectError: return .protocolViolated
        }
        return nil
    }

    private mutating func remove(_ id: String, of sid: String, from namespace: String) {
        clients[id] = nil
        sessions[sid]?.clients[namespace] = nil
        if sessions[sid]?.clients.isEmpty ?? false { engine.expire(sid, at: engine.now + connectTimeout) }
    }

    private mutating func connect(_ sid: String, _ packet: SocketPacket) -> EngineSession.End? {
        let reason = namespaces.contains(packet.namespace) ? refusal(packet.data) : "Invalid namespace"
        if let reason {
            let data = JSONText(object: [("message", JSONText(string: reason))])
            write(SocketPacket(.connectError, in: packet.namespace, data: data), to: sid)
            return nil
        }
        // The first connect belongs to the beginning of the session.
        guard sessions[sid]?.hasConnected == false || engine.begin(sid, now: engine.now) else { return .flooded }
        let id = makeID()
        clients[id] = Client(sid: sid, namespace: packet.namespace)
        sessions[sid]?.clients[packet.namespace] = id
        sessions[sid]?.hasConnected = true
        engine.expire(sid, at: nil)
        write(
            SocketPacket(.connect, in: packet.namespace, data: JSONText(object: [("sid", JSONText(string: id))])),
            to: sid
        )
        outputs.append(.connected(client: id, namespace: packet.namespace, packet.data))
        return nil
    }
}
