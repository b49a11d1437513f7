import Configuration
import Credentials
import Glibc

extension Secret {
    /// Variables of the environment that secrets may be in, as everybody on the machine can read a command line.
    enum Variable: String, CaseIterable {
        case token = "ORIEL_TOKEN"
        case turn = "ORIEL_TURN"
        case turnSecret = "ORIEL_TURN_SECRET"
        case whipToken = "ORIEL_WHIP_TOKEN"
        case pushToken = "ORIEL_PUSH_TOKEN"
        case janusSecret = "ORIEL_JANUS_SECRET"
        case janusToken = "ORIEL_JANUS_TOKEN"
        case janusPin = "ORIEL_JANUS_PIN"

        var text: String? { getenv(rawValue).map { String(cString: $0) } }

        /// Takes all out of the environment, so that no child process has them.
        static func removeAll() {
            for variable in allCases { unsetenv(variable.rawValue) }
        }
    }

    /// A secret in a file, if one is given, or else in a variable; nil if there is none.
    init?(in path: String?, or variable: Variable) {
        if let path {
            self = .file(path: path)
        } else {
            self.init(trimming: variable.text ?? "")
        }
    }
}
