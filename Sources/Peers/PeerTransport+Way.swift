import ICE
import WebRTC

/// Agents of a transport, and their events until these are taken.
extension PeerTransport {
    /// Events of an agent, until the loop takes them: no event may change a session while that sends.
    final class Mailbox {
        /// The most waiting events. Further datagrams are dropped. No honest peer sends as many in a round of the loop.
        static let limit = 1024

        var events: [ICEEvent] = []
        var hasGathered = false
        /// Whether the peer has sent a check.
        var isChecked = false
    }

    enum ICEEvent {
        case connected, failed
        case datagram([UInt8])
    }

    /// An agent, and the machine's addresses when it began.
    struct Way {
        let agent: ICEAgent
        let mailbox: Mailbox
        let addresses: Set<String>
    }

    /// The agents of a transport begin by this.
    struct Agents {
        let loop: ICELoop
        var configuration: ICEAgent.Configuration
        let isControlling: Bool
        /// Servers that no agent uses, whenever it begins.
        let silent: SilentServers

        /// Begins one.
        ///
        /// - Parameter credentials: this side's; nil for new ones.
        /// - Returns: nil if no UDP port is free, or the machine has no address.
        func begin(from addresses: Set<String>, _ credentials: ICECredentials? = nil) -> Way? {
            let mailbox = Mailbox()
            let usable = silent.leftOut(of: configuration)
            if usable.servers.count < configuration.servers.count { silent.doubt() }
            let agent = ICEAgent(in: loop, usable, isControlling: isControlling, credentials: credentials) { event in
                switch event {
                case .gathered: mailbox.hasGathered = true
                case .checked: mailbox.isChecked = true
                case .connected: mailbox.events.append(.connected)
                case .failed: mailbox.events.append(.failed)
                case .datagram(let bytes):
                    if mailbox.events.count < Mailbox.limit { mailbox.events.append(.datagram(Array(bytes))) }
                }
            }
            return agent.map { Way(agent: $0, mailbox: mailbox, addresses: addresses) }
        }
    }
}
