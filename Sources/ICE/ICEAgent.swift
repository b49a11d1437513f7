internal import CNice
package import WebRTC

/// One transport of a full ICE agent (RFC 8445) by libnice, with trickle (RFC 8838) and with checks that continue as
/// long as the path is used.
///
/// Its option `CONSENT_FRESHNESS` (RFC 7675) is not used: up to version 0.1.21 of libnice, the agent then gives up
/// after 10 s. Two checks take that long if one of them is lost.
///
/// Use it on the thread that runs its loop. Events come there too. Do not release the agent in an event.
package final class ICEAgent {
    package enum Event {
        /// All local candidates are known.
        case gathered
        /// Datagrams can be sent.
        case connected
        /// The peer has sent its first check.
        case checked
        /// There is no path left, or the peer has answered no check for 50 s.
        case failed
        /// Valid until the handler returns.
        case datagram(UnsafeRawBufferPointer)
    }

    package struct Configuration: Sendable {
        package var servers: [ICEServer]
        /// Local UDP ports; nil for any.
        package var ports: ClosedRange<UInt16>?
        /// Local addresses in numbers; empty for those of all interfaces but loopback.
        package var addresses: [String]
        /// Whether datagrams only go through relays (RFC 8828 §5.2, mode 4), so that peers learn no address of this
        /// machine.
        package var isRelayOnly: Bool

        package init(
            servers: [ICEServer] = [],
            ports: ClosedRange<UInt16>? = nil,
            addresses: [String] = [],
            isRelayOnly: Bool = false
        ) {
            self.servers = servers
            self.ports = ports
            self.addresses = addresses
            self.isRelayOnly = isRelayOnly
        }
    }

    private static let component = UInt32(NICE_COMPONENT_TYPE_RTP.rawValue)
    /// Above the type preference of host candidates, 126 (RFC 8445 §5.1.2.1).
    private static let highestType: UInt32 = 127 << 24
    private static let announcements = 3

    private let loop: ICELoop
    private let agent: OpaquePointer
    private let stream: UInt32
    private let isRelayOnly: Bool
    private let handler: (Event) -> Void

    /// Starts to gather candidates.
    ///
    /// - Parameters:
    ///   - isControlling: whether this side nominates the path: the offerer, or the side that is not lite.
    ///   - credentials: this side's; nil for new ones.
    ///   - handler: gets the events, from within the loop's `run`.
    /// - Returns: nil if no candidate can be gathered: there is no address, or no free port.
    package init?(
        in loop: ICELoop,
        _ configuration: Configuration,
        isControlling: Bool,
        credentials: ICECredentials? = nil,
        handler: @escaping (Event) -> Void
    ) {
        guard let agent = oriel_ice_agent_new(loop.context, isControlling, configuration.isRelayOnly) else {
            return nil
        }
        self.loop = loop
        self.agent = agent
        self.handler = handler
        isRelayOnly = configuration.isRelayOnly
        for text in configuration.addresses {
            var address = NiceAddress()
            nice_address_init(&address)
            if nice_address_set_from_string(&address, text) != 0 { nice_agent_add_local_address(agent, &address) }
        }
        stream = nice_agent_add_stream(agent, 1)
        if let ports = configuration.ports {
            nice_agent_set_port_range(agent, stream, Self.component, UInt32(ports.lowerBound), UInt32(ports.upperBound))
        }
        set(credentials ?? ICECredentials())
        for server in configuration.servers { add(server) }
        connectEvents()
        if nice_agent_gather_candidates(agent, stream) == 0 { return nil }
    }

    deinit {
        nice_agent_attach_recv(agent, stream, Self.component, loop.context, nil, nil)
        oriel_signal_disconnect(agent, Unmanaged.passUnretained(self).toOpaque())
        nice_agent_remove_stream(agent, stream)
        // libnice first releases its allocation at a relay. The loop keeps the agent alive until then.
        loop.closingCount += 1
        // The callback comes in the default context of the calling thread.
        g_main_context_push_thread_default(loop.context)
        defer { g_main_context_pop_thread_default(loop.context) }
        nice_agent_close_async(
            agent,
            { agent, _, loop in
                Unmanaged<ICELoop>.fromOpaque(loop!).takeRetainedValue().closingCount -= 1
                g_object_unref(UnsafeMutableRawPointer(agent))
            },
            Unmanaged.passRetained(loop).toOpaque()
        )
    }

    /// Adds a server. After gathering, candidates of a relay still come, with another `gathered`. Those of a STUN
    /// server do not.
    package func add(_ server: ICEServer) {
        switch server {
        case .stun(let address, let port): oriel_ice_agent_set_stun(agent, address, UInt32(port))
        case .turn(let address, let port, let relaying, let credentials):
            let (username, password) = credentials.current()
            let kind = relaying == .udp ? NICE_RELAY_TYPE_TURN_UDP : NICE_RELAY_TYPE_TURN_TCP
            nice_agent_set_relay_info(agent, stream, Self.component, address, UInt32(port), username, password, kind)
        }
    }

    private func connectEvents() {
        let context = Unmanaged.passUnretained(self).toOpaque()
        nice_agent_attach_recv(
            agent,
            stream,
            Self.component,
            loop.context,
            { _, _, _, count, bytes, context in
                let agent = Unmanaged<ICEAgent>.fromOpaque(context!).takeUnretainedValue()
                agent.handler(.datagram(UnsafeRawBufferPointer(start: bytes, count: Int(count))))
            },
            context
        )
        typealias StreamHandler = @convention(c) (OpaquePointer, UInt32, UnsafeMutableRawPointer) -> Void
        let gathered: StreamHandler = { _, _, context in
            Unmanaged<ICEAgent>.fromOpaque(context).takeUnretainedValue().handler(.gathered)
        }
        let checked: StreamHandler = { _, _, context in
            Unmanaged<ICEAgent>.fromOpaque(context).takeUnretainedValue().handler(.checked)
        }
        for (signal, handler) in [
            ("candidate-gathering-done", gathered), ("initial-binding-request-received", checked),
        ] {
            oriel_signal_connect(agent, signal, unsafeBitCast(handler, to: GCallback.self), context)
        }
        typealias StateHandler = @convention(c) (OpaquePointer, UInt32, UInt32, UInt32, UnsafeMutableRawPointer) -> Void
        let changed: StateHandler = { _, _, _, state, context in
            let agent = Unmanaged<ICEAgent>.fromOpaque(context).takeUnretainedValue()
            switch NiceComponentState(rawValue: state) {
            case NICE_COMPONENT_STATE_CONNECTED, NICE_COMPONENT_STATE_READY: agent.handler(.connected)
            case NICE_COMPONENT_STATE_FAILED: agent.handler(.failed)
            default: break
            }
        }
        oriel_signal_connect(agent, "component-state-changed", unsafeBitCast(changed, to: GCallback.self), context)
    }

    /// This side's credentials of the current generation.
    package var credentials: ICECredentials? {
        var fragment: UnsafeMutablePointer<CChar>?
        var password: UnsafeMutablePointer<CChar>?
        guard nice_agent_get_local_credentials(agent, stream, &fragment, &password) != 0, let fragment, let password
        else { return nil }
        defer {
            g_free(fragment)
            g_free(password)
        }
        return ICECredentials(fragment: String(cString: fragment), password: String(cString: password))
    }

    package var candidates: [Candidate] {
        var candidates: [Candidate] = []
        var list = nice_agent_get_local_candidates(agent, stream, Self.component)
        while let entry = list {
            let candidate = entry.pointee.data!.assumingMemoryBound(to: NiceCandidate.self)
            if var known = Candidate(candidate) {
                // With relays alone, nobody may learn another address (RFC 8839 §5.1).
                if isRelayOnly {
                    let nobody = known.address.contains(":") ? "::" : "0.0.0.0"
                    known.related = Candidate.Related(address: nobody, port: 9)
                }
                candidates.append(known)
            }
            nice_candidate_free(candidate)
            list = entry.pointee.next
            g_slist_free_1(entry)
        }
        return candidates
    }

    /// Sets the peer's credentials of the current generation. Checks begin.
    package func setRemote(_ credentials: ICECredentials) {
        nice_agent_set_remote_credentials(agent, stream, credentials.fragment, credentials.password)
    }

    /// Whether a candidate can be tried: an address in numbers, for UDP, and of one machine. Others are skipped: the
    /// peer's own checks will show where they come from (RFC 8445 §7.3.1.3).
    package static func canTry(_ candidate: Candidate) -> Bool { address(of: candidate) != nil }

    /// Adds the peer's candidates that can be tried.
    package func addRemote(_ candidates: [Candidate]) {
        var list: UnsafeMutablePointer<GSList>?
        for known in candidates.compactMap(makeCandidate) { list = g_slist_append(list, known) }
        nice_agent_set_remote_candidates(agent, stream, Self.component, list)
        g_slist_free_full(list) { nice_candidate_free($0!.assumingMemoryBound(to: NiceCandidate.self)) }
    }

    /// Makes the addresses of this agent known to a peer that nominates, by a check of its own, before those of libnice. Call it before
    /// `setRemote`, on an agent that takes over from another one.
    ///
    /// The peer makes a candidate of each address, with the priority of the first check from there (RFC 8445 §7.3.1.3). That of libnice's is lower
    /// than the priority of the path before, or the same. But Firefox nominates another path only if that has a higher one, and gives the
    /// call up 30 s after the last answer on the old path.
    ///
    /// - Parameters:
    ///   - remote: the peer's, as `local` is this side's.
    ///   - precedence: higher than that of all agents before, at most 0xFFFFFF.
    package func announce(to peer: Candidate, _ local: ICECredentials, _ remote: ICECredentials, precedence: UInt32) {
        // With relays alone, nobody may learn another address (RFC 8839 §5.1).
        guard !isRelayOnly, var address = Self.address(of: peer) else { return }
        let name = Array("\(remote.fragment):\(local.fragment)".utf8)
        let check = STUNMessage(
            .request,
            .binding,
            [
                .username(name), .priority(Self.highestType | precedence),
                .controlled(tieBreaker: .random(in: 0...UInt64.max)),
            ]
        )
        let bytes = check.encoded(key: Array(remote.password.utf8), hasFingerprint: true)
        // One may be lost, and libnice's first check comes 20 ms later.
        for _ in 0..<Self.announcements {
            oriel_ice_agent_send_from_all(agent, stream, Self.component, &address, bytes, gsize(bytes.count))
        }
    }

    /// Begins a new generation with new credentials (RFC 8445 §9). The path in use stays until there is a new one.
    package func restart() {
        nice_agent_restart_stream(agent, stream)
        set(ICECredentials())
    }

    private func set(_ credentials: ICECredentials) {
        nice_agent_set_local_credentials(agent, stream, credentials.fragment, credentials.password)
    }

    /// Uses a path without waiting for checks, or for the peer to nominate one. It ends further checks.
    ///
    /// - Parameters:
    ///   - local: one of `candidates`.
    ///   - remote: one that was given to `addRemote`.
    package func use(_ local: Candidate, _ remote: Candidate) {
        nice_agent_set_selected_pair(agent, stream, Self.component, local.foundation, remote.foundation)
    }

    /// Sends a datagram on the path in use. Returns false if the system accepts none for now, as its buffer is full. A
    /// datagram that the path refuses is lost, as on the network.
    package func send(_ datagram: UnsafeRawBufferPointer) -> Bool {
        oriel_ice_agent_send(agent, stream, Self.component, datagram.baseAddress!, gsize(datagram.count)) != 0
    }

    /// The socket and the peer's address (`sockaddr`, with its size) of the path in use, for sending datagrams without
    /// this agent; nil without a path, and on a relay, which wraps them.
    package func withDirectPath<Result>(_ body: (Int32, UnsafeRawPointer, UInt32) -> Result) -> Result? {
        var address = sockaddr_storage()
        let socket = oriel_ice_agent_direct_socket(agent, stream, Self.component, &address)
        guard socket >= 0 else { return nil }
        return withUnsafePointer(to: address) { body(socket, $0, oriel_address_size($0)) }
    }

    /// The two ends of the path in use.
    package var path: (local: Candidate, remote: Candidate)? {
        var local: UnsafeMutablePointer<NiceCandidate>?
        var remote: UnsafeMutablePointer<NiceCandidate>?
        guard nice_agent_get_selected_pair(agent, stream, Self.component, &local, &remote) != 0,
            let here = local.flatMap({ Candidate($0) }), let there = remote.flatMap({ Candidate($0) })
        else { return nil }
        return (here, there)
    }

    private static func address(of candidate: Candidate) -> NiceAddress? {
        guard candidate.component == 1, candidate.transport == "udp", candidate.port != 0 else { return nil }
        var address = NiceAddress()
        nice_address_init(&address)
        guard nice_address_set_from_string(&address, candidate.address) != 0, isUnicast(address) else { return nil }
        nice_address_set_port(&address, UInt32(candidate.port))
        return address
    }

    /// Whether an address is of one machine: neither of a group (RFC 5771, RFC 4291 §2.7) nor unspecified.
    private static func isUnicast(_ address: NiceAddress) -> Bool {
        var address = address
        if nice_address_ip_version(&address) == 4 {
            return withUnsafeBytes(of: address.s.ip4.sin_addr) { 1...223 ~= $0[0] }
        }
        return withUnsafeBytes(of: address.s.ip6.sin6_addr) { bytes in
            // ::/80 has the unspecified address and those with an embedded IPv4 address (RFC 4291 §2.5.5). Only its ::1
            // counts.
            bytes[0] != 0xFF
                && (bytes.prefix(10).contains { $0 != 0 } || bytes[10...].elementsEqual([0, 0, 0, 0, 0, 1]))
        }
    }

    private func makeCandidate(_ candidate: Candidate) -> UnsafeMutablePointer<NiceCandidate>? {
        guard let address = Self.address(of: candidate),
            let type = Candidate.types.first(where: { $0.kind == candidate.kind })?.type,
            let made = nice_candidate_new(type)
        else { return nil }
        made.pointee.transport = NICE_CANDIDATE_TRANSPORT_UDP
        made.pointee.component_id = Self.component
        made.pointee.stream_id = stream
        made.pointee.priority = candidate.priority
        made.pointee.addr = address
        withUnsafeMutableBytes(of: &made.pointee.foundation) { target in
            target.copyBytes(from: candidate.foundation.utf8.prefix(target.count - 1))
        }
        return made
    }
}

extension Candidate {
    fileprivate static var types: [(kind: Kind, type: NiceCandidateType)] {
        [
            (.host, NICE_CANDIDATE_TYPE_HOST), (.serverReflexive, NICE_CANDIDATE_TYPE_SERVER_REFLEXIVE),
            (.peerReflexive, NICE_CANDIDATE_TYPE_PEER_REFLEXIVE), (.relayed, NICE_CANDIDATE_TYPE_RELAYED),
        ]
    }

    fileprivate init?(_ candidate: UnsafeMutablePointer<NiceCandidate>) {
        guard candidate.pointee.transport == NICE_CANDIDATE_TRANSPORT_UDP else { return nil }
        let kind = Self.types.first { $0.type == candidate.pointee.type }?.kind ?? .relayed
        let (address, port) = Self.text(&candidate.pointee.addr)
        // A path's remote end has no base.
        let hasBase = kind != .host && nice_address_is_valid(&candidate.pointee.base_addr) != 0
        let base = hasBase ? Self.text(&candidate.pointee.base_addr) : nil
        self.init(
            foundation: withUnsafeBytes(of: candidate.pointee.foundation) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            },
            priority: candidate.pointee.priority,
            address: address,
            port: port,
            kind: kind
        )
        related = base.map { Related(address: $0.0, port: $0.1) }
    }

    private static func text(_ address: inout NiceAddress) -> (String, UInt16) {
        var text = [CChar](repeating: 0, count: Int(NICE_ADDRESS_STRING_LEN))
        nice_address_to_string(&address, &text)
        let bytes = text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        return (String(decoding: bytes, as: UTF8.self), UInt16(truncatingIfNeeded: nice_address_get_port(&address)))
    }
}
