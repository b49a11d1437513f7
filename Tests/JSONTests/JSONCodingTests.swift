import JSON
import Testing

@Suite struct JSONCodingTests {
    private struct Reading: Codable, Equatable {
        enum Place: Codable, Equatable {
            case nowhere
            case room(doorNumber: Int)
        }

        var roundTripMs: Double?
        var filePath = "/tmp/a"
        var isOn = true
        var place = Place.nowhere
    }

    @Test func aLineHasItsKeysInSnakeCaseAndInOrder() throws {
        #expect(try Reading().jsonLine() == #"{"file_path":"/tmp/a","is_on":true,"place":{"nowhere":{}}}"#)
        #expect(
            try Reading(roundTripMs: 0.25, place: .room(doorNumber: 7)).jsonLine()
                == #"{"file_path":"/tmp/a","is_on":true,"place":{"room":{"door_number":7}},"round_trip_ms":0.25}"#
        )
    }

    /// Names that others chose, such as those of figures, stay what they are.
    @Test func keysOfADictionaryStay() throws {
        #expect(try ["time_s": 1, "aName": 2].jsonLine() == #"{"aName":2,"time_s":1}"#)
    }

    @Test func whatIsWrittenIsReadAgain() throws {
        for reading in [Reading(), Reading(roundTripMs: 1.5, isOn: false, place: .room(doorNumber: -1))] {
            #expect(try Reading(jsonLine: reading.jsonLine()) == reading)
        }
    }

    @Test(arguments: ["", "{}", "[1]", #"{"file_path":1,"is_on":true,"place":{"nowhere":{}}}"#, #"{"file_path":"#])
    func anotherTextIsRefused(line: String) {
        #expect(throws: DecodingError.self) { try Reading(jsonLine: line) }
    }

    @Test func aNumberThatIsNotFiniteIsRefused() {
        #expect(throws: EncodingError.self) { try [Double.nan].jsonLine() }
        #expect(throws: EncodingError.self) { try [Double.infinity].jsonLine() }
    }

    /// Escape sequences, ends of lines (also Unicode's), and changes of the direction of writing.
    @Test(arguments: ["\u{1B}[2J", "\u{7F}", "\u{9B}2J", "\n", "\u{2028}", "\u{202E}"])
    func aTerminalObeysNothingOfALine(character: String) throws {
        let title = ["a\(character)b"]
        let line = try title.printableJSONLine()
        #expect(line.spellingOutControls() == line)
        #expect(try [String](jsonLine: line) == title)
    }

    @Test func controlsAreSpeltOut() {
        #expect("a\u{1B}[31mb\tc".spellingOutControls() == "a\\u{1B}[31mb\\u{9}c")
        #expect("a\nb\rc".spellingOutControls(except: "\n") == "a\nb\\u{D}c")
        #expect("é😀".spellingOutControls() == "é😀")
    }
}
