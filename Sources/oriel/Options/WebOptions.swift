import ArgumentParser
import Calls
import Configuration
import Credentials
import Glibc
import HTTP
import ICE
import Posix

struct WebOptions: ParsableArguments {
    @OptionGroup var server: ServerOptions

    @Option(
        help: ArgumentHelp(
            "The secret in the link, 20 characters or more; a fresh random one if not given. \"none\" lets everybody in, by the "
                + "machine's addresses, localhost, and the names given to --listen and --allow-origin. "
                + "ORIEL_TOKEN in the environment sets it without showing it in the list of processes.",
            valueName: "value"
        )
    )
    var token: String?

    @Option(
        help: ArgumentHelp(
            "An origin whose pages may use the broadcast too if there is no token; may be given again. With a token, every "
                + "page that knows it may.",
            valueName: "origin"
        ),
        transform: { try WebOrigin(spelling: $0) }
    )
    var allowOrigin: [WebOrigin] = []

    @OptionGroup var iceServers: ICEServerOptions

    @Flag(
        help: "Send media through the TURN servers only, so that peers do not learn this machine's addresses from it."
    )
    var relayOnly = false

    @Option(
        help: ArgumentHelp(
            "A certificate to trust beside those of the system, as PEM: of an authority, or a self-signed one.",
            valueName: "file"
        )
    )
    var trust: String?

    @Option(
        help: ArgumentHelp("UDP ports for the media, one a viewer; any if not given.", valueName: "min-max"),
        transform: parsePorts
    )
    var ports: ClosedRange<UInt16>?

    @Option(help: "Viewers at most, 1 to 1000.")
    var maxViewers = WebCallSettings().maxViewers

    func validate() throws {
        try require("--max-viewers", maxViewers, in: 1...1000)
        guard let token = token ?? Secret.Variable.token.text else { return }
        guard !token.isEmpty, Set((Self.alphabet + ".~").utf8).isSuperset(of: token.utf8) else {
            throw ValidationError("a token takes letters, digits, and - . _ ~ only: give another --token.")
        }
        if token != "none", Self.canBeGuessed(token) {
            throw ValidationError(
                "a token that is this short or this regular can be guessed: give 20 random characters or more, "
                    + "such as --token \(Self.randomToken())"
            )
        }
    }

    /// Wrong guesses are not held against the right token: whoever shares a viewer's address would lock that viewer out. So
    /// a token must withstand guessing at full speed: a hundred thousand guesses a second for a year are 2⁴². 20 random
    /// characters have 120 bits, four words of a list of 7776 have 51.
    private static func canBeGuessed(_ token: String) -> Bool { token.utf8.count < 20 || Set(token.utf8).count < 8 }

    /// Throws a sentence for options that do not suit the environment. A token that is not given is another one each time.
    var settings: WebCallSettings {
        get throws(ValidationError) {
            var settings = WebCallSettings()
            settings.server = server.settings
            settings.iceServers = try iceServers.settings
            if relayOnly, settings.iceServers.turn.isEmpty {
                throw ValidationError("--relay-only needs a relay: give --turn.")
            }
            let token = token ?? Secret.Variable.token.text ?? Self.randomToken()
            settings.token = token == "none" ? nil : .given(text: token)
            (settings.origins, settings.trust, settings.ports) = (allowOrigin, trust, ports)
            (settings.relayOnly, settings.maxViewers) = (relayOnly, maxViewers)
            return settings
        }
    }

    /// 64 characters that the fragment of a URL can hold as they stand.
    private static let alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

    /// 132 random bits.
    static func randomToken() -> String { String((0..<22).map { _ in alphabet.randomElement()! }) }
}

private func parsePorts(_ text: String) throws(ValidationError) -> ClosedRange<UInt16> {
    let ends = text.split(separator: "-", omittingEmptySubsequences: false).map { UInt16($0) }
    guard ends.count == 2, let first = ends[0], let last = ends[1], 1 <= first, first <= last else {
        throw ValidationError("give the first and the last port, such as 50000-50100")
    }
    return first...last
}
