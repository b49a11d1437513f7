package import FrameBridge
package import HTTP
package import Media
package import Pixels

/// A value with one spelling, on the command line and between processes.
package protocol Spelled: Codable, Equatable, Sendable {
    /// - Throws: advice, for another spelling.
    init(spelling: String) throws(ConfigurationError)

    /// The text from which the same value is read.
    var spelling: String { get }
}

extension Spelled {
    package init(from decoder: any Decoder) throws {
        try self.init(spelling: decoder.singleValueContainer().decode(String.self))
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(spelling)
    }
}

extension Spelled where Self: CustomStringConvertible {
    package var spelling: String { description }
}

/// Advice: a possible value instead of a wrong one.
package struct ConfigurationError: Error, Equatable, CustomStringConvertible {
    package let description: String

    package init(_ advice: String) { description = advice }
}

package func read<Value>(_ value: Value?, orElse advice: String) throws(ConfigurationError) -> Value {
    guard let value else { throw ConfigurationError(advice) }
    return value
}

/// Bits a second, written with an optional `k` or `M`.
package struct Bitrate: Spelled, CustomStringConvertible {
    package static let range = 30_000...100_000_000

    package let bitsPerSecond: Int

    package init(bitsPerSecond: Int) { self.bitsPerSecond = bitsPerSecond }

    package init(spelling text: String) throws(ConfigurationError) {
        let units: [Character: Double] = ["k": 1000, "K": 1000, "m": 1_000_000, "M": 1_000_000]
        let unit = text.last.flatMap { units[$0] }
        guard let number = Double(unit == nil ? text : String(text.dropLast())), number.isFinite,
            let bits = Int(exactly: (number * (unit ?? 1)).rounded()), Self.range ~= bits
        else { throw ConfigurationError("give a rate from 30k to 100M, such as 2500k") }
        self.init(bitsPerSecond: bits)
    }

    package var spelling: String { "\(bitsPerSecond)" }
    package var description: String { "\(bitsPerSecond / 1000)k" }
}

/// Even sizes from 32x32 to 4096x4096, as `1280x720`.
extension PixelSize: Spelled {
    package init(spelling text: String) throws(ConfigurationError) {
        let sides = text.split(separator: "x", omittingEmptySubsequences: false).map { Int($0) }
        guard sides.count == 2, let width = sides[0], let height = sides[1], 32...4096 ~= width, 32...4096 ~= height,
            width.isMultiple(of: 2), height.isMultiple(of: 2)
        else { throw ConfigurationError("give two even numbers from 32 to 4096, such as 1280x720") }
        self.init(width: width, height: height)
    }
}

extension ListenAddress: Spelled {
    package init(spelling text: String) throws(ConfigurationError) {
        self = try read(Self(parsing: text), orElse: "give PORT, HOST:PORT or [IPV6]:PORT, such as 8080")
    }
}

extension AddressRange: Spelled {
    package init(spelling text: String) throws(ConfigurationError) {
        self = try read(Self(parsing: text), orElse: "give an address in numbers, or a network such as 10.0.0.0/8")
    }
}

extension WebOrigin: Spelled {
    package init(spelling text: String) throws(ConfigurationError) {
        self = try read(Self(parsing: text), orElse: "give http://HOST, https://HOST or either with a port")
    }
}

extension FrameStorage: Codable {}
extension TalkPolicy: Codable {}
