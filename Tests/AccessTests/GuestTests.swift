import Testing

@testable import Access

@Suite struct GuestTests {
    private static let digest = String(repeating: "0a", count: 32)

    @Test func onlyADigestIsAKey() {
        #expect(GuestKey(rawValue: Self.digest)?.description == Self.digest)
        let others = [
            "", "a", String(Self.digest.dropLast()), Self.digest + "0", Self.digest.uppercased(),
            "g" + Self.digest.dropFirst(), "é" + Self.digest.dropFirst(2), Self.digest.dropLast() + "\n",
        ]
        for text in others { #expect(GuestKey(rawValue: text) == nil, "\(text)") }
    }

    @Test func ofTwoWithOneKeyTheFirstCounts() {
        var guests = Guests([("Ann", 1), ("Bob", 1), ("Cid", 2)].map { Guest(key: .test($1), name: $0) })
        #expect(guests[.test(1)]?.name == "Ann" && guests[.test(2)]?.name == "Cid" && guests[nil] == nil)
        // Whoever is let in anew is the same one by another name, and is named first.
        guests.letIn(Guest(key: .test(2), name: "Dan"))
        let removed = guests.remove { _ in true }
        #expect(removed.map(\.name) == ["Dan", "Ann"])
        #expect(guests[.test(1)] == nil && guests.remove { _ in true }.isEmpty)
    }
}
