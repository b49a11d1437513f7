import CQREncode

/// A QR code (ISO/IEC 18004) of the smallest size that holds a text, with the least error correction: a screen is clean.
struct QRCode {
    /// Light modules around the code (ISO/IEC 18004:2015 §5.3.8).
    private static let margin = 4
    /// Bright white on black, whatever the colours of the terminal (ECMA-48 §8.3.117). Cameras may not read an inverted code.
    private static let colours = (begin: "\u{1B}[40;97m", end: "\u{1B}[0m")

    private let side: Int
    /// Row by row.
    private let isDark: [Bool]

    /// - Returns: nil for more than 2953 bytes.
    init?(_ text: String) {
        guard let code = QRcode_encodeString8bit(text, 0, QR_ECLEVEL_L) else { return nil }
        defer { QRcode_free(code) }
        side = Int(code.pointee.width)
        // The lowest bit of each byte (qrencode.h).
        isDark = UnsafeBufferPointer(start: code.pointee.data, count: side * side).map { $0 & 1 == 1 }
    }

    /// For a terminal, two rows of modules in each line.
    var terminalText: String {
        let area = -Self.margin..<side + Self.margin
        return stride(from: area.lowerBound, to: area.upperBound, by: 2).map { row in
            let blocks = area.map { column -> Character in
                switch (isLight(column, row), row + 1 < area.upperBound && isLight(column, row + 1)) {
                case (true, true): "█"
                case (true, false): "▀"
                case (false, true): "▄"
                case (false, false): " "
                }
            }
            return Self.colours.begin + String(blocks) + Self.colours.end + "\n"
        }
        .joined()
    }

    private func isLight(_ column: Int, _ row: Int) -> Bool {
        guard 0..<side ~= column, 0..<side ~= row else { return true }
        return !isDark[row * side + column]
    }
}
