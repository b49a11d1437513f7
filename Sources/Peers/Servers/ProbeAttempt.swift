import Glibc
import ICE
import Posix
import Time

/// One probe of a server, with its socket.
final class ProbeAttempt {
    /// The most datagrams, or reads of a stream. A server needs three.
    private static let mostPieces = 8
    private static let pieceSize = 2048

    private let isStream: Bool
    private let socket: ConnectedSocket
    private var probe: ServerProbe
    private var pieceCount = 0
    /// Bytes for a stream without room.
    private var unsent: [UInt8] = []

    /// - Throws: if there is no route to the server's address, or no socket.
    init(_ server: ICEServer, at now: Instant) throws(SystemError) {
        let place: (host: String, port: UInt16)
        let service: ServerProbe.Service
        switch server {
        case .stun(let host, let port): (place, service, isStream) = ((host, port), .stun, false)
        case .turn(let host, let port, let relaying, let credentials):
            let (username, password) = credentials.current()
            (place, service) = ((host, port), .turn(username: username, password: password))
            isStream = relaying == .tcp
        }
        // It is in numbers.
        guard let address = try? SocketAddress.resolve(host: place.host, port: place.port) else {
            throw SystemError("getaddrinfo", code: EADDRNOTAVAIL)
        }
        socket = try ConnectedSocket(isStream: isStream, to: address)
        probe = ServerProbe(service, isStream: isStream, now: now)
    }

    /// For `poll`.
    var descriptor: PollItem { PollItem(socket.raw, wantsWrite: !unsent.isEmpty) }
    var deadline: Instant? { probe.deadline }
    /// Nil until it is over.
    var result: ServerProbe.Result? { probe.isOver ? probe.result : nil }

    /// Receives and sends.
    func advance(isReadable: Bool, at now: Instant) {
        do throws(SystemError) {
            if isReadable { try receive(at: now) }
            probe.tick(at: now)
            try send()
        } catch {
            probe.end(.noAnswer)
        }
    }

    private func receive(at now: Instant) throws(SystemError) {
        while !probe.isOver, let piece = try socket.receive(limit: Self.pieceSize) {
            if isStream, piece.isEmpty { return probe.end(.noAnswer) }
            probe.receive(piece, at: now)
            pieceCount += 1
            if pieceCount == Self.mostPieces { probe.end(.otherProtocol) }
        }
    }

    private func send() throws(SystemError) {
        while let output = probe.takeOutput() {
            // A datagram without room is lost.
            if isStream { unsent += output } else { _ = try socket.send(output[...]) }
        }
        if !unsent.isEmpty { unsent.removeFirst(try socket.send(unsent[...])) }
    }
}
