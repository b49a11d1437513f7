import ICE
import Time

/// What servers of STUN and TURN send: what is read must be written the same.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    if let message = STUNMessage(parsing: bytes) {
        precondition(STUNMessage.size(beginning: bytes) == count)
        precondition(STUNMessage(parsing: message.encoded()) == message)
        let key = Array("p".utf8)
        _ = STUNMessage.isAuthentic(bytes, key: key)
        // There may be no room for them.
        if count < 60_000 {
            let signed = message.encoded(key: key)
            precondition(STUNMessage(parsing: signed) == message && STUNMessage.isAuthentic(signed, key: key))
        }
    }
    return 0
}
