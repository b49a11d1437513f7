package import Pairing

/// What a device says of itself to everybody on the network. Nothing in it lasts: each start has another `instance`, and only pairs
/// recognise `resolvable`.
///
/// As TXT strings (RFC 6763 §6), 110 bytes at most:
/// ```
/// v=1             version
/// id=16 digits    instance
/// s=live          state: live, paused, idle
/// p=1             a code is shown: others may pair
/// at=16 digits    needed to begin to pair
/// r=32 digits     for pairs alone
/// c=vp8,vp9       codecs
/// ```
package struct Announcement: Equatable, Sendable {
    package enum State: String, Sendable, CaseIterable {
        /// It shares its screen.
        case live
        case paused
        case idle
    }

    package static let instanceLength = 8
    private static let version = "1"
    private static let mostCodecs = 8

    package let instance: [UInt8]
    package var state: State
    /// Needed to begin to pair (`PairingDoor`); nil while no code is shown.
    package var token: [UInt8]?
    package var resolvable: ResolvableID?
    /// By their names in SDP, in lower case.
    package var codecs: [String]

    package init(
        instance: [UInt8],
        state: State,
        token: [UInt8]? = nil,
        resolvable: ResolvableID? = nil,
        codecs: [String] = []
    ) {
        precondition(instance.count == Self.instanceLength)
        (self.instance, self.state, self.token) = (instance, state, token)
        (self.resolvable, self.codecs) = (resolvable, codecs)
    }

    /// The strings of the TXT record, each `key=value`.
    package var strings: [String] {
        var strings = ["v=\(Self.version)", "id=\(instance.hexadecimal)", "s=\(state.rawValue)"]
        if let token { strings += ["p=1", "at=\(token.hexadecimal)"] }
        if let resolvable { strings.append("r=\(resolvable.bytes.hexadecimal)") }
        if !codecs.isEmpty { strings.append("c=\(codecs.joined(separator: ","))") }
        return strings
    }

    /// - Parameter strings: of a TXT record; anything may be in them. Unknown keys are left out, and of two the first one counts.
    /// - Returns: nil for another version, and without an instance.
    package init?(strings: some Sequence<[UInt8]>) {
        var values: [String: String] = [:]
        for string in strings {
            // Keys are printable ASCII, and as good in upper case.
            guard let end = string.firstIndex(of: UInt8(ascii: "=")), 1...9 ~= end,
                let key = String(validating: string[..<end], as: UTF8.self)?.lowercased(), values[key] == nil,
                let value = String(validating: string[(end + 1)...], as: UTF8.self)
            else { continue }
            values[key] = value
        }
        guard values["v"] == Self.version, let id = values["id"], let instance = [UInt8](hexadecimal: id),
            instance.count == Self.instanceLength
        else { return nil }
        self.instance = instance
        state = values["s"].flatMap(State.init) ?? .idle
        let token = values["at"].flatMap { [UInt8](hexadecimal: $0) }
        self.token = values["p"] == "1" && token?.count == PairingFrame.Hello.tokenLength ? token : nil
        resolvable = values["r"].flatMap { [UInt8](hexadecimal: $0) }.flatMap { ResolvableID(bytes: $0) }
        let codecs = (values["c"] ?? "").split(separator: ",").prefix(Self.mostCodecs)
        self.codecs = codecs.filter { $0.utf8.allSatisfy { 0x61...0x7A ~= $0 || 0x30...0x39 ~= $0 } }.map { String($0) }
    }
}
