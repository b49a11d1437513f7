import FoundationEssentials
import Media
import TestSupport
import Testing

@Suite struct ParticipantIDTests {
    /// Programs read it so in the status and in events.
    @Test(arguments: [-1, 0, 7, 701, .max])
    func itIsANumberForPrograms(number: Int) throws {
        let text = try JSONEncoder().encode([ParticipantID(number)])
        #expect(String(decoding: text, as: UTF8.self) == "[\(number)]")
        #expect(try JSONDecoder().decode([ParticipantID].self, from: text) == [ParticipantID(number)])
    }

    @Test(arguments: [#"["1"]"#, "[1.5]", "[null]", "[[1]]"])
    func nothingElseIsOne(text: String) {
        #expect(throws: DecodingError.self) { try JSONDecoder().decode([ParticipantID].self, from: Data(text.utf8)) }
    }
}
