extension JanusCall {
    package static let kind = "janus"
}

extension CallKind {
    /// VideoRooms of Janus. Settings are `janusSecret`, `janusToken` and `janusPin`.
    package static let janus = CallKind(form: "janus+ws://HOST:PORT/ROOM") { text in
        guard text.lowercased().hasPrefix("janus+") else { return nil }
        let address = try JanusAddress(parsing: text)
        var plan = CallPlan(JanusCall.kind, "\(address)") { settings in
            { host in try JanusCall(to: address, { JanusSecrets(settings.current()) }, in: host) }
        }
        plan.server = "\(address.endpoint)"
        return plan
    }
}

extension JanusSecrets {
    fileprivate init(_ settings: [String: String]) {
        self.init(apiSecret: settings["janusSecret"], token: settings["janusToken"], pin: settings["janusPin"])
    }
}
