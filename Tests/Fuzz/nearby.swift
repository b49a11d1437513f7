import Discovery
import Pairing
import Time

/// What strangers nearby send: beacons, TXT strings and frames before a link is authenticated. What is read can be written again, and a
/// pairing that knows no code never stores anything.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    if let beacon = Beacon(bytes) { precondition(Beacon(beacon.bytes) == beacon) }
    let strings = bytes.split(separator: 0, omittingEmptySubsequences: false).map { Array($0) }
    if let announcement = Announcement(strings: strings) {
        precondition(Announcement(strings: announcement.strings.map { Array($0.utf8) }) == announcement)
    }
    if let frame = PairingFrame(bytes), case .hello(let hello) = frame {
        precondition(hello.name.utf8.count <= PairingFrame.Hello.longestName)
    }
    var engine = BeaconEngine(instance: [UInt8](repeating: 1, count: 8))
    engine.browse(at: .start)
    // Frames follow their lengths.
    for role in [PairingSession.Role.showsCode, .takesCode] {
        let hello = PairingFrame.Hello(nonce: [UInt8](repeating: 2, count: 16), name: "")
        let identity = PairingSession.Identity(device: .random(), resolvingKey: [UInt8](repeating: 3, count: 32))
        var session = PairingSession(
            role,
            code: .typed(),
            identity: identity,
            hellos: (hello, hello),
            certificate: [],
            at: .start
        )
        var rest = bytes[...]
        while let length = rest.popFirst() {
            let frame = rest.prefix(Int(length))
            rest = rest.dropFirst(Int(length))
            engine.receive(frame, from: Endpoint(host: "10.0.0.1", port: 5), at: .start)
            session.receive(PairingFrame(frame))
            while let output = session.nextOutput() {
                if case .store = output { preconditionFailure("a pair without a code") }
            }
        }
    }
    return 0
}
