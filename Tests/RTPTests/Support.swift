import Testing

/// `#expect` for calls that change a value, which the macro cannot take.
func expect(_ condition: Bool, location: SourceLocation = #_sourceLocation) {
    #expect(condition, sourceLocation: location)
}
