import ICE
import Testing

extension STUNAttribute {
    /// 300…699, with a reason.
    static func errorCode(_ code: Int, reason: [UInt8]) -> Self {
        Self(type: 0x0009, value: [0, 0, UInt8(code / 100), UInt8(code % 100)] + reason)
    }
}

/// The test vectors of RFC 5769, and what is written for others.
@Suite struct STUNMessageTests {
    private static let transaction = bytes("b7e7a701bc34d686fa87dfae")
    private static let shortTerm = Array("VOkJxbRl1RmTxUk/WvJxBt".utf8)

    /// §2.1.
    private static let request = bytes(
        "000100582112a442b7e7a701bc34d686fa87dfae802200105354554e207465737420636c69656e74002400046e0001ff80290008932ff9b1"
            + "51263b36000600096576746a3a68367659202020000800149aeaa70cbfd8cb56781ef2b5b2d3f249c1b571a280280004e57a3bcf"
    )
    /// §2.2.
    private static let response = bytes(
        "0101003c2112a442b7e7a701bc34d686fa87dfae8022000b7465737420766563746f7220002000080001a147e112a643000800142b91f599"
            + "fd9e90c38c7489f92af9ba53f06be7d780280004c07d4c96"
    )
    /// §2.3.
    private static let response6 = bytes(
        "010100482112a442b7e7a701bc34d686fa87dfae8022000b7465737420766563746f7220002000140002a1470113a9faa5d3f179bc25f4b5"
            + "bed2b9d900080014a382954e4be67bf11784c97c8292c275bfe3ed4180280004c8fb0b4c"
    )
    /// §2.4.
    private static let login = bytes(
        "000100602112a44278ad3433c6ad72c029da412e00060012e3839ee38388e383aae38383e382afe382b900000015001c662f2f3439396b39"
            + "353464364f4c33346f4c39465354767936347341" + "0014000b6578616d706c652e6f7267000008001"
            + "4f67024656dd64a3e02b8e0712e85c9a28ca89666"
    )

    private static func bytes(_ digits: String) -> [UInt8] {
        let digits = Array(digits)
        return stride(from: 0, to: digits.count, by: 2).map { UInt8(String(digits[$0...$0 + 1]), radix: 16)! }
    }

    @Test func aRequestIsRead() throws {
        let message = try #require(STUNMessage(parsing: Self.request))
        #expect(message.kind == .request && message.method == .binding && message.transaction == Self.transaction)
        #expect(message.attributes.contains(.username(Array("evtj:h6vY".utf8))))
        #expect(message.attributes.contains(STUNAttribute(type: 0x8022, value: Array("STUN test client".utf8))))
        #expect(message.attributes.count == 4, "neither integrity nor fingerprint")
        #expect(STUNMessage.isAuthentic(Self.request, key: Self.shortTerm))
        #expect(!STUNMessage.isAuthentic(Self.request, key: Array("another".utf8)))
    }

    /// The attributes of a check have the RFC's bytes, and each changed byte is noticed.
    @Test func aCheckIsWritten() throws {
        let message = try #require(STUNMessage(parsing: Self.request))
        #expect(message.attributes.contains(.priority(0x6E00_01FF)))
        #expect(message.attributes.contains(.controlled(tieBreaker: 0x932F_F9B1_5126_3B36)))
        let bytes = message.encoded(key: Self.shortTerm, hasFingerprint: true)
        #expect(bytes.count == Self.request.count && STUNMessage(parsing: bytes) == message)
        #expect(STUNMessage.isAuthentic(bytes, key: Self.shortTerm))
        for index in bytes.indices {
            var wrong = bytes
            wrong[index] ^= 1
            #expect(STUNMessage(parsing: wrong) == nil || index >= bytes.count - 8, "byte \(index)")
        }
    }

    @Test(arguments: [response, response6]) func aResponseIsRead(bytes: [UInt8]) throws {
        let message = try #require(STUNMessage(parsing: bytes))
        #expect(message.kind == .success && message.transaction == Self.transaction)
        #expect(STUNMessage.isAuthentic(bytes, key: Self.shortTerm))
        // Written again it has another filling, and so another code.
        #expect(STUNMessage(parsing: message.encoded()) == message)
    }

    /// The password is what SASLprep makes of the one in the RFC.
    @Test func longTermCredentialsAreWrittenAsInTheRFC() throws {
        let message = try #require(STUNMessage(parsing: Self.login))
        let (username, realm) = (
            Array("\u{30DE}\u{30C8}\u{30EA}\u{30C3}\u{30AF}\u{30B9}".utf8), Array("example.org".utf8)
        )
        let nonce = Array("f//499k954d6OL34oL9FSTvy64sA".utf8)
        #expect(message.attributes == [.username(username), .nonce(nonce), .realm(realm)])
        let key = longTermKey(username: username, realm: realm, password: "TheMatrIX")
        #expect(STUNMessage.isAuthentic(Self.login, key: key))
        #expect(message.encoded(key: key) == Self.login)
    }

    @Test func whatIsWrittenIsReadTheSame() throws {
        let message = STUNMessage(
            .error,
            .allocate,
            [
                .errorCode(486, reason: Array("Allocation Quota Reached".utf8)), .lifetime(600), .udp, .realm([1]),
                .nonce([]), STUNAttribute(type: 0x802F, value: [1, 2, 3]),
            ]
        )
        let key = Array("p".utf8)
        let bytes = message.encoded(key: key)
        #expect(STUNMessage(parsing: bytes) == message && STUNMessage.isAuthentic(bytes, key: key))
        #expect(message.error?.code == 486)
        for method in [STUNMessage.Method.binding, .allocate, .refresh] {
            for kind in [STUNMessage.Class.request, .indication, .success, .error] {
                let empty = STUNMessage(kind, method)
                #expect(STUNMessage(parsing: empty.encoded()) == empty)
            }
        }
    }

    @Test func whatIsDamagedIsNoMessage() {
        #expect(STUNMessage(parsing: Self.request) != nil)
        for index in Self.request.indices {
            var damaged = Self.request
            damaged[index] ^= 0x10
            #expect(STUNMessage(parsing: damaged) == nil || index > Self.request.count - 9, "\(index)")
            #expect(STUNMessage(parsing: Array(Self.request[..<index])) == nil)
        }
        #expect(STUNMessage(parsing: Self.request + [0, 0, 0, 0]) == nil)
    }

    /// Attributes after MESSAGE-INTEGRITY may be anybody's.
    @Test func whatNobodyVouchesForIsLeftOut() {
        let key = Array("p".utf8)
        var bytes = STUNMessage(.success, .allocate, [.lifetime(600)]).encoded(key: key)
        bytes += [0x00, 0x0D, 0, 4, 0, 0, 0, 1]
        bytes[3] += 8
        #expect(STUNMessage(parsing: bytes)?.attributes == [.lifetime(600)])
        #expect(STUNMessage.isAuthentic(bytes, key: key))
    }

    @Test func aStreamIsCutIntoMessages() {
        for count in 0..<8 { #expect(STUNMessage.size(beginning: Self.response[..<count]) == nil, "\(count)") }
        #expect(STUNMessage.size(beginning: Self.response + [1, 2]) == Self.response.count)
        #expect(STUNMessage.size(beginning: Array("HTTP/1.1 400 Bad Request".utf8)) == 0)
        #expect(STUNMessage.size(beginning: [0, 1, 0, 8, 1, 2, 3, 4]) == 0)
        #expect(STUNMessage.size(beginning: [0, 1, 0, 7] + Self.response[4..<8]) == 0)
    }
}
