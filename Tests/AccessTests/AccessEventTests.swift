import Testing
import Time

@testable import Access

@Suite struct AccessEventTests {
    /// To the letter: they are in people's scripts.
    @Test func sentencesStay() {
        func knock(_ name: String, _ note: String) -> Knock {
            Knock(number: 7, since: .start, knocker: Knocker(name: name, note: note, key: nil, address: "::1"))
        }
        let ann = knock("Ann", "the demo")
        let told: [(AccessEvent, String)] = [
            (
                .knocked(ann),
                "\"Ann\" from ::1 (\"the demo\") asks to look in: \"oriel accept 7\" or \"oriel reject 7\""
            ),
            (.knocked(knock("", "")), "somebody from ::1 asks to look in: \"oriel accept 7\" or \"oriel reject 7\""),
            (.answered(ann, .accepted), "\"Ann\" from ::1 (\"the demo\") is let in"),
            (.answered(ann, .rejected), "\"Ann\" from ::1 (\"the demo\") is not let in"),
            (.answered(ann, .noAnswer), "\"Ann\" from ::1 (\"the demo\") got no answer"),
            (.answered(ann, .cancelled), "\"Ann\" from ::1 (\"the demo\") waits no more"),
            (
                .turnedAway(address: "room tea", call: "web"),
                "somebody from room tea was turned away: too many wait for an answer"
            ),
        ]
        for (event, sentence) in told { #expect(event.sentence == sentence) }
    }
}
