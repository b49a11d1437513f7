import HTTP
import Testing

@Suite struct ListenAddressTests {
    @Test(
        arguments: [
            ("8080", nil, 8080, "port 8080"), ("0", nil, 0, "port 0"), ("65535", nil, 65535, "port 65535"),
            ("*:80", nil, 80, "port 80"), ("127.0.0.1:8080", "127.0.0.1", 8080, "127.0.0.1:8080"),
            ("localhost:1", "localhost", 1, "localhost:1"), ("[::1]:8080", "::1", 8080, "[::1]:8080"),
            ("[fe80::1%eth0]:2", "fe80::1%eth0", 2, "[fe80::1%eth0]:2"), ("[::]:3", "::", 3, "[::]:3"),
        ] as [(String, String?, UInt16, String)]
    )
    func reads(text: String, host: String?, port: UInt16, description: String) throws {
        let address = try #require(ListenAddress(parsing: text))
        #expect(address == ListenAddress(host: host, port: port))
        #expect("\(address)" == description)
    }

    @Test(arguments: [
        "", ":", ":80", "host", "host:", "host:x", "host:65536", "host:-1", "+80", "host:+80", "-0", "::1:80", "[]:80",
        "a:b:80", "127.0.0.1:80 ", " 80", "80 ", "[::1]", "[::1]80", "host:٣",
    ])
    func refuses(text: String) {
        #expect(ListenAddress(parsing: text) == nil)
    }
}
