import Glibc
import TestSupport
import Testing

@testable import Recording

@Suite struct FileNameTests {
    @Test(
        arguments: [
            (0, "1970-01-01T00-00-00Z"), (951_782_399, "2000-02-28T23-59-59Z"), (951_782_400, "2000-02-29T00-00-00Z"),
            (1_732_879_503.9, "2024-11-29T11-25-03Z"), (4_107_542_400, "2100-03-01T00-00-00Z"),
            (-1, "1969-12-31T23-59-59Z"),
        ] as [(Double, String)]
    )
    func datesAreThoseOfTheCalendar(date: Double, text: String) { #expect(FileName.utc(date) == text) }

    /// Against the C library.
    @Test func everyDateIsThatOfTheSystem() {
        var random = SplitMix(seed: 1)
        for _ in 0..<2000 {
            var seconds = time_t.random(in: -5_000_000_000...50_000_000_000, using: &random)
            var parts = tm()
            gmtime_r(&seconds, &parts)
            let text = "\(1900 + Int(parts.tm_year))-\(Self.two(parts.tm_mon + 1))-\(Self.two(parts.tm_mday))"
            let time = "\(Self.two(parts.tm_hour))-\(Self.two(parts.tm_min))-\(Self.two(parts.tm_sec))"
            #expect(FileName.utc(Double(seconds)) == "\(text)T\(time)Z")
        }
    }

    private static func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }

    /// A clock may be set to anything.
    @Test(arguments: [-1e300, 1e300, .infinity, -.infinity]) func anyDateHasAName(date: Double) {
        #expect(FileName.base("default", date: date).hasPrefix("default-"))
    }

    @Test(arguments: [
        ("default-2026-11-29T11-25-03Z.webm", true), ("default-2026-11-29T11-25-03Z-2.webm", true),
        ("default-2026-11-29T11-25-03Z-.webm", false), ("default-2026-11-29T11-25-03Z.webm.part", false),
        ("default-2026-11-29T11-25-03.webm", false), ("other-2026-11-29T11-25-03Z.webm", false),
        ("default-holiday.webm", false), ("default-2026-11-29T11-25-03Z-motion.webm", true),
        ("default-2026-11-29T11-25-03Z-command-3.webm", true), ("default-2026-11-29T11-25-03Z-mine.webm", false),
        ("default-.webm", false), ("default-٢٠26-11-29T11-25-03Z.webm", false),
    ])
    func onlyDatedNamesAreOurs(name: String, isOurs: Bool) { #expect(FileName.isDated(name, of: "default") == isOurs) }
}
