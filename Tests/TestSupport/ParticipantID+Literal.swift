package import Media

/// Tests name participants by literals.
extension ParticipantID: ExpressibleByIntegerLiteral {
    package init(integerLiteral number: Int) { self.init(number) }
}
