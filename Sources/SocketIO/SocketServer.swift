import DequeModule
package import Time

/// A server of Socket.IO on top of one of Engine.IO. Sans-IO: after each call, do what `takeOutputs` says, and call `tick` when
/// `nextDeadline` comes.
package struct SocketServer: Sendable {
    package enum Output: Sendable, Equatable {
        case transport(EngineServer.Action)
        /// A client connects to a namespace, with an object that it sends along.
        case connected(client: String, namespace: String, JSONText?)
        /// An event or an acknowledgement comes.
        case received(client: String, SocketPacket)
        /// Nothing comes from the client any more.
        case disconnected(client: String, EngineSession.End)
    }

    private struct Session: Sendable {
        var reader = SocketPacketReader()
        /// The ids of the client in its namespaces.
        var clients: [String: String] = [:]
    }

    private struct Client: Sendable {
        var sid: String
        var namespace: String
    }

    private var engine: EngineServer
    private let namespaces: Set<String>
    private let connectTimeout: Duration
    private let maxPayload: Int
    private let makeID: @Sendable () -> String
    private var sessions: [String: Session] = [:]
    private var clients: [String: Client] = [:]
    /// When sessions must have connected to some namespace, the first first.
    private var connectDeadlines = Deque<(at: Instant, sid: String)>()
    private var now = Instant.start
    private var outputs: [Output] = []

    /// - Parameters:
    ///   - namespaces: those that clients may connect to.
    ///   - mostSessions: at once.
    ///   - connectTimeout: a session that connects to no namespace in this time is closed.
    ///   - makeID: makes a name that nobody can guess.
    package init(
        namespaces: Set<String> = ["/"],
        settings: EngineSession.Settings = .init(),
        mostSessions: Int,
        connectTimeout: Duration = .seconds(45),
        makeID: @escaping @Sendable () -> String
    ) {
        engine = EngineServer(settings: settings, mostSessions: mostSessions, makeSID: makeID)
        (self.namespaces, self.connectTimeout, self.makeID) = (namespaces, connectTimeout, makeID)
        maxPayload = settings.maxPayload
    }

    package var sessionCount: Int { engine.sessionCount }

    package var nextDeadline: Instant? { earliest(engine.nextDeadline, connectDeadlines.first?.at) }

    package mutating func takeOutputs() -> [Output] {
        defer { outputs = [] }
        return outputs
    }

    // MARK: - What clients do

    package mutating func receive(
        _ method: EngineServer.Method,
        _ query: EngineServer.Query,
        body: [UInt8],
        request: UInt64,
        now: Instant
    ) {
        change(at: now) { $0.receive(method, query, body: body, request: request, now: now) }
    }

    package mutating func abort(request: UInt64, now: Instant) {
        change(at: now) { $0.abort(request: request, now: now) }
    }

    package func refusal(ofSocket query: EngineServer.Query) -> EngineServer.Refusal? {
        engine.refusal(ofSocket: query)
    }

    package mutating func open(socket: UInt64, _ query: EngineServer.Query, now: Instant) {
        change(at: now) { $0.open(socket: socket, query, now: now) }
    }

    package mutating func receive(_ frame: EngineMessage, on socket: UInt64, now: Instant) {
        change(at: now) { $0.receive(frame, on: socket, now: now) }
    }

    package mutating func lost(socket: UInt64, now: Instant) { change(at: now) { $0.lost(socket: socket, now: now) } }

    package mutating func tick(now: Instant) {
        change(at: now) { $0.tick(now: now) }
        while let first = connectDeadlines.first, first.at <= now {
            connectDeadlines.removeFirst()
            if sessions[first.sid]?.clients.isEmpty ?? false { change(at: now) { $0.close(first.sid) } }
        }
    }

    // MARK: - What the server does

    /// Sends an event or an acknowledgement to a client; nothing if it is gone.
    package mutating func send(_ packet: SocketPacket, to id: String) {
        guard let client = clients[id] else { return }
        var packet = packet
        packet.namespace = client.namespace
        write(packet, to: client.sid)
    }

    /// Ends a client's connection to its namespace, and tells it so.
    package mutating func disconnect(_ id: String) {
        guard let client = clients.removeValue(forKey: id) else { return }
        sessions[client.sid]?.clients[client.namespace] = nil
        write(SocketPacket(.disconnect, in: client.namespace), to: client.sid)
        outputs.append(.disconnected(client: id, .closedByServer))
    }

    // MARK: - Between both

    private mutating func write(_ packet: SocketPacket, to sid: String) {
        for message in packet.messages { engine.send(message, to: sid) }
        takeEngineOutputs()
    }

    private mutating func change(at now: Instant, _ body: (inout EngineServer) -> Void) {
        self.now = now
        body(&engine)
        takeEngineOutputs()
    }

    private mutating func takeEngineOutputs() {
        for output in engine.takeOutputs() {
            switch output {
            case .transport(let action): outputs.append(.transport(action))
            case .opened(let sid):
                sessions[sid] = Session()
                connectDeadlines.append((now + connectTimeout, sid))
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
        switch sessions[sid]?.reader.read(message, sizeLimit: maxPayload) {
        case .packet(let packet):
            if !receive(packet, of: sid) { close(sid) }
        case .invalid: close(sid)
        case .incomplete, nil: break
        }
    }

    private mutating func close(_ sid: String) {
        engine.close(sid, .protocolViolated)
        takeEngineOutputs()
    }

    /// Returns whether the packet has a place in the session.
    private mutating func receive(_ packet: SocketPacket, of sid: String) -> Bool {
        let id = sessions[sid]?.clients[packet.namespace]
        switch packet.kind {
        case .connect:
            guard id == nil else { return false }
            connect(sid, packet)
        case .disconnect:
            guard let id else { return true }
            clients[id] = nil
            sessions[sid]?.clients[packet.namespace] = nil
            outputs.append(.disconnected(client: id, .closedByClient))
        case .event, .binaryEvent, .acknowledgement, .binaryAcknowledgement:
            guard let id else { return false }
            outputs.append(.received(client: id, packet))
        case .connectError: return false
        }
        return true
    }

    private mutating func connect(_ sid: String, _ packet: SocketPacket) {
        guard namespaces.contains(packet.namespace) else {
            let reason = JSONText(#"{"message":"Invalid namespace"}"#.utf8)
            return write(SocketPacket(.connectError, in: packet.namespace, data: reason), to: sid)
        }
        let id = makeID()
        clients[id] = Client(sid: sid, namespace: packet.namespace)
        sessions[sid]?.clients[packet.namespace] = id
        write(SocketPacket(.connect, in: packet.namespace, data: JSONText(#"{"sid":"\#(id)"}"#.utf8)), to: sid)
        outputs.append(.connected(client: id, namespace: packet.namespace, packet.data))
    }
}
