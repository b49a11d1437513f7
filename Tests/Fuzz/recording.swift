import Containers
import Control

/// A file at the repair and at the reader, and a sender's feed. Of the input's first byte the lowest bit says which.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    guard count > 0 else { return 0 }
    let input = Array(UnsafeBufferPointer(start: start, count: count))
    if input[0] & 1 == 0 {
        let file = Array(input.dropFirst())
        repair(file)
        readPictures(of: file)
    } else {
        decode(input.dropFirst())
    }
    return 0
}

/// Once repaired, a file is still a recording. A strange one may have to be repaired again.
private func repair(_ file: [UInt8]) {
    guard case .torn(let end) = outcome(of: file) else { return }
    precondition(end.offset <= UInt64(file.count))
    var whole = Array(file[..<Int(end.offset)]) + end.bytes
    for patch in end.patches {
        whole.replaceSubrange(Int(patch.offset)..<Int(patch.offset) + patch.bytes.count, with: patch.bytes)
    }
    let again = outcome(of: whole)
    precondition(again != .empty && again != .foreign)
}

private func outcome(of file: [UInt8]) -> WebMRepair.Outcome {
    try! WebMRepair.outcome(length: UInt64(file.count), read: reading(of: file))
}

/// There is an end to them.
private func readPictures(of file: [UInt8]) {
    guard var reader = try! WebMReader(length: UInt64(file.count), read: reading(of: file)) else { return }
    try! reader.skip(to: .seconds(1))
    _ = try! reader.lastCluster()
    var bytes = 0
    while let picture = try! reader.next() { bytes += picture.frame.count }
    precondition(bytes <= file.count)
}

private func reading(of file: [UInt8]) -> FileReading {
    { offset, count in Array(file.dropFirst(Int(offset)).prefix(count)) }
}

private func decode(_ feed: ArraySlice<UInt8>) {
    var decoder = FeedDecoder()
    decoder.take(feed)
    do {
        while let message = try decoder.next() {
            var again = FeedDecoder()
            again.take((message.head + message.content)[...])
            precondition(try! again.next() == message)
        }
    } catch {}
}
