import TestSupport
import Testing
import Time

@testable import Access

@Suite struct TokenGuardTests {
    private let start = Instant.seconds(1000)

    private func bearer(_ token: String) -> String { "Bearer \(token)" }

    @Test func withoutATokenEverybodyIsLetIn() {
        var access = TokenGuard(token: nil)
        for authorization in [nil, "Bearer x", "nonsense"] {
            let decision = access.check(authorization, from: "192.0.2.1", now: start)
            #expect(decision == .allowed)
        }
    }

    @Test(arguments: [
        ("Bearer secret", true), ("bearer secret", true), ("BEARER secret", true), ("Bearer  secret", false),
        ("Bearer secret ", false), ("Bearer Secret", false), ("Bearer secre", false), ("Bearer secrets", false),
        ("Bearer secretsecret", false), ("Bearer ", false), ("Bearer", false), ("secret", false), ("", false),
        ("Basic secret", false), ("Bearer 🔑", false),
    ])
    func onlyTheWholeTokenIsRight(authorization: String, isRight: Bool) {
        var access = TokenGuard(token: "secret")
        let decision = access.check(authorization, from: "192.0.2.1", now: start)
        #expect(decision == (isRight ? .allowed : .wrongToken))
    }

    /// However long after the link was opened, and whatever others tried meanwhile.
    @Test func aTokenStaysRight() {
        var access = TokenGuard(token: "secret")
        for hours in [0, 1, 12, 24, 24 * 365] {
            let now = start + .seconds(hours * 3600)
            for _ in 0..<20 { _ = access.check(bearer("wrong"), from: "192.0.2.1", now: now) }
            let decision = access.check(bearer("secret"), from: "192.0.2.1", now: now)
            #expect(decision == .allowed, "\(hours)")
        }
    }

    @Test func anEmptyTokenLetsNobodyIn() {
        var access = TokenGuard(token: "")
        for authorization in ["Bearer ", "Bearer x", "Bearer"] {
            let decision = access.check(authorization, from: "192.0.2.1", now: start)
            #expect(decision == .wrongToken)
        }
    }

    @Test func whoGuessesTooOftenIsToldToStopUntilForgiven() {
        var access = TokenGuard(token: "secret")
        func check(_ token: String, _ now: Instant, from address: String = "192.0.2.1") -> TokenGuard.Decision {
            access.check(bearer(token), from: address, now: now)
        }
        for _ in 0..<10 { #expect(check("guess", start) == .wrongToken) }
        #expect(check("guess", start) == .tooManyWrong(retryAfter: 7))
        #expect(check("guess", start + .seconds(1)) == .tooManyWrong(retryAfter: 6))
        #expect(check("secret", start + .seconds(1)) == .allowed, "others behind the address do not matter")
        #expect(check("guess", start, from: "192.0.2.2") == .wrongToken, "another address")
        #expect(check("guess", start + .seconds(6) - .nanoseconds(1)) == .tooManyWrong(retryAfter: 1))
        // Those above the limit do not count.
        #expect(check("guess", start + .seconds(6)) == .wrongToken)
        #expect(check("guess", start + .seconds(6)) == .tooManyWrong(retryAfter: 7))
        let later = start + .seconds(66)
        for _ in 0..<10 { #expect(check("guess", later) == .wrongToken) }
        #expect(check("guess", later) == .tooManyWrong(retryAfter: 7))
        #expect(check("guess", start) == .tooManyWrong(retryAfter: 73), "a clock that jumps back")
    }

    /// For an hour, a thousand guesses a second from the address that the viewer has too.
    @Test func aGuesserLocksNobodyOutAndIsToldLittle() {
        var access = TokenGuard(token: "secret")
        var told = 0
        for tick in 0..<360_000 {
            let now = start + .milliseconds(10 * tick)
            if access.check("Bearer guess", from: "192.0.2.1", now: now) == .wrongToken { told += 1 }
            if tick % 100 == 0 {
                let decision = access.check("Bearer secret", from: "192.0.2.1", now: now)
                #expect(decision == .allowed)
            }
        }
        #expect(told <= 10 + 600)
    }

    @Test func whoSendsNothingHasNotGuessed() {
        var access = TokenGuard(token: "secret")
        for _ in 0..<100 {
            let decision = access.check(nil, from: "192.0.2.1", now: start)
            #expect(decision == .wrongToken)
        }
        #expect(access.failures.uses.count == 0)
    }

    @Test(arguments: [
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::9", true), ("2001:db8:1:2::1", "2001:db8:1:3::1", false),
        ("2001:db8::1", "2001:db8::ffff:1", true), ("2001:db8::1", "2001:db9::1", false),
        ("fe80::1%eth0", "fe80::2%eth1", true), ("2001:db8:0:1::1", "2001:db8::1", false),
        ("192.0.2.1", "192.0.2.2", false), ("::1", "2001:db8::1", false),
        // However it is written, and wherever its zeros are left out.
        ("2001:db8:1::1", "2001:db8:1:0:a:b:c:d", true), ("2001::5:1:2:3:4", "2001::6:1:2:3:4", false),
        ("2001::5:1:2:3:4", "2001:0:0:5::1", true), ("2001:DB8::1", "2001:db8::2", true),
        ("::1:2:3:4:5", "0:0:0:1::", true), ("1::1", "10::1", false), ("0:11::1", "1:1::1", false),
        ("::ffff:192.0.2.1", "192.0.2.1", true), ("::ffff:192.0.2.1", "::ffff:192.0.2.2", false),
        ("::ffff:192.0.2.1", "::1", false),
    ])
    func aNetworkOfIPv6CountsAsOneAddress(first: String, second: String, isOne: Bool) {
        var access = TokenGuard(token: "secret")
        for _ in 0..<10 { _ = access.check(bearer("guess"), from: first, now: start) }
        let decision = access.check(bearer("guess"), from: second, now: start)
        #expect((decision != .wrongToken) == isOne)
    }

    /// Forged addresses push out the oldest ones, and the newest guesser stays known.
    @Test func manyAddressesDoNotPileUp() {
        var access = TokenGuard(token: "secret")
        for number in 0..<NetworkAllowance.networkLimit + 200 {
            _ = access.check(bearer("guess"), from: "address \(number)", now: start + .nanoseconds(number))
        }
        for _ in 0..<10 { _ = access.check(bearer("guess"), from: "newest", now: start + .nanoseconds(10_000)) }
        let decision = access.check(bearer("guess"), from: "newest", now: start + .nanoseconds(10_000))
        #expect(decision == .tooManyWrong(retryAfter: 7))
        #expect(access.failures.uses.count == NetworkAllowance.networkLimit)
    }

    /// Against the plain comparison.
    @Test func comparisonIsThatOfTheBytes() {
        let words = ["", "a", "b", "aa", "ab", "ba", "aaa", "secret", "secrey", "tecret"].map { Array($0.utf8) }
        for given in words {
            for token in words where !token.isEmpty { #expect(TokenGuard.isEqual(given, token) == (given == token)) }
            #expect(!TokenGuard.isEqual(given, []))
        }
    }
}
