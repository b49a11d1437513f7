import Containers
import TestSupport
import Testing

@Suite struct EBMLTests {
    /// The forms of the number 2 in RFC 8794 §4.4.
    @Test(
        arguments: [
            (1, [0x82]), (2, [0x40, 0x02]), (3, [0x20, 0x00, 0x02]), (4, [0x10, 0x00, 0x00, 0x02]),
            (8, [0x01, 0, 0, 0, 0, 0, 0, 0x02]),
        ] as [(Int, [UInt8])]
    )
    func aNumberHasAsManyBytesAsWanted(length: Int, bytes: [UInt8]) {
        #expect(EBMLWriter.size(2, length: length) == bytes)
        let element = EBMLElement(([0xEC] + bytes)[...])
        #expect(element?.size == 2)
        #expect(element?.headLength == 1 + length)
    }

    /// All bits set are an unknown size (RFC 8794 §6.2), so that 127 takes two bytes.
    @Test(
        arguments: [
            (0, [0x80]), (126, [0xFE]), (127, [0x40, 0x7F]), (16_382, [0x7F, 0xFE]), (16_383, [0x20, 0x3F, 0xFF]),
        ]
            as [(Int, [UInt8])]
    )
    func aSizeIsAsShortAsPossible(size: Int, bytes: [UInt8]) { #expect(EBMLWriter.size(size) == bytes) }

    @Test func everySizeIsReadAsItWasWritten() {
        var random = SplitMix(seed: 1)
        for _ in 0..<10_000 {
            let size = Int.random(in: 0...(1 << Int.random(in: 1...50, using: &random)), using: &random)
            var file = EBMLWriter()
            file.begin(.simpleBlock, count: size)
            let element = EBMLElement(file.bytes[...])
            #expect(element?.size == UInt64(size))
            #expect(element?.headLength == file.bytes.count)
            #expect(element?.is(.simpleBlock) ?? false)
        }
    }

    @Test func anElementWithoutEndHasNoSize() {
        var file = EBMLWriter()
        file.openMaster(.segment)
        let element = EBMLElement(file.bytes[...])
        #expect(element?.is(.segment) ?? false)
        #expect(element?.size == nil)
        #expect(element?.headLength == 12)
    }

    @Test func numbersTakeAsManyBytesAsTheyNeed() {
        var file = EBMLWriter()
        file.unsigned(.timestamp, 0)
        file.unsigned(.timestamp, 255)
        file.unsigned(.timestamp, 256)
        file.unsigned(.timestamp, .max)
        #expect(
            file.bytes == [0xE7, 0x81, 0, 0xE7, 0x81, 255, 0xE7, 0x82, 1, 0, 0xE7, 0x88]
                + [UInt8](repeating: 255, count: 8)
        )
    }

    @Test(arguments: 2...128) func aVoidIsAsLongAsWanted(length: Int) {
        var file = EBMLWriter()
        file.void(length: length)
        #expect(file.bytes.count == length)
        #expect(EBMLElement(file.bytes[...])?.size == UInt64(length - 2))
    }

    @Test(
        arguments: [[], [0x1A], [0x1A, 0x45, 0xDF, 0xA3], [0x08, 0x81], [0xEC], [0xEC, 0x00], [0xEC, 0x40]] as [[UInt8]]
    )
    func partsOfElementsAreNone(bytes: [UInt8]) { #expect(EBMLElement(bytes[...]) == nil) }
}
