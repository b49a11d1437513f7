import TestSupport
import Testing

@testable import RTP

@Suite struct HeaderExtensionsTests {
    private let all = HeaderExtensions(
        mid: 3,
        playoutDelay: 14,
        captureTime: 1,
        transportNumber: 7,
        dependencyDescriptor: 2,
        colourSpace: 8
    )

    private func bytes(_ values: HeaderExtensionValues, _ identifiers: HeaderExtensions) -> [UInt8]? {
        var bytes: [UInt8] = [9]
        let isWritten = values.write(identifiers, to: &bytes)
        #expect(bytes.first == 9)
        #expect(isWritten == (bytes.count > 1), "what says nothing adds nothing")
        return isWritten ? Array(bytes.dropFirst()) : nil
    }

    /// Laid out by hand after RFC 8285 §4.2: a header, then an identifier, the length less one and the data of each
    /// element, and zeros up to a whole word.
    @Test func elementsAreWrittenInTheOneByteForm() {
        let mid = HeaderExtensionValues(mid: "v0")
        #expect(bytes(mid, all) == [0xBE, 0xDE, 0, 1, 0x31, 0x76, 0x30, 0])
        let playout = HeaderExtensionValues(asksForImmediatePlayout: true)
        #expect(bytes(playout, all) == [0xBE, 0xDE, 0, 1, 0xE2, 0, 0, 0])
        let time = HeaderExtensionValues(captureTime: NTPTime(rawValue: 0x0102_0304_8000_0001))
        #expect(bytes(time, all) == [0xBE, 0xDE, 0, 3, 0x17, 1, 2, 3, 4, 0x80, 0, 0, 1, 0, 0, 0])
        let number = HeaderExtensionValues(transportNumber: 0x1234)
        #expect(bytes(number, all) == [0xBE, 0xDE, 0, 1, 0x71, 0x12, 0x34, 0])
        let dependency = HeaderExtensionValues(
            dependency: DependencyDescriptor(
                isFirst: true,
                isLast: false,
                frameNumber: 0x0304,
                isKeyframe: false,
                structure: nil
            )
        )
        #expect(bytes(dependency, all) == [0xBE, 0xDE, 0, 1, 0x22, 0x81, 3, 4])
        // https://webrtc.googlesource.com/src/+/refs/heads/main/docs/native-code/rtp-hdrext/color-space
        let colour = HeaderExtensionValues(tellsColourSpace: true)
        #expect(bytes(colour, all) == [0xBE, 0xDE, 0, 2, 0x83, 1, 1, 6, 0x1A, 0, 0, 0])
        let everything = HeaderExtensionValues(
            mid: "0",
            asksForImmediatePlayout: true,
            captureTime: NTPTime(unixTime: 500_000_000)
        )
        #expect(
            bytes(everything, all) == [
                0xBE, 0xDE, 0, 4, 0x30, 0x30, 0xE2, 0, 0, 0, 0x17, 0x83, 0xAA, 0x7E, 0x80, 0x80, 0, 0, 0, 0,
            ]
        )
    }

    @Test func whatHasNoIdentifierOrNothingToSayIsLeftOut() {
        let everything = HeaderExtensionValues(
            mid: "0",
            asksForImmediatePlayout: true,
            captureTime: NTPTime(rawValue: 1)
        )
        #expect(bytes(everything, HeaderExtensions()) == nil)
        #expect(bytes(everything, HeaderExtensions(mid: 1)) == [0xBE, 0xDE, 0, 1, 0x10, 0x30, 0, 0])
        #expect(bytes(HeaderExtensionValues(), all) == nil)
        #expect(bytes(HeaderExtensionValues(mid: ""), all) == nil)
    }

    @Test(arguments: 1...20)
    func namesThatDoNotFitAreLeftOutWhole(length: Int) throws {
        let text = String(repeating: "m", count: length)
        let written = bytes(HeaderExtensionValues(mid: text), HeaderExtensions(mid: 14))
        guard length <= 16 else {
            #expect(written == nil)
            return
        }
        let extended = try #require(written)
        #expect(extended.count % 4 == 0)
        let header: [UInt8] = [0x90, 96] + [UInt8](repeating: 0, count: 10)
        #expect(extensionElements(of: header + extended) == [14: Array(text.utf8)])
        #expect(try RTPPacket(parsing: header + extended + [7]).payload == [7])
    }

    @Test func theLongestAreNoLongerThanPromised() throws {
        let longest = HeaderExtensionValues(
            mid: String(repeating: "m", count: 16),
            asksForImmediatePlayout: true,
            captureTime: NTPTime(rawValue: .max),
            transportNumber: .max,
            dependency: DependencyDescriptor(
                isFirst: true,
                isLast: true,
                frameNumber: .max,
                isKeyframe: true,
                structure: (.max, .max)
            ),
            tellsColourSpace: true
        )
        let written = try #require(bytes(longest, all))
        #expect(written.count == HeaderExtensionValues.maximumSize)
    }
}
