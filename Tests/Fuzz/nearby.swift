import Discovery
import Link
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
    if let frame = LinkFrame(bytes) { precondition(LinkFrame(frame.bytes) == frame) }
    if let signal = LinkSignal(bytes), case .close(let reason) = signal {
        precondition(LinkSignal(LinkSignal.close(reason).bytes) == signal)
    }
    if let text = String(validating: bytes, as: UTF8.self), let link = PairingLink(text) {
        precondition(PairingLink("\(link)") == link)
    }
    serve(bytes)
    var engine = BeaconEngine(instance: [UInt8](repeating: 1, count: 8))
    engine.browse(at: .start)
    var calls = CallEngine()
    let (pair, other) = (PairID(secret: [1]), PairID(secret: [2]))
    calls.linkUp(pair)
    // Frames follow their lengths; a length of 0 sends the last answer back.
    for role in [PairingSession.Role.showsCode, .takesCode] {
        let client = PairingFrame.Hello(nonce: [UInt8](repeating: 2, count: 16), name: "")
        let server = PairingFrame.Hello(nonce: [UInt8](repeating: 3, count: 16), name: "")
        var session = PairingSession(
            role,
            code: PairingCode(typed: "123456")!,
            resolvingKey: [UInt8](repeating: 3, count: 32),
            hellos: (client, server),
            certificate: [],
            at: .start
        )
        var answer: [UInt8] = []
        var rest = bytes[...]
        while let length = rest.popFirst() {
            let frame = length == 0 ? answer : Array(rest.prefix(Int(length)))
            rest = rest.dropFirst(Int(length))
            engine.receive(frame, from: Endpoint(host: "10.0.0.1", port: 5), at: .start)
            session.receive(PairingFrame(frame))
            while let output = session.nextOutput() {
                switch output {
                case .send(let bytes): answer = bytes
                case .tries: session.confirm()
                case .store, .paired, .unconfirmed: preconditionFailure("a pair without a code")
                case .usesCode, .wrongCode, .failed: break
                }
            }
            if case .call(let message)? = LinkFrame(frame) {
                calls.receive(message, from: length % 2 == 0 ? pair : other, at: .start)
                while let output = calls.nextOutput() {
                    if case .rings(let request, _, _) = output { _ = calls.accept(request, at: .start) }
                }
            }
        }
    }
    return 0
}

/// A stranger at a server of links, which shows a code that it does not know.
private func serve(_ bytes: [UInt8]) {
    let secrets = (1...3).map { [UInt8](repeating: $0, count: 32) }
    var session = LinkSession(
        .server(secrets: secrets),
        resolvingKey: secrets[0],
        name: "",
        certificate: [],
        at: .start
    )
    var wire = LinkWire()
    wire.receive(bytes[...])
    while let message = try? wire.next(longest: session.longestMessage) {
        session.receive(message, at: .start)
        while let output = session.nextOutput() {
            switch output {
            case .wantsToPair: session.pair(PairingCode(typed: "123456")!, at: .start)
            case .pairing(.tries): session.confirm()
            case .linked, .frame, .pairing(.store): preconditionFailure("a link with a stranger")
            default: break
            }
        }
    }
}
