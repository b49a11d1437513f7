import HTTP
import TestSupport
import Testing

@Suite struct WebURLTests {
    /// RFC 3986 §5.4, as far as its references lead to a web server.
    @Test(arguments: [
        ("g", "/b/c/g"), ("./g", "/b/c/g"), ("g/", "/b/c/g/"), ("/g", "/g"), ("?y", "/b/c/d;p?y"), ("g?y", "/b/c/g?y"),
        ("#s", "/b/c/d;p?q"), ("g#s", "/b/c/g"), ("g?y#s", "/b/c/g?y"), (";x", "/b/c/;x"), ("g;x", "/b/c/g;x"),
        ("", "/b/c/d;p?q"), (".", "/b/c/"), ("./", "/b/c/"), ("..", "/b/"), ("../", "/b/"), ("../g", "/b/g"),
        ("../..", "/"), ("../../", "/"), ("../../g", "/g"), ("../../../g", "/g"), ("../../../../g", "/g"),
        ("/./g", "/g"), ("/../g", "/g"), ("g.", "/b/c/g."), (".g", "/b/c/.g"), ("g..", "/b/c/g.."), ("..g", "/b/c/..g"),
        ("./../g", "/b/g"), ("./g/.", "/b/c/g/"), ("g/./h", "/b/c/g/h"), ("g/../h", "/b/c/h"),
        ("g;x=1/./y", "/b/c/g;x=1/y"), ("g;x=1/../y", "/b/c/y"), ("g?y/./x", "/b/c/g?y/./x"),
        ("g?y/../x", "/b/c/g?y/../x"),
    ])
    func referencesAreResolved(reference: String, target: String) throws {
        let base = try #require(WebURL(parsing: "http://a/b/c/d;p?q"))
        #expect(base.resolving(reference)?.description == "http://a:80\(target)")
    }

    @Test func referencesMayNameAnotherServer() throws {
        let base = try #require(WebURL(parsing: "https://a/b"))
        #expect(base.resolving("//g")?.description == "https://g:443/")
        #expect(base.resolving("http://g:8080/x?y")?.description == "http://g:8080/x?y")
        for reference in [
            "ftp://g/", "g:h", "javascript:alert(1)", "http:g", "a b", "a\r\nHost: b", "\\\\g", "//", "http:///x",
        ] {
            #expect(base.resolving(reference) == nil, "\(reference)")
        }
    }

    @Test func whatIsNoAddressIsNone() {
        for text in [
            "", "a", "http://", "http:///x", "ftp://a", "http://a b/", "http://a/b c", "http://a:x/", "http://u@a/",
        ] {
            #expect(WebURL(parsing: text) == nil, "\(text)")
        }
        #expect(WebURL(parsing: "http://A")?.description == "http://a:80/")
        #expect(WebURL(parsing: "http://a?b")?.target == "/?b")
    }

    @Test(arguments: 0..<200) func anyReferenceLeadsSomewhereOrNowhere(seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        let base = try #require(WebURL(parsing: "http://a/b/c?d"))
        for _ in 0..<100 {
            let alphabet = Array("./?#:;a%20\\ \r@[]")
            let count = Int.random(in: 0...12, using: &random)
            let reference = String((0..<count).map { _ in alphabet.randomElement(using: &random)! })
            guard let url = base.resolving(reference) else { continue }
            #expect(url.target.hasPrefix("/"))
            #expect(!url.target.contains(where: { $0.isWhitespace || $0 == "#" }))
            #expect(WebURL(parsing: url.description) == url)
        }
    }
}

extension WebURLTests {
    @Test(arguments: [
        ("https://h/whip/endpoint", "https://h:443/whip…"), ("https://h/whip", "https://h:443/whip"),
        ("http://h/", "http://h:80/"), ("https://h/?token=secret", "https://h:443/…"),
        ("https://h/0123456789abcdef?k=v", "https://h:443/0123…"),
    ])
    func aSummaryKeepsSecrets(text: String, summary: String) { #expect(WebURL(parsing: text)?.summary == summary) }
}
