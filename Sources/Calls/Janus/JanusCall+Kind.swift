extension JanusCall {
    package static let kind = "janus"
}

extension CallKind {
    /// VideoRooms of Janus.
    ///
    /// - Parameter secrets: the current ones, for calls of a sender's start. Calls added later have theirs as the settings `janusSecret`,
    ///   `janusToken` and `janusPin`.
    package static func janus(secrets: @escaping @Sendable () -> JanusSecrets = { JanusSecrets() }) -> CallKind {
        CallKind(form: "janus+ws://HOST:PORT/ROOM") { text in
            guard text.lowercased().hasPrefix("janus+") else { return nil }
            let address = try JanusAddress(parsing: text)
            var plan = CallPlan(JanusCall.kind, "\(address)") { settings in
                guard let settings else { return { host in try JanusCall(to: address, secrets, in: host) } }
                let given = JanusSecrets(
                    apiSecret: settings["janusSecret"],
                    token: settings["janusToken"],
                    pin: settings["janusPin"]
                )
                return { host in try JanusCall(to: address, { given }, in: host) }
            }
            plan.server = "\(address.endpoint)"
            return plan
        }
    }
}
