import Configuration
import Testing

@Suite struct SpelledTests {
    /// The words of options, and what is said of wrong ones.
    @Test func ratesAreSpelledAndRead() throws {
        for (text, bits) in [("30k", 30_000), ("2.5M", 2_500_000), ("123456", 123_456), ("999999.6", 1_000_000)] {
            #expect(try Bitrate(spelling: text).bitsPerSecond == bits)
            #expect(try Bitrate(spelling: Bitrate(spelling: text).spelling).bitsPerSecond == bits)
        }
        for text in ["", "k", "29k", "101M", "nan", "1e400"] {
            #expect(throws: ConfigurationError("give a rate from 30k to 100M, such as 2500k")) {
                try Bitrate(spelling: text)
            }
        }
    }
}
