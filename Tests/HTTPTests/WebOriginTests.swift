import HTTP
import Testing

@Suite struct WebOriginTests {
    @Test(arguments: [
        ("https://a.example", "https://a.example:443"), ("HTTP://A.example:8080/", "http://a.example:8080"),
        ("http://[2001:DB8::1]", "http://[2001:db8::1]:80"), ("http://192.0.2.1:80", "http://192.0.2.1:80"),
    ])
    func anOriginIsASchemeAHostAndAPort(text: String, normal: String) throws {
        let origin = try #require(WebOrigin(parsing: text))
        #expect("\(origin)" == normal)
        #expect(WebOrigin(parsing: normal) == origin)
    }

    @Test(arguments: [
        "", "*", "null", "a.example", "https://", "https://a.example/path", "ftp://a.example", "https://a b",
        "https://a.example:0x50", "https://user@a.example", "https://a.example?x",
    ])
    func whatIsNoOriginIsNotTaken(text: String) { #expect(WebOrigin(parsing: text) == nil) }
}
