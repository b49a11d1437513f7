import Glibc
import TestSupport

/// Writes datagrams as a pcap file of bare IPv4 packets (LINKTYPE_RAW, 101), for tshark to judge.
func writeCapture(_ datagrams: [RTPTap.Datagram], mediaPort: UInt16, to path: String) throws {
    var file = little(0xa1b2_c3d4) + [2, 0, 4, 0] + little(0) + little(0) + little(65_535) + little(101)
    for datagram in datagrams {
        let port = datagram.direction == .media ? mediaPort : mediaPort + 1
        let length = 28 + datagram.bytes.count
        let microseconds = datagram.time / 1000
        file += little(UInt32(microseconds / 1_000_000)) + little(UInt32(microseconds % 1_000_000))
        file += little(UInt32(length)) + little(UInt32(length))
        file += [0x45, 0] + big(length) + [0, 0, 0, 0, 64, 17, 0, 0, 127, 0, 0, 1, 127, 0, 0, 1]
        file += big(40_000) + big(Int(port)) + big(length - 20) + [0, 0]
        file += datagram.bytes
    }
    guard let output = fopen(path, "wb") else { throw Unexpected("no \(path)") }
    defer { fclose(output) }
    guard fwrite(file, 1, file.count, output) == file.count else { throw Unexpected("\(path) is not whole") }
}

/// Fields of the packets that a filter selects, as tshark dissects them.
func dissect(_ path: String, mediaPort: UInt16, filter: String, fields: [String] = ["frame.number"]) throws -> [String]
{
    let output = try Subprocess.run(
        [
            "tshark", "-n", "-r", path, "-d", "udp.port==\(mediaPort),rtp", "-d", "udp.port==\(mediaPort + 1),rtcp",
            "-d", "rtp.pt==96,vp8", "-Y", filter, "-T", "fields",
        ] + fields.flatMap { ["-e", $0] }
    )
    return output.split(separator: "\n").map(String.init)
}

private func little(_ value: UInt32) -> [UInt8] { withUnsafeBytes(of: value.littleEndian) { Array($0) } }
private func big(_ value: Int) -> [UInt8] { [UInt8(truncatingIfNeeded: value >> 8), UInt8(truncatingIfNeeded: value)] }
