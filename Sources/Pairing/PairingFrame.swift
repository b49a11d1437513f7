/// A frame of a link before it is authenticated: a type, and a body of its own length. Numbers are big-endian.
///
/// ```
/// 01 HELLO    version u8 | nonce 16 | token 8 | length u8 | name    the server's first, then the client's
/// 02 SHARE    32                                                    the client's first
/// 03 CONFIRM  64                                                    the client's first
/// 04 IDENT    key 32                                                for announcements; both, after a right CONFIRM
/// 05 STORED   status u8                                             both
/// 06 ABORT    reason u8
/// 10 AUTH     nonce 16 | anew u8 | MAC 32                           the client's; 1 if a link that there is leads nowhere
/// 11 AUTH_OK  MAC 32                                                the server's
/// ```
package enum PairingFrame: Equatable, Sendable {
    case hello(Hello)
    case share([UInt8])
    case confirm([UInt8])
    case ident(resolvingKey: [UInt8])
    case stored(isDone: Bool)
    case abort(PairingFailure)
    /// - isAnew: whether the client gives up another link of the pair, as after a change of network.
    case auth(nonce: [UInt8], isAnew: Bool, mac: [UInt8])
    case authOK(mac: [UInt8])

    /// The first frame of each side.
    package struct Hello: Equatable, Sendable {
        package static let version: UInt8 = 1
        package static let nonceLength = 16
        package static let tokenLength = 8
        /// Of a name, in UTF-8.
        package static let longestName = 60

        package let version: UInt8
        package let nonce: [UInt8]
        /// Of the announcement by which the client has found the server; zeroes from a server, and for a link without pairing.
        package let token: [UInt8]
        /// Empty from devices that only pairs may know.
        package let name: String

        /// - Parameter name: shortened to `longestName`.
        package init(nonce: [UInt8], token: [UInt8] = [UInt8](repeating: 0, count: tokenLength), name: String) {
            precondition(nonce.count == Self.nonceLength && token.count == Self.tokenLength)
            var name = name
            while name.utf8.count > Self.longestName { name.removeLast() }
            (version, self.nonce, self.token, self.name) = (Self.version, nonce, token, name)
        }

        fileprivate init(version: UInt8, nonce: [UInt8], token: [UInt8], name: String) {
            (self.version, self.nonce, self.token, self.name) = (version, nonce, token, name)
        }
    }

    package static let shareLength = 32
    package static let confirmLength = 64
    package static let keyLength = 32
    /// Of all frames.
    package static let longest = 1 + 1 + Hello.nonceLength + Hello.tokenLength + 1 + Hello.longestName

    private enum Kind: UInt8 {
        case hello = 0x01
        case share, confirm, ident, stored, abort
        case auth = 0x10
        case authOK
    }

    package var bytes: [UInt8] {
        func frame(_ kind: Kind, _ body: [UInt8]...) -> [UInt8] { [kind.rawValue] + body.joined() }
        return switch self {
        case .hello(let hello):
            frame(
                .hello,
                [hello.version],
                hello.nonce,
                hello.token,
                [UInt8(hello.name.utf8.count)],
                Array(hello.name.utf8)
            )
        case .share(let share): frame(.share, share)
        case .confirm(let tag): frame(.confirm, tag)
        case .ident(let key): frame(.ident, key)
        case .stored(let isDone): frame(.stored, [isDone ? 0 : 1])
        case .abort(let failure): frame(.abort, [failure.rawValue])
        case .auth(let nonce, let isAnew, let mac): frame(.auth, nonce, [isAnew ? 1 : 0], mac)
        case .authOK(let mac): frame(.authOK, mac)
        }
    }

    /// - Returns: nil for what is no frame, or has bytes too many.
    package init?(_ bytes: some Collection<UInt8>) {
        var rest = Reader(bytes)
        guard let kind = rest.byte().flatMap(Kind.init) else { return nil }
        var frame: PairingFrame?
        switch kind {
        case .hello: frame = rest.hello().map { .hello($0) }
        case .share: frame = rest.bytes(Self.shareLength).map { .share($0) }
        case .confirm: frame = rest.bytes(Self.confirmLength).map { .confirm($0) }
        case .ident: frame = rest.bytes(Self.keyLength).map { .ident(resolvingKey: $0) }
        case .stored: frame = rest.byte().map { .stored(isDone: $0 == 0) }
        case .abort: frame = rest.byte().map { .abort(PairingFailure(rawValue: $0) ?? .refused) }
        case .auth:
            if let nonce = rest.bytes(Hello.nonceLength), let anew = rest.byte(), anew < 2,
                let mac = rest.bytes(LinkProof.macLength)
            {
                frame = .auth(nonce: nonce, isAnew: anew == 1, mac: mac)
            }
        case .authOK: frame = rest.bytes(LinkProof.macLength).map { .authOK(mac: $0) }
        }
        guard let frame, rest.isAtEnd else { return nil }
        self = frame
    }

    private struct Reader {
        private var rest: [UInt8].SubSequence

        init(_ bytes: some Collection<UInt8>) { rest = Array(bytes.prefix(longest + 1))[...] }

        var isAtEnd: Bool { rest.isEmpty }

        mutating func byte() -> UInt8? { rest.popFirst() }

        mutating func bytes(_ count: Int) -> [UInt8]? {
            guard rest.count >= count else { return nil }
            defer { rest = rest.dropFirst(count) }
            return Array(rest.prefix(count))
        }

        mutating func hello() -> Hello? {
            guard let version = byte(), let nonce = bytes(Hello.nonceLength), let token = bytes(Hello.tokenLength)
            else {
                return nil
            }
            // Later versions may say more.
            if version > Hello.version {
                rest = []
                return Hello(version: version, nonce: nonce, token: token, name: "")
            }
            guard version == Hello.version, let length = byte(), length <= Hello.longestName,
                let name = bytes(Int(length)),
                let text = String(validating: name, as: UTF8.self)
            else { return nil }
            return Hello(version: version, nonce: nonce, token: token, name: text)
        }
    }
}

/// A reason why two devices are not paired.
package enum PairingFailure: UInt8, Error, Sendable, CaseIterable {
    /// Another code was typed than was shown.
    case wrongCode = 1
    /// Somebody else pairs, or there were too many wrong codes.
    case busy
    /// The code has expired.
    case late
    case refused
    /// The other side speaks another version.
    case version
}
