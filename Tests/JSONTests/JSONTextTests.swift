import FoundationEssentials
import JSON
import TestSupport
import Testing

@Suite struct JSONTextTests {
    @Test(arguments: [
        "null", "true", "false", "0", "-0", "-1.5e+10", "1E2", #""""#, #""é\u00e9\n\\""#, "[]", "{}",
        "[1,[2,{\"a\":[]}]]",
        #"{"a":1,"b":"x","a":2}"#, " [ 1 , 2 ] ",
    ])
    func values(text: String) throws {
        let value = try #require(JSONText(text.utf8))
        #expect(value.text == text.trimmingSpaces)
    }

    @Test(arguments: [
        "", " ", "nul", "truex", "01", "1.", ".5", "+1", "1e", "--1", "[", "[1,]", "[,1]", "{", #"{"a"}"#, #"{"a":}"#,
        "{a:1}", #"{"a":1,}"#, #"""#, #""\x""#, #""\u12g4""#, "\"\n\"", "1 2", "[1] x", "'a'", "NaN",
    ])
    func noValues(text: String) {
        #expect(JSONText(text.utf8) == nil)
    }

    @Test func depthIsLimited() {
        let limit = JSONText.depthLimit
        #expect(JSONText((String(repeating: "[", count: limit) + String(repeating: "]", count: limit)).utf8) != nil)
        #expect(
            JSONText((String(repeating: "[", count: limit + 1) + String(repeating: "]", count: limit + 1)).utf8) == nil
        )
        #expect(JSONText(String(repeating: "[", count: 1_000_000).utf8) == nil)
    }

    @Test func parts() throws {
        let value = try #require(JSONText(#"["join", {"room":"r\"1","n":-7,"x":[1, 2.50]}, "\ud83d\ude00"]"#.utf8))
        let elements = try #require(value.elements)
        #expect(elements.map(\.text) == [#""join""#, #"{"room":"r\"1","n":-7,"x":[1, 2.50]}"#, #""\ud83d\ude00""#])
        #expect(elements[0].string == "join")
        #expect(elements[1]["room"]?.string == "r\"1")
        #expect(elements[1]["n"]?.integer == -7)
        #expect(elements[1]["x"]?.text == "[1, 2.50]")
        #expect(elements[2].string == "😀")
        #expect(elements[0].elements == nil && elements[0].members == nil && value.string == nil)
        #expect(JSONText(#""\ud83d""#.utf8)?.string == nil)
    }

    @Test(arguments: ["", "plain", "\"\\/\u{0}\u{1F}\n", "é😀\u{2028}"]) func stringsComeBack(string: String) throws {
        let text = JSONText(string: string)
        #expect(text.string == string)
        #expect(JSONText(text.bytes) == text)
        let other = try JSONDecoder().decode(String.self, from: Data(text.bytes))
        #expect(other == string)
    }

    @Test(arguments: [
        #""\b\f\n\r\t\/\\\"""#, #""a\u00e9b\ud83d\ude00c""#, #""é\\u0041""#, #""\ud83d-\ude00""#, #""\udc00\ud800""#,
    ])
    func escapesAreReadAsByAnotherReader(text: String) {
        #expect(JSONText(text.utf8)?.string == (try? JSONDecoder().decode(String.self, from: Data(text.utf8))))
    }

    /// Any text is taken if, and only if, another reader takes it; but for commas before an end, which that reader takes, and
    /// `0e5`, which it does not.
    @Test func agreesWithAnotherReader() {
        var random = SplitMix(seed: 5)
        let seeds = [#"{"a":[1,-2.5e3,true,null],"b":{"c":"x\u0041\n"}}"#, #"[["message","r",{"sdp":"v=0\r\n"}],0.5]"#]
        for _ in 0..<20_000 {
            var text = Array(seeds.randomElement(using: &random)!.utf8)
            for _ in 0..<Int.random(in: 0...3, using: &random) {
                let place = Int.random(in: 0..<text.count, using: &random)
                switch Int.random(in: 0..<3, using: &random) {
                case 0: text[place] = Array(#"{}[]",:\0123456789eE+-.tfn u"#.utf8).randomElement(using: &random)!
                case 1: text.remove(at: place)
                default: text.insert(Array(#"{}[]",:\0e "#.utf8).randomElement(using: &random)!, at: place)
                }
                if text.isEmpty { text = [0x20] }
            }
            let solid = String(decoding: text.filter { $0 != 0x20 }, as: UTF8.self)
            if [",]", ",}", "0e"].contains(where: solid.contains) { continue }
            let other = try? JSONDecoder().decode(AnyValue.self, from: Data(text))
            #expect((JSONText(text) != nil) == (other != nil), "\(String(decoding: text, as: UTF8.self))")
        }
    }
}

/// Whatever JSON holds.
private struct AnyValue: Decodable {
    private struct Name: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init?(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    init(from decoder: any Decoder) throws {
        if let members = try? decoder.container(keyedBy: Name.self) {
            for name in members.allKeys { _ = try members.decode(AnyValue.self, forKey: name) }
        } else if var elements = try? decoder.unkeyedContainer() {
            while !elements.isAtEnd { _ = try elements.decode(AnyValue.self) }
        } else {
            let value = try decoder.singleValueContainer()
            if value.decodeNil() || (try? value.decode(Bool.self)) != nil || (try? value.decode(String.self)) != nil {
                return
            }
            _ = try value.decode(Double.self)
        }
    }
}

extension String {
    fileprivate var trimmingSpaces: String { String(drop { $0 == " " }.reversed().drop { $0 == " " }.reversed()) }
}
