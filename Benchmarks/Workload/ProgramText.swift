/// Endless text that looks like a program being read or built; the same in every run.
struct ProgramText {
    private var count = 0

    private static let lines = [
        "func encode(_ picture: borrowing Picture, at time: UInt64) throws(EncodeError) -> Packet {",
        "    guard picture.width == configuration.width else { throw .wrongSize(picture.width) }",
        "    var flags = forceKeyFrame ? VPX_EFLAG_FORCE_KF : 0",
        "    // Only blocks that changed since the last encoded frame are worth looking at.",
        "    for tile in dirty where tile.version > lastEncoded {",
        "        map[tile.row * columns + tile.column] = 1",
        "    }",
        "    let code = vpx_codec_encode(&codec, &image, pts, 1, flags, deadline)",
        "    return try collect(code, startedAt: time)",
        "}",
        "",
        "[%d/482] Compiling Broadcast CaptureLoop.swift",
        "[%d/482] Linking liboriel.so: 0x%x bytes in .text",
        "2026-03-14T09:26:53.%dZ info  sender: 30 frames, 2487 kb/s, rtt 12 ms, lost 0",
        "drwxr-xr-x 14 ada users  4096 Mar 14 09:%d Sources/RTP/Bandwidth",
        "-rw-r--r--  1 ada users %d Mar 14 09:26 Tests/RTPTests/Vectors.swift",
        "warning: variable 'deadline%d' was never mutated; consider changing to 'let'",
        "    + if (xcb_connection_has_error(connection) != 0) { return .lost }   // %d",
        "    - if (reply == NULL) return -1;",
        "test result: ok. %d passed; 0 failed; 0 ignored; finished in 0.%ds",
        "commit 3f9c%xa7e: Wake the sender as soon as a frame is published",
        "  CPU[||||||||||||          41.%d%]   Mem[||||||||||||||||||      2.91G/7.70G]",
    ]

    /// The next line; it never repeats exactly where it has numbers.
    mutating func next() -> String {
        count += 1
        let scrambled = UInt64(count) &* 0x9e37_79b9_7f4a_7c15
        let template = Self.lines[Int((scrambled >> 40) % UInt64(Self.lines.count))]
        let number = Int(scrambled >> 20 & 0xffff)
        var text = ""
        var rest = template[...]
        while let percent = rest.firstIndex(of: "%") {
            text += rest[..<percent]
            let kind = rest.index(after: percent)
            switch kind < rest.endIndex ? rest[kind] : " " {
            case "d": text += String(number)
            case "x": text += String(number, radix: 16)
            default: text += rest[percent...kind]
            }
            rest = rest[rest.index(after: kind)...]
        }
        return text + rest
    }

    /// A colour for a line, as syntax highlighting would give.
    static func colour(of line: String, dark: Bool) -> UInt32 {
        let start = line.drop { $0 == " " }
        if start.hasPrefix("//") || start.hasPrefix("2026") { return dark ? 0x8a94a6 : 0x7a8290 }
        if start.hasPrefix("+") || start.hasPrefix("test") { return dark ? 0x8fd694 : 0x23803a }
        if start.hasPrefix("-") { return dark ? 0xf28b82 : 0xb3261e }
        if start.hasPrefix("warning") || start.hasPrefix("commit") { return dark ? 0xf5c76e : 0x8a5a00 }
        if start.hasPrefix("func") || start.hasPrefix("for") || start.hasPrefix("guard") {
            return dark ? 0x8ab4f8 : 0x1a4fa0
        }
        return dark ? 0xdfe3ea : 0x22262e
    }
}
