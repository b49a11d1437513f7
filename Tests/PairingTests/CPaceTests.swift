import Sodium
import Testing

@testable import Pairing

/// The vectors of draft-irtf-cfrg-cpace-21, appendix B.3.
@Suite struct CPaceTests {
    private let setting = CPace.Setting(
        password: Array("Password".utf8),
        channel: bytes("0b415f696e69746961746f720b425f726573706f6e646572"),
        session: bytes("7e4b4791d6a8ef019b936c79fb7f2c57")
    )
    private let scalars = [
        bytes("da3d23700a9e5699258aef94dc060dfda5ebb61f02a5ea77fad53f4ff0976d08"),
        bytes("d2316b454718c35362d83d69df6320f38578ed5984651435e2949762d900b80d"),
    ]
    private let shares = [
        bytes("d6bac480f2c386c394efc7c47adb9925dcd2630b64f240c50f8d0eec482b9157"),
        bytes("3ea7e0b19560d7c0b0f5734f63b955286dfa8232b5ebe63324e2d9e7433f7258"),
    ]

    @Test func theVectorsHold() throws {
        #expect(
            CPace.generator(setting) == bytes("222b6b195fe84b1652badb6f6a3ae3d24341e7306967f0b8115b40d5698c7e56")
        )
        let runs = scalars.map { CPace(setting, scalar: $0) }
        #expect(runs.map(\.share) == shares)
        let (first, second) = (Array("ADa".utf8), Array("ADb".utf8))
        let expected = bytes(
            "b69effbf61b51d56401c0f65601abe428de8206feaaf0e32198896dcae7b35cd2b38950a39dfd5d4a79164614c2984f7daa460b588c1e80c3fa2068af7900447"
        )
        #expect(runs[0].key(with: shares[1], ownData: first, otherData: second, begins: true) == expected)
        #expect(runs[1].key(with: shares[0], ownData: second, otherData: first, begins: false) == expected)
        // Both sides as the first one have different keys.
        #expect(runs[1].key(with: shares[0], ownData: second, otherData: first, begins: true) != expected)
    }

    /// §7.1: the identity, encodings that are not canonical, and what is no element.
    @Test func invalidSharesAreRefused() {
        let run = CPace(setting)
        func key(_ share: [UInt8]) -> [UInt8]? { run.key(with: share, ownData: [], otherData: [], begins: true) }
        #expect(key(CPace(setting).share) != nil)
        var odd = shares[0]
        odd[0] |= 1
        for share in [
            [UInt8](repeating: 0, count: 32), [UInt8](repeating: 0xFF, count: 32), odd, [], Array(shares[0].dropLast()),
            shares[0] + [0],
        ] {
            #expect(key(share) == nil, "\(share)")
        }
    }

    /// §5.3, with a length that takes two bytes.
    @Test func lengthsStandBeforeTexts() {
        #expect([Array("1234".utf8), [], [5]].concatenated == [4, 0x31, 0x32, 0x33, 0x34, 0, 1, 5])
        #expect([[UInt8](repeating: 7, count: 200)].concatenated.prefix(3) == [0xC8, 1, 7])
        #expect([[UInt8](repeating: 7, count: 127)].concatenated.prefix(2) == [0x7F, 7])
    }

    /// Two of one code agree; all else gives another key.
    @Test func eachTextMatters() throws {
        func key(_ own: CPace.Setting, _ other: CPace.Setting) throws -> Bool {
            let (one, two) = (CPace(own), CPace(other))
            let first = try #require(one.key(with: two.share, ownData: [1], otherData: [2], begins: true))
            let second = try #require(two.key(with: one.share, ownData: [2], otherData: [1], begins: false))
            return first == second
        }
        #expect(try key(setting, setting))
        let others = [
            CPace.Setting(password: [1], channel: setting.channel, session: setting.session),
            CPace.Setting(password: setting.password, channel: [1], session: setting.session),
            CPace.Setting(password: setting.password, channel: setting.channel, session: [1]),
        ]
        for other in others { #expect(try !key(setting, other)) }
    }
}

func bytes(_ hexadecimal: String) -> [UInt8] { [UInt8](hexadecimal: hexadecimal)! }
