import JSON
import Media
import TestSupport
import Testing

@testable import Control

@Suite struct ViewerCommandTests {
    /// The lines of the documents, and the ends of the ranges.
    @Test(
        arguments: [
            (#"{"viewport":[0,0,64,36]}"#, .viewport(Viewport([0, 0, 64, 36]))),
            (#"{"viewport":null}"#, .viewport(nil)),
            (#"{"legibility":"auto"}"#, .legibility(.auto)), (#"{"source":"next"}"#, .source("next")),
            (#"{"highlight":[1,2,3,4]}"#, .highlight(Highlight([1, 2, 3, 4, 1500])!)),
            (#"{"highlight":[0,0,1,1,100]}"#, .highlight(Highlight([0, 0, 1, 1, 100])!)),
            (
                #"{"highlight":[65535,65535,65535,65535,10000]}"#,
                .highlight(Highlight([65535, 65535, 65535, 65535, 10_000])!)
            ),
            (#"{"chime":{"play":1}}"#, .chime(.play(1))), (#"{"chime":{"play":255}}"#, .chime(.play(255))),
            (#"{"chime":{"select":0}}"#, .chime(.select(nil))), (#"{"chime":{"select":7}}"#, .chime(.select(7))),
            (#"{"status_frame":"low"}"#, .statusFrame(.low)), (#"{"message":"שלום"}"#, .message(MessageText("שלום")!)),
            (#"{"service":{"text":"lullaby"}}"#, .service(ServiceMessage("lullaby", [:])!)),
            (
                #"{"service":{"text":"a.b_c-1","parameters":{"snake_case":"","x":"-1 2"}}}"#,
                .service(ServiceMessage("a.b_c-1", ["snake_case": "", "x": "-1 2"])!)
            ),
        ] as [(String, ViewerCommand)]
    )
    func isAnObjectWithOneKey(line: String, command: ViewerCommand) throws {
        let read = try ViewerCommand(jsonLine: line)
        #expect(read == command)
        #expect(try ViewerCommand(jsonLine: command.jsonLine()) == command)
        #expect(line.hasPrefix("{\"\(command.kind.rawValue)\""))
    }

    @Test(arguments: [
        "{}", #"{"legibility":"dark"}"#, #"{"legibility":null}"#, #"{"source":""}"#, #"{"source":null}"#,
        #"{"highlight":[1,2,3]}"#, #"{"highlight":[1,2,3,4,99]}"#, #"{"highlight":[1,2,3,4,10001]}"#,
        #"{"highlight":[1,2,3,4,1500,1]}"#, #"{"highlight":[-1,2,3,4]}"#, #"{"highlight":[1,2,0,4]}"#,
        #"{"highlight":[1,2,3,0]}"#, #"{"highlight":[65536,2,3,4]}"#, #"{"highlight":null}"#, #"{"message":""}"#,
        #"{"message":"   "}"#, #"{"message":"a\nb"}"#, #"{"message":"\u001b[2J"}"#, #"{"message":"\u009b2J"}"#,
        #"{"message":"\u202ex"}"#, #"{"message":"\u2028x"}"#, #"{"message":7}"#, #"{"status_frame":"bright"}"#,
        #"{"chime":{}}"#, #"{"chime":{"play":0}}"#, #"{"chime":{"play":256}}"#,
        #"{"chime":{"play":1,"select":1}}"#,
        #"{"chime":{"select":-1}}"#, #"{"chime":3}"#, #"{"chime":{"play":"bell"}}"#, #"{"service":{}}"#,
        #"{"service":{"text":"message"}}"#, #"{"service":{"text":""}}"#,
        #"{"service":{"text":"-x"}}"#, #"{"service":{"text":"a b"}}"#,
        #"{"service":{"text":"a","parameters":{"-x":"1"}}}"#, #"{"service":{"text":"a","parameters":{"x":"a\u0000"}}}"#,
        #"{"service":{"text":"a","parameters":{"x":1}}}"#, #"{"viewport":null,"legibility":"on"}"#,
        #"{"message":"a","service":{"text":"b"}}"#, #"{"command":{"message":"a"}}"#,
    ]) func othersAreNone(line: String) {
        #expect(throws: (any Error).self) { try ViewerCommand(jsonLine: line) }
    }

    /// As people count characters, whatever these are made of.
    @Test(arguments: ["a", "ü", "字", "👩‍👩‍👧‍👦", "e\u{301}"]) func textHasFiveHundredCharacters(character: String) {
        let most = min(500, 2000 / character.utf8.count)
        #expect(MessageText(String(repeating: character, count: most)) != nil)
        #expect(MessageText(String(repeating: character, count: 501)) == nil)
        #expect(MessageText(String(repeating: character, count: 100_000)) == nil)
    }

    @Test func aMessageHasSixteenParameters() {
        func parameters(_ count: Int) -> [String: String] {
            Dictionary(uniqueKeysWithValues: (0..<count).map { ("p\($0)", "v") })
        }
        #expect(ServiceMessage("a", parameters(16)) != nil && ServiceMessage("a", parameters(17)) == nil)
        let longest = String(repeating: "a", count: 48)
        #expect(ServiceMessage(longest, [longest: ""]) != nil)
        #expect(ServiceMessage(longest + "a", [:]) == nil && ServiceMessage("a", [longest + "a": ""]) == nil)
    }

    /// Whatever it is, it is a command or an error.
    @Test func damagedCommandsAreSurvived() {
        var random = SplitMix(seed: 40)
        let lines = [
            #"{"viewport":[0,10,640,370]}"#, #"{"highlight":[1,2,3,4,1500]}"#, #"{"message":"héllo"}"#,
            #"{"service":{"text":"a","parameters":{"b":"c"}}}"#, #"{"status_frame":"auto"}"#, #"{"source":"next"}"#,
        ]
        for _ in 0..<5000 {
            var bytes = Array(lines.randomElement(using: &random)!.utf8)
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let place = Int.random(in: bytes.indices, using: &random)
                switch Int.random(in: 0..<3, using: &random) {
                case 0: bytes[place] = UInt8.random(in: 0...255, using: &random)
                case 1: bytes.insert(bytes[place], at: place)
                default: if bytes.count > 1 { bytes.remove(at: place) }
                }
            }
            guard let command = try? ViewerCommand(jsonLine: String(decoding: bytes, as: UTF8.self)) else { continue }
            #expect((try? ViewerCommand(jsonLine: command.jsonLine())) == command)
        }
    }
}
