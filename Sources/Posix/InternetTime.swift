import Glibc

/// A time of the wall clock by RFC 3339, in UTC and milliseconds: `2026-11-25T20:16:41.123Z`.
package func internetTime(nanosecondsSince1970 time: UInt64) -> String {
    var (seconds, date) = (time_t(time / 1_000_000_000), tm())
    gmtime_r(&seconds, &date)
    var text = [CChar](repeating: 0, count: 32)
    let count = strftime(&text, text.count, "%Y-%m-%dT%H:%M:%S", &date)
    let milliseconds = "\(1000 + time / 1_000_000 % 1000)".dropFirst()
    return String(decoding: text.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self) + ".\(milliseconds)Z"
}
