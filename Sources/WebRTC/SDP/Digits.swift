extension FixedWidthInteger {
    /// A number without a sign, as in the grammars of SDP.
    init?(digits text: some StringProtocol, radix: Int = 10) {
        guard text.utf8.first != UInt8(ascii: "+"), text.utf8.first != UInt8(ascii: "-") else { return nil }
        self.init(text, radix: radix)
    }
}
