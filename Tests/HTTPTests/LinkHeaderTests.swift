import HTTP
import TestSupport
import Testing

@Suite struct LinkHeaderTests {
    private func links(_ fields: String...) -> [String] { LinkHeader.links(in: fields).map(\.text) }

    /// RFC 8288 §3.5, and RFC 9725 §4.6.
    @Test func theExamplesOfTheRFCsAreRead() {
        let title = "<http://example.com/TheBook/chapter2>; rel=\"previous\"; title=\"previous chapter\""
        #expect(links(title) == [title])
        #expect(links("</>; rel=\"http://example.net/foo\"") == ["</>; rel=\"http://example.net/foo\""])
        #expect(
            links("</TheBook/chapter2>; rel=\"previous\"; title*=UTF-8'de'letztes%20Kapitel, </a,b;c>; rel=\"next\"")
                == [
                    "</TheBook/chapter2>; rel=\"previous\"; title*=\"UTF-8'de'letztes%20Kapitel\"",
                    "</a,b;c>; rel=\"next\"",
                ]
        )
        let relay =
            "<turn:turn.example.net?transport=udp>; rel=\"ice-server\"; username=\"user\"; credential=\"myPassword\"; "
            + "credential-type=\"password\""
        #expect(
            links("<stun:stun.example.net>; rel=\"ice-server\"", relay) == [
                "<stun:stun.example.net>; rel=\"ice-server\"", relay,
            ]
        )
    }

    @Test(
        arguments: [
            // White space, cases, no quotes, escapes, what a quoted string may hold.
            ("<a>;rel=x", "<a>; rel=\"x\""), ("\t<a> ;\tREL = x ", "<a>; rel=\"x\""), ("<a>;rel", "<a>; rel=\"\""),
            ("<a>; c=\"p\\\"q\\\\r,;>\"", "<a>; c=\"p\\\"q\\\\r,;>\""), ("<a>; c=\"\"", "<a>; c=\"\""),
            ("<a>; c=\"é\"", "<a>; c=\"é\""), ("<a>;;rel=x", "<a>; rel=\"x\""), ("<a>; =x; rel=y", "<a>; rel=\"y\""),
            // Without brackets, and with something behind.
            ("turn:h; rel=ice-server", "<turn:h>; rel=\"ice-server\""), ("<a> b; rel=x", "<a>"),
            // Damaged: what is whole counts.
            ("<a>; c=\"open", "<a>; c=\"open\""), ("<a>; c=\"open\\", "<a>; c=\"open\\\\\""),
            ("<>; rel=x", nil), ("<a", nil), ("", nil), (",,", nil), (";rel=x", nil), (">; rel=x", nil),
        ] as [(String, String?)]
    )
    func fieldsAreReadTolerantly(field: String, link: String?) { #expect(links(field) == (link.map { [$0] } ?? [])) }

    @Test func theFirstParameterOfANameCounts() throws {
        let link = try #require(LinkHeader.links(in: ["<a>; rel=\"x ICE-server\"; rel=y; n=1; N=2"]).first)
        #expect(link["n"] == "1" && link["m"] == nil)
        #expect(link.hasRelation("ice-server") && link.hasRelation("x") && !link.hasRelation("y"))
    }

    @Test func thereAreLimits() {
        #expect(LinkHeader.links(in: Array(repeating: "<a>,<b>", count: 1000)).count == LinkHeader.mostLinks)
        #expect(LinkHeader.links(in: [String(repeating: "<a>,", count: 1000)]).count == LinkHeader.mostLinks)
        let many = LinkHeader.links(in: ["<a>" + String(repeating: ";n=1", count: 1000)])
        #expect(many.map(\.parameters.count) == [LinkHeader.mostParameters])
        let long = LinkHeader.links(in: ["<a>; n=\"" + String(repeating: "x", count: 1_000_000) + "\", <b>"])
        #expect(long.count == 1 && (long[0]["n"]?.utf8.count ?? 0) < LinkHeader.longestField)
    }

    /// Whatever stands there, what is read reads back the same.
    @Test(arguments: 0..<50) func damagedFieldsAreBorne(seed: UInt64) {
        var random = SplitMix(seed: seed)
        let tokens = ["<", ">", ";", ",", "\"", "\\", "=", " ", "\t", "rel", "\r\n", "\0", "é", "turn:", "<a>;b=\"c\""]
        for _ in 0..<200 {
            var bytes = Array(
                "<turn:h:3478?transport=udp>; rel=\"ice-server\"; username=\"u\\\"\"; credential=p, <b>; c".utf8
            )
            bytes.damage(tokens.map { Array($0.utf8) }, using: &random)
            for link in LinkHeader.links(in: [String(decoding: bytes, as: UTF8.self)]) {
                #expect(LinkHeader.links(in: [link.text]) == [link], "\(link)")
            }
        }
    }
}

extension LinkHeader {
    /// The form that is parsed.
    fileprivate var text: String {
        parameters.reduce("<\(target)>") { text, parameter in
            let value = parameter.value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
            return "\(text); \(parameter.name)=\"\(value)\""
        }
    }
}
