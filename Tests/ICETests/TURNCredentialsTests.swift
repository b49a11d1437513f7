import Testing

@testable import ICE

@Suite struct TURNCredentialsTests {
    /// `printf 1433895918:oriel | openssl dgst -sha1 -hmac SECRET -binary | base64`.
    @Test(arguments: [
        ("north", "R8MmMY52znOG9GtjEUhyCeyV+ms="),
        ("a longer secret, with ümlauts and more than sixty-four bytes of text in it", "HyTzEJhCjsPzuvR/SEf01XF2L74="),
    ])
    func aSecretMakesLogins(text: String, password: String) {
        let secret = TURNSecret("another")
        let credentials = TURNCredentials.secret(secret, lifetime: .seconds(86_400))
        #expect(credentials.current(at: 1_433_809_518).password != password)
        secret.renew(text)
        let (username, made) = credentials.current(at: 1_433_809_518)
        #expect(username == "1433895918:oriel")
        #expect(made == password)
    }

    @Test func aPasswordIsAsItIs() {
        let (username, password) = TURNCredentials.password(username: "u", password: "p").current()
        #expect(username == "u" && password == "p")
    }
}
